import { MALFORMED_ADDRESS } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import type { Address } from '../nouns/types.js'
import { positionOf, problemOf } from './parse-errors.js'
import { scanAddress, type ZonePolicy, zonePolicies } from './scan.js'
import { format4 } from './text4.js'
import { format6 } from './text6.js'

/**
 * Which texts count as an address or a CIDR.
 *
 * - `strict`: the meaning of Go's net/netip. IPv4-mapped IPv6 is IPv6, host bits of a CIDR are
 *   kept, any spelling of RFC 4291 will do.
 * - `k8s-field`: what Kubernetes admits into its older fields since KEP-4858: strict, no
 *   IPv4-mapped IPv6, no host bits in a CIDR.
 * - `k8s-field-canonical`: what Kubernetes admits into new fields: besides, the text has to be
 *   canonical (RFC 5952).
 * - `k8s-legacy-read`: what older fields of stored objects may hold: also leading zeros, which are
 *   decimal all the same. IPv4-mapped IPv6 is the IPv4 address in it, as Kubernetes reads it
 *   (KEP-4858); so is a CIDR of at least 96 bits. Never write what was read this way back
 *   unchanged: other software reads `010.0.0.1` as 8.0.0.1. `warningsFor` says what is odd about a
 *   text. Kubernetes takes any number of zeros; here an address or a CIDR that has some is at most
 *   128 characters long.
 */
export type TextProfile = 'strict' | 'k8s-field' | 'k8s-field-canonical' | 'k8s-legacy-read'

const profiles: readonly TextProfile[] = ['strict', 'k8s-field', 'k8s-field-canonical', 'k8s-legacy-read']

/** How to read an address, or the addresses of something larger. */
export interface TextOptions {
  /** Which texts count. Default `strict`. */
  readonly profile?: TextProfile | undefined
  /** What to do with an IPv6 zone. Default `refuse`. */
  readonly zone?: ZonePolicy | undefined
}

/**
 * Whether all that a text may be is what the strict scanners read. A zone makes no difference to
 * that: it is refused or dropped, and a text without one is the same either way. What is not among
 * the options that there are is left to {@link oneOf}.
 */
export function isStrict(options: { readonly profile?: string | undefined } | undefined): boolean {
  if (options === undefined) return true
  if (typeof options !== 'object' || options === null) return false
  // a misspelt one is left to `assertOptions`
  for (const name in options) if (!NAMES.includes(name)) return false
  return options.profile === undefined || options.profile === 'strict'
}

/** The options of addresses, CIDRs and ranges. */
const NAMES: readonly string[] = ['profile', 'zone', 'blanks']

/**
 * Guards options against callers without types.
 *
 * @param of the noun whose texts are read
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertOptions(of: string, options: object): void {
  if (typeof options !== 'object' || options === null) refuseIn(of, 'options', 'an object', options)
  const wrong = Object.keys(options).find((name) => !NAMES.includes(name))
  if (wrong !== undefined) refuseIn(of, `options.${wrong}`, `one of ${NAMES.join(', ')}`, wrong)
}

/**
 * The value of an option, the first of those that there are if it is not given. A misspelt one is
 * not taken for that: it would read more than was asked for.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that there is not
 */
export function oneOf<T extends string>(of: string, argument: string, value: T | undefined, known: readonly T[]): T {
  if (value === undefined) return known[0] as T
  if (known.includes(value)) return value
  refuseIn(of, `options.${argument}`, `one of ${known.join(', ')}`, value)
}

/**
 * The options with their defaults.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that there is not, and for what are no options
 */
export function knownOptions(
  of: string,
  options: TextOptions,
): { readonly profile: TextProfile; readonly zone: ZonePolicy } {
  assertOptions(of, options)
  return {
    profile: oneOf(of, 'profile', options.profile, profiles),
    zone: oneOf(of, 'zone', options.zone, zonePolicies),
  }
}

/** The whole of `text` as an address. Never looks at more than the first 128 characters. */
export function addressOf(text: string, options: TextOptions = {}): Result<Address, 'MALFORMED_ADDRESS'> {
  const { profile, zone } = knownOptions('Address.parse', options)
  const isOfField = profile === 'k8s-field' || profile === 'k8s-field-canonical'
  const read = plainText(text, profile)
  const scanned = scanAddress(read.text, 0, read.text.length, zone)
  const wrong = (position: number, problem: string, suggestion?: string) =>
    failWith(MALFORMED_ADDRESS, { text, position, problem, ...(suggestion === undefined ? {} : { suggestion }) })
  if (typeof scanned !== 'object') {
    const suggestion = isOfField ? withoutZeros(text, zone) : undefined
    return wrong(read.positionOf(positionOf(scanned)), problemOf(scanned).words, suggestion)
  }
  if (!isOfField) return { ok: true, value: profile === 'k8s-legacy-read' ? withoutMapping(scanned) : scanned }

  const canonical = unmappedText(scanned)
  if (isMapped(scanned)) return wrong(0, 'must not be an IPv4-mapped IPv6 address', canonical)
  if (profile === 'k8s-field-canonical' && canonical !== text) {
    return wrong(firstDifference(text, canonical), 'must be in canonical form', canonical)
  }
  return { ok: true, value: scanned }
}

/**
 * What a field of Kubernetes takes in the place of an address with leading zeros, which are decimal
 * there; `undefined` for any other text.
 */
function withoutZeros(text: string, zone: ZonePolicy): string | undefined {
  const plain = plainText(text, 'k8s-legacy-read').text
  const scanned = scanAddress(plain, 0, plain.length, zone)
  return typeof scanned === 'object' ? unmappedText(scanned) : undefined
}

/**
 * A text without the leading zeros that only the legacy profile allows, and where each of its
 * characters stood.
 */
export interface PlainText {
  readonly text: string
  readonly positionOf: (position: number) => number
}

/**
 * Nothing legal is longer, even with a few leading zeros a group; what is longer is not searched
 * for zeros.
 */
const MAX_LEGACY_LENGTH = 128

/**
 * The text as the strict scanners read it. For `k8s-legacy-read` that is without leading zeros, as
 * Go before 1.17 (and Kubernetes' own copy of it) passed over them in octets, groups and prefix
 * lengths.
 */
export function plainText(text: string, profile: string): PlainText {
  if (profile !== 'k8s-legacy-read' || text.length > MAX_LEGACY_LENGTH)
    return { text, positionOf: (position) => position }
  const positions: number[] = []
  let plain = ''
  for (let i = 0; i < text.length; i++) {
    const opens = i === 0 || isSeparator(text.charCodeAt(i - 1)) || positions.at(-1) !== i - 1
    if (opens && text[i] === '0' && isHexDigit(text.charCodeAt(i + 1))) continue
    positions.push(i)
    plain += text[i]
  }
  return { text: plain, positionOf: (position) => positions[position] ?? text.length }
}

/** Index of the first character in which two texts differ. */
export function firstDifference(left: string, right: string): number {
  let i = 0
  while (i < left.length && i < right.length && left[i] === right[i]) i++
  return i
}

/**
 * IPv4-mapped IPv6 as the IPv4 address that Kubernetes takes it for (KEP-4858); any other address
 * itself.
 */
export function withoutMapping(address: Address): Address {
  return address.family === 6 && isMapped(address) ? { family: 4, value: address.w3 } : address
}

export function isMapped(address: Address): boolean {
  return address.family === 6 && address.w0 === 0 && address.w1 === 0 && address.w2 === 0xffff
}

/** Canonical text; IPv4-mapped IPv6 as the IPv4 address that Kubernetes takes it for. */
export function unmappedText(address: Address): string {
  return address.family === 6 && isMapped(address) ? format4(address.w3) : formatAddress(address)
}

export function formatAddress(address: Address): string {
  return address.family === 4 ? format4(address.value) : format6(address)
}

/** `.`, `:` and `/`. */
function isSeparator(character: number): boolean {
  return character === 46 || character === 58 || character === 47
}

function isHexDigit(character: number): boolean {
  return (
    (character >= 48 && character <= 57) ||
    (character >= 97 && character <= 102) ||
    (character >= 65 && character <= 70)
  )
}
