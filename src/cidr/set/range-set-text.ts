import { MALFORMED_RANGE_SET_ENTRY } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type MalformedText, type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import * as Address from '../nouns/address-core.js'
import * as Prefix from '../nouns/prefix-core.js'
import * as Range from '../nouns/range-core.js'
import { notAText, shown } from '../text/checks.js'
import type { TextOptions } from '../text/profile.js'
import { read4 } from '../text/text4.js'
import { readWords6 } from '../text/text6.js'
import { lengthAt4, lengthAt6, toNext6 } from './decompose.js'
import { assertSet, own, type RangeSet, ranges } from './range-set.js'
import type { Ranges4 } from './ranges4.js'
import { count6, type Ranges6 } from './ranges6.js'
import { Spans } from './spans.js'
import { copyAt } from './words6.js'

export type RangeSetTextOptions = Range.RangeTextOptions

/**
 * Reads a list of entries, each an address, a range `first-last` or a CIDR (host bits are cleared),
 * in any order. They may overlap. An entry with a hyphen is a range, else one with a
 * slash is a CIDR. O(n).
 *
 * The texts of {@link format} are parsed as the same set: they are the JSON form of a set.
 *
 * @throws IpamError `MALFORMED_RANGE_SET_ENTRY` with every wrong entry, up to 10;
 * `INVALID_ARGUMENT` if `entries` is not an array
 * @example
 * RangeSet.format(RangeSet.parse(['10.0.0.4/30', '10.0.0.8', '10.0.0.2'])) // ['10.0.0.2-10.0.0.2', '10.0.0.4-10.0.0.8']
 */
export function parse(entries: readonly string[], options: RangeSetTextOptions = {}): RangeSet {
  if (!Array.isArray(entries)) refuseIn('RangeSet.parse', 'entries', 'an array of texts', entries)
  return unwrap(safeParse(entries, options))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * const result = RangeSet.safeParse(['10.0.0.0/24', 'banana'])
 * !result.ok && result.failure.context.index // 1
 */
export function safeParse(
  entries: readonly string[],
  options: RangeSetTextOptions = {},
): Result<RangeSet, 'MALFORMED_RANGE_SET_ENTRY'> {
  if (!Array.isArray(entries)) {
    return failWith(MALFORMED_RANGE_SET_ENTRY, { text: shown(entries), position: 0, problem: 'not an array of texts' })
  }
  Range.assertRangeOptions('RangeSet.parse', options)
  const spans = new Spans(entries)
  const strict = options.profile === undefined || options.profile === 'strict'
  for (let index = 0; index < entries.length; index++) {
    const text = entries[index]!
    // parsed JSON may contain any value
    if (strict && typeof text === 'string' && addPlain(text, spans)) continue
    const entry = safeParseEntry(text, options)
    if (!entry.ok) return failWith(MALFORMED_RANGE_SET_ENTRY, faultsFrom(index, entries, options))
    spans.addOrdered(entry.value.first, entry.value.last)
  }
  return { ok: true, value: spans.take() }
}

/** The wrong entries of a list from `start` on: the first {@link MAX_NAMED}, and a count. */
function faultsFrom(start: number, entries: readonly string[], options: RangeSetTextOptions) {
  const faults: Fault[] = []
  let more = 0
  for (let index = start; index < entries.length; index++) {
    const text = entries[index]!
    const entry = safeParseEntry(text, options)
    if (entry.ok) continue
    if (faults.length === MAX_NAMED) more++
    else {
      const fault = typeof text === 'string' ? { ...entry.failure.context, text } : notAText(text)
      faults.push(entries.length === 1 ? fault : { ...fault, index })
    }
  }
  const [first, ...others] = faults as [Fault, ...Fault[]]
  return { ...first, ...(others.length > 0 && { others }), ...(more > 0 && { more }) }
}

type Fault = MalformedText & { readonly index?: number; readonly suggestion?: string }

/** The maximum number of entries that a failure names. */
const MAX_NAMED = 10

/** Adds a CIDR or an address in strict form. False for anything else, well-formed or not. */
function addPlain(text: string, spans: Spans): boolean {
  const slash = Prefix.slashOf(text)
  const end = slash > 0 ? slash : text.length
  const length = slash > 0 ? Prefix.scanLength(text, slash + 1) : 128
  if (length < 0 || length > 128) return false
  const value = read4(text, 0, end)
  if (value >= 0) {
    if (slash > 0 && length > 32) return false
    spans.addBlock4(value, length)
    return true
  }
  if (!readWords6(text, 0, end, words)) return false
  spans.addBlock6(words, length)
  return true
}

/**
 * The address that is being read or written. Both are synchronous and leave nothing of value
 * behind.
 */
const words = /* @__PURE__ */ new Uint32Array(4)

/**
 * Reads one entry as {@link parse} does: an address, a range or a CIDR, as a range. O(1).
 *
 * @example
 * const entry = RangeSet.safeParseEntry('10.0.0.0/30')
 * entry.ok && Range.format(entry.value) // '10.0.0.0-10.0.0.3'
 */
export function safeParseEntry(
  text: string,
  options: RangeSetTextOptions = {},
): Result<Range.Range, 'MALFORMED_RANGE' | 'MALFORMED_PREFIX' | 'MALFORMED_ADDRESS'> {
  Range.assertRangeOptions('RangeSet.parse', options)
  if (typeof text === 'string') {
    // the separators of a legal entry stand near its beginning: do not search a hostile text to its
    // end
    const head = text.length > ENTRY_HEAD ? text.slice(0, ENTRY_HEAD) : text
    if (head.includes('-')) {
      const range = Range.safeParse(text, options)
      if (range.ok || options.zone !== 'drop') return range
      // the hyphen of fe80::1%br-lan is none of a range
      const zoned = Address.safeParse(text, options)
      return zoned.ok ? { ok: true, value: { first: zoned.value, last: zoned.value } } : range
    }
    if (head.includes('/')) {
      const prefix = Prefix.safeParse(text, profileOf(options))
      return prefix.ok ? { ok: true, value: Range.fromPrefix(prefix.value) } : prefix
    }
  }
  const address = Address.safeParse(text, options)
  return address.ok ? { ok: true, value: { first: address.value, last: address.value } } : address
}

/**
 * Each range as `first-last`, in order: the JSON form of a set. O(n).
 *
 * @example
 * RangeSet.format(RangeSet.parse(['10.0.0.0/24', '10.0.1.7'])) // ['10.0.0.0-10.0.0.255', '10.0.1.7-10.0.1.7']
 */
export function format(set: RangeSet): string[] {
  assertSet('RangeSet.format', 'set', set)
  return ranges(set).map(Range.format)
}

/**
 * The fewest CIDRs that make the set, in order, as text. O(n).
 *
 * @example
 * RangeSet.formatPrefixes(RangeSet.parse(['10.0.0.0/25', '10.0.0.128/25', '10.0.1.7'])) // ['10.0.0.0/24', '10.0.1.7/32']
 */
export function formatPrefixes(set: RangeSet): string[] {
  const texts: string[] = []
  const { v4, v6 } = own('RangeSet.formatPrefixes', 'set', set)
  for (let i = 0; i < v4.firsts.length; i++) addTexts4(v4, i, texts)
  for (let i = 0; i < count6(v6); i++) addTexts6(v6, i, texts)
  return texts
}

function addTexts4({ firsts, lasts }: Ranges4, index: number, texts: string[]): void {
  const last = lasts[index]!
  for (let at = firsts[index]!; ; ) {
    const length = lengthAt4(at, last)
    texts.push(Prefix.format4(at, length))
    const end = (at | ~Prefix.maskWord(length)) >>> 0
    if (end === last) return
    at = end + 1
  }
}

function addTexts6({ firsts, lasts }: Ranges6, index: number, texts: string[]): void {
  copyAt(firsts, index, words, 0)
  for (;;) {
    const length = lengthAt6(words, lasts, index)
    texts.push(Prefix.format6(words[0]! | 0, words[1]! | 0, words[2]! | 0, words[3]! | 0, length))
    if (!toNext6(words, length, lasts, index)) return
  }
}

function profileOf(options: TextOptions): Prefix.PrefixTextOptions {
  return options.profile === undefined ? {} : { profile: options.profile }
}

/** Two addresses of 45 characters with zones, and a separator, all fit in this many. */
const ENTRY_HEAD = 192
