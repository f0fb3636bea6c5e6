import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { blocks4, blocks6 } from '../set/decompose.js'
import { assertBytes } from '../text/checks.js'
import * as Address from './address-core.js'
import { readBytes, writeBytes } from './address-forms.js'
import type { Prefix } from './prefix-core.js'
import { assertRange } from './range-check.js'
import type { Range } from './range-core.js'

/**
 * Orders ranges by their first address, those that begin at the same one by their last; all IPv4
 * before all IPv6. O(1).
 *
 * @example
 * Range.compare(Range.parse('10.0.0.1-10.0.0.2'), Range.parse('10.0.0.1-10.0.0.9')) < 0 // true
 */
export function compare(left: Range, right: Range): number {
  assertRange('Range.compare', 'left', left)
  assertRange('Range.compare', 'right', right)
  return Address.compare(left.first, right.first) || Address.compare(left.last, right.last)
}

/**
 * Whether two ranges have the same ends. O(1).
 *
 * @example
 * Range.equals(Range.parse('10.0.0.0-10.0.0.3'), Range.fromPrefix(Prefix.parse('10.0.0.0/30'))) // true
 */
export function equals(left: Range, right: Range): boolean {
  assertRange('Range.equals', 'left', left)
  assertRange('Range.equals', 'right', right)
  return compare(left, right) === 0
}

/**
 * Whether two ranges have an address in common. O(1).
 *
 * @example
 * Range.overlaps(Range.parse('10.0.0.1-10.0.0.5'), Range.parse('10.0.0.5-10.0.0.9')) // true
 */
export function overlaps(left: Range, right: Range): boolean {
  assertRange('Range.overlaps', 'left', left)
  assertRange('Range.overlaps', 'right', right)
  return (
    left.first.family === right.first.family &&
    Address.compare(left.first, right.last) <= 0 &&
    Address.compare(right.first, left.last) <= 0
  )
}

/**
 * The common addresses of two ranges; `undefined` if they do not overlap. O(1).
 *
 * @example
 * const both = Range.intersect(Range.parse('10.0.0.1-10.0.0.5'), Range.parse('10.0.0.4-10.0.0.9'))
 * both && Range.format(both) // '10.0.0.4-10.0.0.5'
 */
export function intersect(left: Range, right: Range): Range | undefined {
  assertRange('Range.intersect', 'left', left)
  assertRange('Range.intersect', 'right', right)
  if (!overlaps(left, right)) return undefined
  return {
    first: Address.compare(left.first, right.first) >= 0 ? left.first : right.first,
    last: Address.compare(left.last, right.last) <= 0 ? left.last : right.last,
  }
}

/**
 * The addresses of `range` that are not in `taken`: no range, one, or one on each side. O(1).
 *
 *     range    |---------------|
 *     taken         |----|
 *     left     |---|      |----|
 *
 * @example
 * Range.subtract(Range.parse('10.0.0.1-10.0.0.9'), Range.parse('10.0.0.4-10.0.0.5')).map(Range.format) // ['10.0.0.1-10.0.0.3', '10.0.0.6-10.0.0.9']
 */
export function subtract(range: Range, taken: Range): readonly Range[] {
  assertRange('Range.subtract', 'range', range)
  assertRange('Range.subtract', 'taken', taken)
  if (!overlaps(range, taken)) return [range]
  const left: Range[] = []
  // an address before or behind `taken` exists where `range` continues there
  if (Address.compare(range.first, taken.first) < 0) {
    left.push({ first: range.first, last: Address.previous(taken.first) as Address.Address })
  }
  if (Address.compare(taken.last, range.last) < 0) {
    left.push({ first: Address.next(taken.last) as Address.Address, last: range.last })
  }
  return left
}

/**
 * The fewest prefixes that have exactly the addresses of the range, in order: at most 62 for IPv4,
 * 254 for IPv6. O(bits).
 *
 * @example
 * Range.prefixes(Range.parse('10.0.0.5-10.0.0.9')).map(Prefix.format) // ['10.0.0.5/32', '10.0.0.6/31', '10.0.0.8/31']
 */
export function prefixes(range: Range): Prefix[] {
  assertRange('Range.prefixes', 'range', range)
  const { first, last } = range
  const found: Prefix[] = []
  if (first.family === 4 && last.family === 4) blocks4(first.value, last.value, found)
  if (first.family === 6 && last.family === 6) {
    const ends = Uint32Array.of(first.w0, first.w1, first.w2, first.w3, last.w0, last.w1, last.w2, last.w3)
    blocks6(ends.subarray(0, 4), ends.subarray(4), 0, found)
  }
  return found
}

/**
 * A range as bytes: those of its first address, then those of its last, 8 or 32 in all. O(1).
 *
 * @example
 * Array.from(Range.toBytes(Range.parse('10.0.0.1-10.0.0.2'))) // [10, 0, 0, 1, 10, 0, 0, 2]
 */
export function toBytes(range: Range): Uint8Array {
  assertRange('Range.toBytes', 'range', range)
  const bytes = new Uint8Array(range.first.family === 4 ? 8 : 32)
  writeBytes(range.last, bytes, writeBytes(range.first, bytes, 0))
  return bytes
}

/**
 * The range of 8 or 32 bytes that {@link toBytes} made. O(1).
 *
 * @throws IpamError `MALFORMED_BYTES` for another number of bytes, or a range that ends before it
 * begins
 * @example
 * Range.format(Range.fromBytes(Uint8Array.of(10, 0, 0, 1, 10, 0, 0, 2))) // '10.0.0.1-10.0.0.2'
 */
export function fromBytes(bytes: Uint8Array): Range {
  assertBytes('Range.fromBytes', bytes)
  const what = 'a range'
  if (bytes.length !== 8 && bytes.length !== 32) {
    const problem = `${bytes.length} bytes, expected 8 or 32`
    throw ipamError(MALFORMED_BYTES, { what, position: Math.min(bytes.length, 32), problem })
  }
  const family = bytes.length === 8 ? 4 : 6
  const half = bytes.length / 2
  const range: Range = { first: readBytes(bytes, 0, family), last: readBytes(bytes, half, family) }
  if (Address.compare(range.first, range.last) > 0) {
    throw ipamError(MALFORMED_BYTES, { what, position: half, problem: 'the range ends before it begins' })
  }
  return range
}
