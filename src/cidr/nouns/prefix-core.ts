import { MALFORMED_PREFIX } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuseIn, wrongArgument } from '../../errors/refuse.js'
import { assertAddress, assertLength, assertText, isAddress, isWord, notAText } from '../text/checks.js'
import { flatText, writeCharacter, writeDotted, writeLength } from '../text/flat-text.js'
import { positionOf, problemOf } from '../text/parse-errors.js'
import {
  assertOptions,
  firstDifference,
  isMapped,
  isStrict,
  oneOf,
  plainText,
  type TextProfile,
  unmappedText,
  withoutMapping,
} from '../text/profile.js'
import { readAddress, scanAddress } from '../text/scan.js'
import { write6 } from '../text/text6.js'
import * as Address from './address-core.js'

/**
 * An address with a prefix length, such as `10.0.0.5/24`. Host bits may be set: {@link masked}
 * clears them.
 */
export interface Prefix {
  readonly address: Address.Address
  /** 0 to 32, or 0 to 128. */
  readonly length: number
}

export interface PrefixTextOptions {
  /**
   * The accepted texts of a CIDR. Default `strict`. A CIDR never has a zone.
   *
   * `k8s-interface-address` is for CIDRs only: new fields of Kubernetes that contain an address
   * with the length of its subnet (`IsValidInterfaceAddress` of its apimachinery, KEP-4858). As
   * `k8s-field-canonical`, but host bits are kept.
   */
  readonly profile?: TextProfile | 'k8s-interface-address' | undefined
}

/**
 * The longest CIDR text is 49 characters long; a slash further on than this cannot be part of one.
 */
const SLASH_WITHIN = 64

/**
 * A prefix from its parts.
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` if `length` is not a whole number from 0 to 32, or to
 *   128; `INVALID_ARGUMENT` if `address` is not an address
 * @example
 * Prefix.format(Prefix.of(Address.parse('10.0.0.0'), 8)) // '10.0.0.0/8'
 */
export function of(address: Address.Address, length: number): Prefix {
  assertAddress('Prefix.of', 'address', address)
  assertLength('Prefix.of', address.family, length)
  return { address, length }
}

/**
 * Reads a CIDR strictly, with the rules of Go's net/netip: exactly one slash, a length in digits
 * without sign or leading zero, no zone. Host bits are kept, unless a profile of `options` refuses
 * them. O(1).
 *
 * @throws IpamError `MALFORMED_PREFIX` with the position, the problem and, if only the form is
 * wrong, a suggestion; `INVALID_ARGUMENT` if `text` is not a string, or for an unknown profile
 * @example
 * Prefix.format(Prefix.masked(Prefix.parse('10.0.0.77/26'))) // '10.0.0.64/26'
 * Prefix.parse('10.0.0.77/26', { profile: 'k8s-interface-address' }).length // 26
 */
export function parse(text: string, options?: PrefixTextOptions): Prefix {
  const prefix = typeof text === 'string' && isStrict(options) ? readPrefix(text) : undefined
  if (prefix !== undefined) return prefix
  assertText('Prefix.parse', text)
  return unwrap(prefixOf(text, options))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * const result = Prefix.safeParse('10.0.0.77/26', { profile: 'k8s-field' })
 * !result.ok && result.failure.context.suggestion // '10.0.0.64/26'
 */
export function safeParse(text: string, options?: PrefixTextOptions): Result<Prefix, 'MALFORMED_PREFIX'> {
  const prefix = typeof text === 'string' && isStrict(options) ? readPrefix(text) : undefined
  if (prefix !== undefined) return { ok: true, value: prefix }
  return typeof text === 'string' ? prefixOf(text, options) : failWith(MALFORMED_PREFIX, notAText(text))
}

/**
 * `address/length`, with the host bits that the prefix has. O(1).
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH`; `INVALID_ARGUMENT` for a value that is not a prefix.
 * All functions with a prefix throw these.
 * @example
 * Prefix.format({ address: Address.parse('FD00::0001'), length: 64 }) // 'fd00::1/64'
 */
export function format(prefix: Prefix): string {
  if (!hasLength(prefix)) throw notAPrefix('Prefix.format', 'prefix', prefix)
  const { address, length } = prefix
  if (address.family === 4 && isWord(address.value)) return format4(address.value, length)
  if (address.family === 6) {
    const { w0, w1, w2, w3 } = address
    if (isWord(w0) && isWord(w1) && isWord(w2) && isWord(w3)) return format6(w0, w1, w2, w3, length)
  }
  throw notAPrefix('Prefix.format', 'prefix', prefix)
}

/**
 * The same prefix with its host bits cleared. Returns the argument itself if there were none. O(1).
 *
 * @example
 * Prefix.format(Prefix.masked(Prefix.parse('fd00::ffff/120'))) // 'fd00::ff00/120'
 */
export function masked(prefix: Prefix): Prefix {
  assertPrefix('Prefix.masked', 'prefix', prefix)
  const address = first(prefix)
  return Address.equals(address, prefix.address) ? prefix : { address, length: prefix.length }
}

/**
 * The lowest address of the prefix: its network address, for IPv4. O(1).
 *
 * @example
 * Address.format(Prefix.first(Prefix.parse('10.0.0.77/26'))) // '10.0.0.64'
 */
export function first(prefix: Prefix): Address.Address {
  assertPrefix('Prefix.first', 'prefix', prefix)
  const { address, length } = prefix
  if (address.family === 4) return { family: 4, value: (address.value & maskWord(length)) >>> 0 }
  return {
    family: 6,
    w0: (address.w0 & maskWord(length)) >>> 0,
    w1: (address.w1 & maskWord(length - 32)) >>> 0,
    w2: (address.w2 & maskWord(length - 64)) >>> 0,
    w3: (address.w3 & maskWord(length - 96)) >>> 0,
  }
}

/**
 * The highest address of the prefix: its broadcast address, for IPv4 up to /30. O(1).
 *
 * @example
 * Address.format(Prefix.last(Prefix.parse('10.0.0.77/26'))) // '10.0.0.127'
 */
export function last(prefix: Prefix): Address.Address {
  assertPrefix('Prefix.last', 'prefix', prefix)
  const { address, length } = prefix
  if (address.family === 4) return { family: 4, value: (address.value | ~maskWord(length)) >>> 0 }
  return {
    family: 6,
    w0: (address.w0 | ~maskWord(length)) >>> 0,
    w1: (address.w1 | ~maskWord(length - 32)) >>> 0,
    w2: (address.w2 | ~maskWord(length - 64)) >>> 0,
    w3: (address.w3 | ~maskWord(length - 96)) >>> 0,
  }
}

/**
 * How many addresses the prefix covers: 1 to 2^128. O(1).
 *
 * @example
 * Prefix.size(Prefix.parse('10.0.0.0/24')) // 256n
 */
export function size(prefix: Prefix): bigint {
  assertPrefix('Prefix.size', 'prefix', prefix)
  return 1n << BigInt(Address.bitsOf(prefix.address.family) - prefix.length)
}

/**
 * Whether `outer` covers an address, or all of another prefix. An IPv4 prefix never covers an IPv6
 * address, mapped or not. O(1).
 *
 * @example
 * Prefix.contains(Prefix.parse('10.0.0.0/8'), Address.parse('10.1.2.3')) // true
 */
export function contains(outer: Prefix, inner: Address.Address | Prefix): boolean {
  assertPrefix('Prefix.contains', 'outer', outer)
  if (isObject(inner) && 'family' in inner) {
    assertAddress('Prefix.contains', 'inner', inner)
    return covers(outer, inner)
  }
  if (typeof inner === 'string') {
    refuseIn('Prefix.contains', 'inner', 'an address or a prefix', inner, 'Address.parse or Prefix.parse')
  }
  assertPrefix('Prefix.contains', 'inner', inner)
  return inner.length >= outer.length && covers(outer, inner.address)
}

function covers({ address, length }: Prefix, inner: Address.Address): boolean {
  if (inner.family === 4) return address.family === 4 && ((address.value ^ inner.value) & maskWord(length)) === 0
  return (
    address.family === 6 &&
    ((address.w0 ^ inner.w0) & maskWord(length)) === 0 &&
    ((address.w1 ^ inner.w1) & maskWord(length - 32)) === 0 &&
    ((address.w2 ^ inner.w2) & maskWord(length - 64)) === 0 &&
    ((address.w3 ^ inner.w3) & maskWord(length - 96)) === 0
  )
}

/** The text as a prefix, as fast as it can; `undefined` for what {@link prefixOf} explains. */
function readPrefix(text: string): Prefix | undefined {
  const slash = slashOf(text)
  const address = readAddress(text, 0, slash)
  if (address === undefined) return undefined
  const length = scanLength(text, slash + 1)
  return length < 0 || length > Address.bitsOf(address.family) ? undefined : { address, length }
}

/** Where the slash is, if a length of one to three characters follows it; 0 otherwise. */
export function slashOf(text: string): number {
  const end = text.length
  if (end < 4) return 0
  if (text.charCodeAt(end - 3) === SLASH) return end - 3
  if (text.charCodeAt(end - 2) === SLASH) return end - 2
  return text.charCodeAt(end - 4) === SLASH ? end - 4 : 0
}

/** An IPv4 prefix as text. */
export function format4(value: number, length: number): string {
  return flatText(writeLength(length, writeCharacter(SLASH, writeDotted(value, 0))))
}

/** An IPv6 prefix of four words as text. */
export function format6(w0: number, w1: number, w2: number, w3: number, length: number): string {
  return flatText(writeLength(length, writeCharacter(SLASH, write6(w0, w1, w2, w3, 0))))
}

const profiles = ['strict', 'k8s-field', 'k8s-field-canonical', 'k8s-legacy-read', 'k8s-interface-address'] as const
type Profile = (typeof profiles)[number]

/** The text as a prefix by any profile, or what is wrong with it. */
export function prefixOf(text: string, options: PrefixTextOptions = {}): Result<Prefix, 'MALFORMED_PREFIX'> {
  assertOptions('Prefix.parse', options)
  const profile = oneOf<Profile>('Prefix.parse', 'profile', options.profile, profiles)
  // most stored text is strict, and is not searched for leading zeros
  const strict = profile === 'k8s-legacy-read' ? readPrefix(text) : undefined
  if (strict !== undefined) return { ok: true, value: prefixWithoutMapping(strict) }
  const isOfField = profile !== 'strict' && profile !== 'k8s-legacy-read'
  const read = plainText(text, profile)
  const scanned = scanPrefix(read.text)
  const wrong = (position: number, problem: string, suggestion?: string) =>
    failWith(MALFORMED_PREFIX, { text, position, problem, ...(suggestion === undefined ? {} : { suggestion }) })
  if ('problem' in scanned) {
    // leading zeros are decimal in a field of Kubernetes, as far as it takes them
    const plain = isOfField ? scanPrefix(plainText(text, 'k8s-legacy-read').text) : scanned
    const suggestion = 'problem' in plain ? undefined : fieldText(plain, profile)
    return wrong(read.positionOf(scanned.position), scanned.problem, suggestion)
  }
  if (!isOfField) return { ok: true, value: profile === 'k8s-legacy-read' ? prefixWithoutMapping(scanned) : scanned }

  const canonical = fieldText(scanned, profile)
  if (profile !== 'k8s-interface-address') {
    if (isMapped(scanned.address)) return wrong(0, 'must not have an IPv4-mapped IPv6 address', canonical)
    if (masked(scanned) !== scanned) return wrong(0, 'must not have bits set beyond the prefix length', canonical)
    if (profile === 'k8s-field') return { ok: true, value: scanned }
  }
  if (canonical === text) return { ok: true, value: scanned }
  return wrong(firstDifference(text, canonical ?? ''), 'must be in canonical form', canonical)
}

/**
 * What a field of Kubernetes takes for a prefix, in canonical form; `undefined` if that is nothing.
 */
function fieldText(prefix: Prefix, profile: Profile): string | undefined {
  if (profile !== 'k8s-interface-address') return unmappedPrefixText(masked(prefix))
  return isMapped(prefix.address) && prefix.length < 96 ? undefined : unmappedPrefixText(prefix)
}

/**
 * A prefix of IPv4-mapped addresses as the IPv4 prefix that Kubernetes takes it for; any other one
 * itself.
 */
function prefixWithoutMapping(prefix: Prefix): Prefix {
  const { address, length } = prefix
  return isMapped(address) && length >= 96 ? { address: withoutMapping(address), length: length - 96 } : prefix
}

/**
 * Canonical text; a prefix of IPv4-mapped addresses as the IPv4 prefix that Kubernetes takes it
 * for.
 */
export function unmappedPrefixText({ address, length }: Prefix): string {
  return isMapped(address) && length >= 96 ? `${unmappedText(address)}/${length - 96}` : format({ address, length })
}

function scanPrefix(text: string): Prefix | { readonly position: number; readonly problem: string } {
  const stop = Math.min(text.length, SLASH_WITHIN)
  let slash = 0
  while (slash < stop && text.charCodeAt(slash) !== SLASH) slash++
  if (slash === stop) return { position: stop, problem: "no '/'" }
  const address = scanAddress(text, 0, slash, 'refuse')
  if (typeof address !== 'object') return { position: positionOf(address), problem: problemOf(address).words }
  const length = scanLength(text, slash + 1)
  if (length < 0) return { position: slash + 1, problem: 'bad bits after slash' }
  if (length > Address.bitsOf(address.family)) return { position: slash + 1, problem: 'prefix length out of range' }
  return { address, length }
}

/**
 * Whether what a caller without types may have given has a family, and a length of that: what
 * decides how much a prefix covers.
 */
function hasLength(prefix: Prefix): boolean {
  const family = prefix?.address?.family
  const length = prefix?.length
  return isWord(length) && (family === 4 ? length <= 32 : family === 6 && length <= 128)
}

/** @throws IpamError `INVALID_ARGUMENT`, or `INVALID_PREFIX_LENGTH` for its length */
export function assertPrefix(of: string, argument: string, prefix: Prefix): void {
  if (!hasLength(prefix) || !isAddress(prefix.address)) throw notAPrefix(of, argument, prefix)
}

/** The kind of an argument that is a prefix. */
export function whyNotPrefix(given: unknown): string | undefined {
  const prefix = given as Prefix
  return hasLength(prefix) && isAddress(prefix.address) ? undefined : 'an address with a length'
}

/** What is wrong with what is no prefix. */
function notAPrefix(of: string, argument: string, given: Prefix) {
  if (isObject(given) && 'address' in given) {
    assertAddress(of, `${argument}.address`, given.address)
    assertLength(of, given.address.family, given.length)
  }
  const call = typeof given === 'string' ? 'Prefix.parse' : undefined
  return wrongArgument(of, argument, 'an address with a length', given, call)
}

function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null
}

const SLASH = 47

/** The mask bits of one 32-bit word: all for 32 and above, none for 0 and below. */
export function maskWord(length: number): number {
  if (length <= 0) return 0
  return length >= 32 ? -1 : -1 << (32 - length)
}

/** A whole number of at most three digits from `start` to the end of `text`, or -1. */
export function scanLength(text: string, start: number): number {
  const digits = text.length - start
  if (digits < 1 || digits > 3) return -1
  let length = 0
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9 || (digit === 0 && i === start && digits > 1)) return -1
    length = length * 10 + digit
  }
  return length
}
