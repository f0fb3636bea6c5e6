import { fail, ipamError, type Result, unwrap } from '../errors/index.js'
import * as Address from './address.js'
import { assertText } from './checks.js'
import * as Prefix from './prefix.js'
import { positionOf, problemOf } from './problems.js'
import { scanAddress, type ZonePolicy } from './scan.js'

/** All addresses from `first` to `last`, both included, of one family. */
export interface Range {
  readonly first: Address.Address
  readonly last: Address.Address
}

export interface RangeParseOptions {
  /** What to do with an IPv6 zone. Default `refuse`. */
  readonly zone?: ZonePolicy
}

/** Two addresses of 45 characters, each with the zone of a long interface name: a hyphen further on can not divide them. */
const HYPHEN_WITHIN = 128

/**
 * A range from its ends.
 *
 * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`
 */
export function of(first: Address.Address, last: Address.Address): Range {
  if (first.family !== last.family) {
    throw ipamError('FAMILY_MISMATCH', { left: Address.format(first), right: Address.format(last) })
  }
  if (Address.compare(first, last) > 0) {
    throw ipamError('INVALID_RANGE', { first: Address.format(first), last: Address.format(last) })
  }
  return { first, last }
}

/** The range that a prefix covers. */
export function fromPrefix(prefix: Prefix.Prefix): Range {
  return { first: Prefix.first(prefix), last: Prefix.last(prefix) }
}

/**
 * Reads `first-last` strictly: two whole addresses of one family, in order, without blanks. O(1).
 *
 * @throws IpamError `MALFORMED_RANGE` with the position and the reason
 * @example
 * Range.size(Range.parse('10.0.0.5-10.0.0.9')) // 5n
 */
export function parse(text: string, options: RangeParseOptions = {}): Range {
  return unwrap(safeParse(text, options))
}

/** As {@link parse}, with the failure as a value. */
export function safeParse(text: string, options: RangeParseOptions = {}): Result<Range, 'MALFORMED_RANGE'> {
  assertText(text)
  const zone = options.zone ?? 'refuse'
  const stop = Math.min(text.length, HYPHEN_WITHIN)
  let hyphen = 0
  while (hyphen < stop && text.charCodeAt(hyphen) !== 45) hyphen++
  if (hyphen === stop) return malformed(text, stop, "no '-'")

  const first = scanAddress(text, 0, hyphen, zone)
  if (typeof first !== 'object') return malformed(text, positionOf(first), problemOf(first).words)
  const last = scanAddress(text, hyphen + 1, text.length, zone)
  if (typeof last !== 'object') return malformed(text, positionOf(last), problemOf(last).words)
  if (first.family !== last.family) return malformed(text, hyphen + 1, 'the ends are of different IP families')
  if (Address.compare(first, last) > 0) return malformed(text, hyphen + 1, 'the range ends before it begins')
  return { ok: true, value: { first, last } }
}

/** `first-last`, also for a range of one address. */
export function format(range: Range): string {
  return `${Address.format(range.first)}-${Address.format(range.last)}`
}

/** How many addresses the range has: 1 to 2^128. */
export function size(range: Range): bigint {
  return Address.distance(range.first, range.last) + 1n
}

/** Whether the range has this address. O(1). */
export function contains(range: Range, address: Address.Address): boolean {
  return (
    address.family === range.first.family &&
    Address.compare(range.first, address) <= 0 &&
    Address.compare(address, range.last) <= 0
  )
}

function malformed(text: string, position: number, problem: string) {
  return fail('MALFORMED_RANGE', { text, position, problem })
}
