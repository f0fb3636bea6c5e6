import { ByteReader, ByteWriter } from '../../bytes/varints.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { assertBytes, isBytes, notBytes } from '../text/checks.js'
import { assertSet, own, type RangeSet } from './range-set.js'
import { none4, Ranges4 } from './ranges4.js'
import { count6, none6, Ranges6 } from './ranges6.js'
import { addTo6, differenceTo6 } from './words6.js'

// The stored form: a version, then for IPv4 and for IPv6 the number of ranges, and of each range
// how many addresses lie between it and the range before (but for one, which is always there), and
// its number of addresses less one. All are varints. So every set has one form, and bytes that are
// accepted are sorted, disjoint and non-adjacent by construction. A checksum comes last.

const VERSION = 2

/**
 * A set as compact bytes, with a version and a checksum: about 4 bytes for each range in a set of
 * single addresses, 2 to 10 in other sets. A set has one stored form. O(n).
 *
 * @example
 * Array.from(RangeSet.encode(RangeSet.parse(['0.0.0.10-0.0.0.12']))) // [2, 1, 10, 2, 0, 158, 62, 30, 209]
 */
export function encode(set: RangeSet): Uint8Array {
  assertSet('RangeSet.encode', 'set', set)
  const writer = new ByteWriter()
  writer.byte(VERSION)
  writeSet(set, writer)
  return writer.sealed()
}

/**
 * The set that {@link encode} stored. O(n).
 *
 * @throws IpamError `MALFORMED_BYTES` for bytes that `encode` does not write: another version,
 * missing or extra bytes, numbers in more bytes than they need, addresses above the last one, a
 * wrong checksum; `INVALID_ARGUMENT` for a value that is not a Uint8Array
 * @example
 * RangeSet.format(RangeSet.decode(Uint8Array.of(2, 1, 10, 2, 0, 158, 62, 30, 209))) // ['0.0.0.10-0.0.0.12']
 */
export function decode(bytes: Uint8Array): RangeSet {
  assertBytes('RangeSet.decode', bytes)
  return unwrap(safeDecode(bytes))
}

/**
 * As {@link decode}, with the failure as a value.
 *
 * @example
 * const result = RangeSet.safeDecode(Uint8Array.of(1))
 * !result.ok && result.failure.context.problem // 'version 1, expected 2'
 */
export function safeDecode(bytes: Uint8Array): Result<RangeSet, 'MALFORMED_BYTES'> {
  if (!isBytes(bytes)) return failWith(MALFORMED_BYTES, notBytes('a set of addresses', bytes))
  const reader = new ByteReader(bytes, VERSION)
  const set = readSet(reader)
  if (reader.rest().length > 0) reader.refuse(reader.position, 'more than a set')
  if (reader.problem !== undefined) return failWith(MALFORMED_BYTES, { what: 'a set of addresses', ...reader.problem })
  return { ok: true, value: set }
}

/** Writes a set as a part of something else. */
export function writeSet(set: RangeSet, writer: ByteWriter): void {
  const { v4, v6 } = own('writeSet', 'set', set)
  encode4(v4, writer)
  encode6(v6, writer)
}

/** What {@link writeSet} wrote. */
export function readSet(reader: ByteReader): RangeSet {
  const v4 = decode4(reader)
  const v6 = decode6(reader)
  return { v4, v6 }
}

function encode4({ firsts, lasts }: Ranges4, writer: ByteWriter): void {
  writer.number(firsts.length)
  for (let i = 0; i < firsts.length; i++) {
    writer.number(i === 0 ? firsts[0]! : firsts[i]! - lasts[i - 1]! - 2)
    writer.number(lasts[i]! - firsts[i]!)
  }
}

function decode4(reader: ByteReader): Ranges4 {
  const count = reader.count()
  if (count === 0) return none4
  const firsts = new Uint32Array(count)
  const lasts = new Uint32Array(count)
  let end = -2
  for (let i = 0; i < count && reader.problem === undefined; i++) {
    const at = reader.position
    const first = end + 2 + reader.number()
    const last = first + reader.number()
    if (last > 0xffffffff) reader.refuse(at, 'a range that goes beyond the last address')
    firsts[i] = first
    lasts[i] = last
    end = last
  }
  return reader.problem === undefined ? new Ranges4(firsts, lasts) : none4
}

function encode6(ranges: Ranges6, writer: ByteWriter): void {
  const { firsts, lasts } = ranges
  const count = count6(ranges)
  const words = new Uint32Array(4)
  writer.number(count)
  for (let i = 0; i < count; i++) {
    // the first range has no range before it: its gap is its address
    if (i === 0) words.set(firsts.subarray(0, 4))
    else differenceTo6(firsts, i, lasts, i - 1, -2, words)
    writer.words(words)
    differenceTo6(lasts, i, firsts, i, 0, words)
    writer.words(words)
  }
}

function decode6(reader: ByteReader): Ranges6 {
  const count = reader.count()
  if (count === 0) return none6
  const firsts = new Uint32Array(count * 4)
  const lasts = new Uint32Array(count * 4)
  const words = new Uint32Array(4)
  for (let i = 0; i < count && reader.problem === undefined; i++) {
    const at = reader.position
    reader.words(words)
    let fits = true
    if (i === 0) firsts.set(words)
    else fits = addTo6(lasts, i - 1, words, 2, firsts, i)
    reader.words(words)
    fits = addTo6(firsts, i, words, 0, lasts, i) && fits
    if (!fits) reader.refuse(at, 'a range that goes beyond the last address')
  }
  return reader.problem === undefined ? new Ranges6(firsts, lasts) : none6
}
