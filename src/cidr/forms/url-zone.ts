/** No interface has a longer name: Linux ends at 15, names that Windows shows are words. */
export const MAX_ZONE_LENGTH = 64

/**
 * What a zone may be made of, as far as it is no letter or digit: the first four as they are, the
 * others as escapes. Those are what Go's net/url lets through as well; no system has a slash in the
 * name of an interface.
 */
const PLAIN_SIGNS = '-._~'
const ESCAPED_SIGNS = "!$&'()*+,;=: %"

/**
 * A zone as it stands in a URL behind `%25` (RFC 6874 section 2), or `undefined` if it cannot stand
 * there.
 */
export function encodeZone(zone: string): string | undefined {
  if (zone === '' || zone.length > MAX_ZONE_LENGTH) return undefined
  let encoded = ''
  for (const character of zone) {
    if (isPlain(character)) encoded += character
    else if (ESCAPED_SIGNS.includes(character)) encoded += `%${hex(character)}`
    else return undefined
  }
  return encoded
}

export interface DecodedZone {
  readonly zone: string
  /** Where its closing bracket is. */
  readonly end: number
}

/** Reads a zone from `start`, behind `%25`, to its closing bracket; where and why not otherwise. */
export function decodeZone(
  text: string,
  start: number,
): DecodedZone | { readonly position: number; readonly problem: string } {
  let zone = ''
  let at = start
  while (zone.length <= MAX_ZONE_LENGTH) {
    const character = text.charAt(at)
    if (character === ']') {
      return zone === '' ? { position: at, problem: 'zone must be a non-empty string' } : { zone, end: at }
    }
    if (character === '') return { position: at, problem: "no ']' behind the zone" }
    if (character === '%') {
      const decoded = unescapedAt(text, at)
      if (decoded === undefined) return { position: at, problem: 'an escape that stands for nothing a zone has' }
      zone += decoded
      at += 3
    } else {
      if (!isPlain(character)) return { position: at, problem: 'unexpected character in a zone' }
      zone += character
      at++
    }
  }
  return { position: at, problem: `a zone of more than ${MAX_ZONE_LENGTH} characters` }
}

/** The character that the escape `%XX` stands for. */
function unescapedAt(text: string, at: number): string | undefined {
  const digits = text.slice(at + 1, at + 3)
  if (!/^[0-9a-f]{2}$/i.test(digits)) return undefined
  const character = String.fromCharCode(Number.parseInt(digits, 16))
  return isPlain(character) || ESCAPED_SIGNS.includes(character) ? character : undefined
}

function isPlain(character: string): boolean {
  return /^[0-9a-z]$/i.test(character) || PLAIN_SIGNS.includes(character)
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase()
}
