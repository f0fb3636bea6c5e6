import type { Address } from '../nouns/types.js'
import { positionOf, problemOf } from '../text/parse-errors.js'
import { scanAddress } from '../text/scan.js'
import { decodeZone } from './url-zone.js'

export interface ScannedHost {
  readonly address: Address
  readonly zone?: string
  readonly port?: number
}

export interface HostProblem {
  readonly position: number
  readonly problem: string
  /** The DNS name in the place of an address. */
  readonly name?: string
}

/** A host and where it ends. */
type Host =
  | { readonly address: Address; readonly zone?: string; readonly end: number }
  | { readonly name: string; readonly end: number }

/** The longest that IANA has registered is less than half of it. */
const MAX_SCHEME_LENGTH = 64
/** 253 characters of a name, and a final dot. */
const MAX_NAME_LENGTH = 254
const MAX_LABEL_LENGTH = 63
/** The longest text of an IPv6 address. */
const MAX_ADDRESS_LENGTH = 45
const MAX_PORT = 65535

/** Reads `text` as an endpoint or a URL whose host is an address, or says what is wrong with it. */
export function scanUrlHost(text: string): ScannedHost | HostProblem {
  const start = endOfScheme(text)
  const host = text.charAt(start) === '[' ? scanLiteral(text, start) : scanPlainHost(text, start)
  if ('problem' in host) return host

  let { end } = host
  let port = -1
  if (text.charAt(end) === ':') {
    const digits = portDigits(text, end + 1)
    const problem = portProblem(text, end + 1, digits)
    if (problem !== undefined) return problem
    port = Number(digits)
    end += 1 + digits.length
  }
  const problem = tailProblem(text, end, start > 0)
  if (problem !== undefined) return problem

  if ('name' in host) return { position: start, problem: 'a DNS name, not an IP address', name: host.name }
  const { address, zone } = host
  return { address, ...(zone === undefined ? {} : { zone }), ...(port < 0 ? {} : { port }) }
}

/**
 * Where the host of a URL begins, behind `scheme://` (RFC 3986 section 3.1); 0 for a text that has
 * no scheme.
 */
function endOfScheme(text: string): number {
  const stop = Math.min(text.length, MAX_SCHEME_LENGTH)
  let i = 0
  while (i < stop && (isLetter(text.charCodeAt(i)) || (i > 0 && /[0-9+.-]/.test(text.charAt(i))))) i++
  return i > 0 && text.startsWith('://', i) ? i + 3 : 0
}

/** `[address]` or `[address%25zone]`: RFC 3986 section 3.2.2, RFC 6874 section 2. */
function scanLiteral(text: string, open: number): Host | HostProblem {
  const start = open + 1
  const stop = Math.min(text.length, start + MAX_ADDRESS_LENGTH + 1)
  let end = start
  while (end < stop && text.charAt(end) !== ']' && text.charAt(end) !== '%') end++
  const address = scanAddress(text, start, end, 'refuse')
  if (typeof address !== 'object') return { position: positionOf(address), problem: problemOf(address).words }
  if (address.family === 4) return { position: open, problem: 'only an IPv6 address stands in brackets' }
  if (text.charAt(end) === ']') return { address, end: end + 1 }
  if (text.charAt(end) !== '%') return { position: end, problem: "no ']' behind the address" }

  if (!text.startsWith('25', end + 1)) return { position: end, problem: "the '%' before a zone is written '%25'" }
  const zone = decodeZone(text, end + 3)
  return 'problem' in zone ? zone : { address, zone: zone.zone, end: zone.end + 1 }
}

/** An IPv4 address, or a DNS name to refuse with better words. */
function scanPlainHost(text: string, start: number): Host | HostProblem {
  const problem = authorityProblem(text, start)
  if (problem !== undefined) return problem
  const stop = Math.min(text.length, start + MAX_NAME_LENGTH + 1)
  let end = start
  while (end < stop && isNameCharacter(text.charCodeAt(end))) end++
  if (end - start > MAX_NAME_LENGTH) return { position: end, problem: 'longer than any host' }
  if (end === start) {
    // an empty host, or one of characters that no host has
    return isHostEnd(text.charAt(end)) || text.charAt(end) === ':'
      ? { position: start, problem: 'no host' }
      : unexpected(text, end)
  }
  const name = text.slice(start, end)
  if (isDnsName(name)) return { name, end }
  const address = scanAddress(text, start, end, 'refuse')
  return typeof address === 'object'
    ? { address, end }
    : { position: positionOf(address), problem: problemOf(address).words }
}

/**
 * A name by RFC 1123 section 2.1 whose last label is not a number: some parsers read `127.1` and
 * `0x7f000001` as addresses, and none reads them as names.
 */
function isDnsName(host: string): boolean {
  const labels = host.split('.')
  const isRooted = labels.at(-1) === ''
  if (isRooted) labels.pop()
  if (host.length - Number(isRooted) > MAX_NAME_LENGTH - 1) return false
  const last = labels.at(-1) as string
  const isLabel = (label: string) => label.length <= MAX_LABEL_LENGTH && /^[0-9a-z]([0-9a-z-]*[0-9a-z])?$/i.test(label)
  return labels.every(isLabel) && !/^([0-9]+|0x[0-9a-f]*)$/i.test(last)
}

/** The digits from `start` on: a sixth one is not looked for. */
function portDigits(text: string, start: number): string {
  let end = start
  while (end < start + 5 && isDigit(text.charCodeAt(end))) end++
  return text.slice(start, end)
}

function portProblem(text: string, start: number, digits: string): HostProblem | undefined {
  if (digits === '') {
    const isEmpty = isHostEnd(text.charAt(start))
    return { position: start, problem: isEmpty ? 'no port behind the colon' : 'unexpected character in a port' }
  }
  if (digits.length > 1 && digits.startsWith('0')) return { position: start, problem: 'a port with a leading zero' }
  const isLonger = isDigit(text.charCodeAt(start + digits.length))
  return isLonger || Number(digits) > MAX_PORT ? { position: start, problem: 'a port above 65535' } : undefined
}

/**
 * What may not stand behind host and port: anything behind an endpoint, anything but path, query
 * and fragment in a URL.
 */
function tailProblem(text: string, end: number, isUrl: boolean): HostProblem | undefined {
  const next = text.charAt(end)
  return next === '' || (isUrl && isHostEnd(next)) ? undefined : unexpected(text, end)
}

function unexpected(text: string, position: number): HostProblem {
  const isUserInfo = text.charAt(position) === '@'
  return { position, problem: isUserInfo ? 'user information is not allowed' : 'unexpected character' }
}

/**
 * What the signs within the length of a host, and before anything that ends one, say about it as a
 * whole.
 */
function authorityProblem(text: string, start: number): HostProblem | undefined {
  let colons = 0
  for (let i = start; i <= start + MAX_NAME_LENGTH && !isHostEnd(text.charAt(i)); i++) {
    const character = text.charAt(i)
    if (character === '@') return unexpected(text, i)
    if (character === ':') colons++
  }
  return colons > 1
    ? { position: start, problem: 'more than one colon: an IPv6 address stands in brackets' }
    : undefined
}

/** The end of the text, or what ends host and port in a URL. */
function isHostEnd(character: string): boolean {
  return character === '' || character === '/' || character === '?' || character === '#'
}

function isNameCharacter(character: number): boolean {
  return isLetter(character) || isDigit(character) || character === HYPHEN || character === DOT
}

function isLetter(character: number): boolean {
  return (character >= 97 && character <= 122) || (character >= 65 && character <= 90)
}

function isDigit(character: number): boolean {
  return character >= 48 && character <= 57
}

const HYPHEN = 45
const DOT = 46
