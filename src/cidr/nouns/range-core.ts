import { MALFORMED_RANGE } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { assertAddress, assertText, notAText } from '../text/checks.js'
import { addressOf, knownOptions, oneOf, type TextOptions } from '../text/profile.js'
import * as Address from './address-core.js'
import * as Prefix from './prefix-core.js'
import { assertEnds, assertRange, notAMember } from './range-check.js'

/** All addresses from `first` to `last`, both included, of one family. */
export interface Range {
  readonly first: Address.Address
  readonly last: Address.Address
}

/** A range and the subnet that it lies in. */
export interface SubnetRange extends Range {
  /** With its host bits cleared. */
  readonly subnet: Prefix.Prefix
}

export interface RangeTextOptions extends TextOptions {
  /**
   * Whether blanks around the hyphen are accepted, as MetalLB does. Default `refuse`.
   */
  readonly blanks?: 'refuse' | 'around-hyphen' | undefined
}

/**
 * Two addresses of 45 characters, each with the zone of a long interface name: a hyphen further on
 * cannot divide them.
 */
const HYPHEN_WITHIN = 128

/**
 * A range from its ends. O(1).
 *
 * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE` if it ends before it begins,
 * `INVALID_ARGUMENT` for a value that is not an address
 * @example
 * Range.format(Range.of(Address.parse('10.0.0.1'), Address.parse('10.0.0.3'))) // '10.0.0.1-10.0.0.3'
 */
export function of(first: Address.Address, last: Address.Address): Range {
  assertEnds('Range.of', first, last)
  return { first, last }
}

/**
 * The range that a prefix covers. O(1).
 *
 * @example
 * Range.format(Range.fromPrefix(Prefix.parse('10.0.0.0/30'))) // '10.0.0.0-10.0.0.3'
 */
export function fromPrefix(prefix: Prefix.Prefix): Range {
  Prefix.assertPrefix('Range.fromPrefix', 'prefix', prefix)
  return { first: Prefix.first(prefix), last: Prefix.last(prefix) }
}

/**
 * Reads `first-last` strictly: two whole addresses of one family, in order, without blanks unless
 * `options` allow them. O(1).
 *
 * @throws IpamError `MALFORMED_RANGE` with the position and the reason; `INVALID_ARGUMENT` if
 * `text` is not a string
 * @example
 * Range.size(Range.parse('10.0.0.5-10.0.0.9')) // 5n
 */
export function parse(text: string, options: RangeTextOptions = {}): Range {
  assertText('Range.parse', text)
  return unwrap(safeParse(text, options))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * Range.safeParse('10.0.0.5 - 10.0.0.9', { blanks: 'around-hyphen' }).ok // true
 */
export function safeParse(text: string, options: RangeTextOptions = {}): Result<Range, 'MALFORMED_RANGE'> {
  assertRangeOptions('Range.parse', options)
  if (typeof text !== 'string') return failWith(MALFORMED_RANGE, notAText(text))
  const hyphen = hyphenOf(text, options)
  if (hyphen < 0) return malformed(text, -1 - hyphen, "no '-'")
  const first = addressOf(text.slice(0, endOfFirst(text, hyphen, options)), options)
  const lastAt = startOfLast(text, hyphen, options)
  const last = addressOf(text.slice(lastAt), options)
  if (!first.ok) {
    const { position, problem } = first.failure.context
    return malformed(text, position, problem, inForm(first, last, options))
  }
  if (!last.ok) {
    const { position, problem } = last.failure.context
    return malformed(text, lastAt + position, problem, inForm(first, last, options))
  }
  const problem = disorder(first.value, last.value)
  return problem === undefined
    ? { ok: true, value: { first: first.value, last: last.value } }
    : malformed(text, lastAt, problem)
}

/**
 * Reads `first-last/length`, the range of an address pool of whereabouts: the length makes a subnet
 * of the last address, and the first one has to lie in it. O(1).
 *
 * @throws IpamError `MALFORMED_RANGE`
 * @example
 * const range = Range.parseInSubnet('192.168.2.225-192.168.2.230/28')
 * Prefix.format(range.subnet) // '192.168.2.224/28'
 */
export function parseInSubnet(text: string, options: RangeTextOptions = {}): SubnetRange {
  assertText('Range.parseInSubnet', text)
  return unwrap(safeParseInSubnet(text, options))
}

/**
 * As {@link parseInSubnet}, with the failure as a value.
 *
 * @example
 * Range.safeParseInSubnet('192.168.1.5-192.168.2.230/28').ok // false
 */
export function safeParseInSubnet(
  text: string,
  options: RangeTextOptions = {},
): Result<SubnetRange, 'MALFORMED_RANGE'> {
  assertRangeOptions('Range.parse', options)
  if (typeof text !== 'string') return failWith(MALFORMED_RANGE, notAText(text))
  const hyphen = hyphenOf(text, options)
  if (hyphen < 0) return malformed(text, -1 - hyphen, "no '-'")
  const lastAt = startOfLast(text, hyphen, options)
  const slash = text.slice(lastAt, lastAt + HYPHEN_WITHIN).indexOf('/')
  if (slash < 0) return malformed(text, Math.min(text.length, lastAt + HYPHEN_WITHIN), "no '/'")
  const range = safeParse(text.slice(0, lastAt + slash), options)
  if (!range.ok) {
    const { position, problem, suggestion } = range.failure.context
    return malformed(text, position, problem, suggestion && `${suggestion}${text.slice(lastAt + slash)}`)
  }
  // host bits are the point here, so that no profile refuses them
  const profile = options.profile === 'k8s-legacy-read' ? options.profile : 'strict'
  const withLength = Prefix.safeParse(text.slice(lastAt), { profile })
  if (!withLength.ok) {
    const { position, problem } = withLength.failure.context
    return malformed(text, lastAt + position, problem)
  }
  const { first, last } = range.value
  const subnet = Prefix.masked(withLength.value)
  if (!Prefix.contains(subnet, first)) {
    return malformed(text, 0, `the range begins outside of ${Prefix.format(subnet)}, the subnet of its end`)
  }
  return { ok: true, value: { first, last, subnet } }
}

/**
 * `first-last`, also for a range of one address. O(1).
 *
 * @example
 * Range.format(Range.parse('FD00::1-fd00::000f')) // 'fd00::1-fd00::f'
 */
export function format(range: Range): string {
  assertRange('Range.format', 'range', range)
  return `${Address.format(range.first)}-${Address.format(range.last)}`
}

/**
 * How many addresses the range has: 1 to 2^128. O(1).
 *
 * @example
 * Range.size(Range.parse('::-ffff::')) // 340277174624079928635746076935438991361n
 */
export function size(range: Range): bigint {
  assertRange('Range.size', 'range', range)
  return Address.distance(range.first, range.last) + 1n
}

/**
 * Whether the range has this address, or all of another range or a prefix. O(1).
 *
 * @example
 * Range.contains(Range.parse('10.0.0.5-10.0.0.9'), Address.parse('10.0.0.9')) // true
 */
export function contains(outer: Range, inner: Address.Address | Range | Prefix.Prefix): boolean {
  assertRange('Range.contains', 'outer', outer)
  if (typeof inner !== 'object' || inner === null) throw notAMember('Range.contains', 'inner', inner)
  if ('family' in inner) {
    assertAddress('Range.contains', 'inner', inner)
    return hasBoth(outer, inner, inner)
  }
  if ('first' in inner) assertRange('Range.contains', 'inner', inner)
  else Prefix.assertPrefix('Range.contains', 'inner', inner)
  const range = 'first' in inner ? inner : fromPrefix(inner)
  return hasBoth(outer, range.first, range.last)
}

function hasBoth(outer: Range, first: Address.Address, last: Address.Address): boolean {
  return (
    first.family === outer.first.family &&
    Address.compare(outer.first, first) <= 0 &&
    Address.compare(last, outer.last) <= 0
  )
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for what are no options: a misspelt one would read more than
 * was asked for
 */
export function assertRangeOptions(of: string, options: RangeTextOptions): void {
  knownOptions(of, options)
  oneOf(of, 'blanks', options.blanks, ['refuse', 'around-hyphen'])
}

/** Position of the hyphen, or -1 - how far was looked. */
function hyphenOf(text: string, options: RangeTextOptions): number {
  const stop = Math.min(text.length, HYPHEN_WITHIN)
  let found = -1
  for (let i = 0; i < stop; i++) {
    if (text.charCodeAt(i) !== HYPHEN) continue
    if (found < 0) found = i
    // in fe80::1%br-lan-fe80::9%br-lan that of the range is the one in front of an address
    if (options.zone !== 'drop' || !text.slice(0, i).includes('%')) return found
    if (addressOf(text.slice(startOfLast(text, i, options)), options).ok) return i
  }
  return found < 0 ? -1 - stop : found
}

function endOfFirst(text: string, hyphen: number, options: RangeTextOptions): number {
  let end = hyphen
  if (options.blanks === 'around-hyphen') while (end > 0 && text.charCodeAt(end - 1) === BLANK) end--
  return end
}

function startOfLast(text: string, hyphen: number, options: RangeTextOptions): number {
  let start = hyphen + 1
  const stop = hyphen + HYPHEN_WITHIN
  if (options.blanks === 'around-hyphen') while (start < stop && text.charCodeAt(start) === BLANK) start++
  return start
}

function disorder(first: Address.Address, last: Address.Address): string | undefined {
  if (first.family !== last.family) return 'the ends are of different IP families'
  return Address.compare(first, last) > 0 ? 'the range ends before it begins' : undefined
}

function malformed(text: string, position: number, problem: string, suggestion?: string) {
  return failWith(MALFORMED_RANGE, { text, position, problem, ...(suggestion === undefined ? {} : { suggestion }) })
}

/** A range of which only the form of an end is wrong, in the accepted form. */
function inForm(first: ReadEnd, last: ReadEnd, options: RangeTextOptions): string | undefined {
  const [from, to] = [first, last].map((end) => (end.ok ? Address.format(end.value) : end.failure.context.suggestion))
  if (from === undefined || to === undefined) return undefined
  const [left, right] = [from, to].map((text) => addressOf(text, options)) as [ReadEnd, ReadEnd]
  const isRange = left.ok && right.ok && disorder(left.value, right.value) === undefined
  return isRange ? `${from}-${to}` : undefined
}

type ReadEnd = Result<Address.Address, 'MALFORMED_ADDRESS'>

const HYPHEN = 45
const BLANK = 32
