import type { Address } from '../nouns/types.js'
import { encodeProblem, Problem } from './parse-errors.js'
import { read4, scan4 } from './text4.js'
import { read6, scan6 } from './text6.js'

/**
 * What to do with an IPv6 zone (`%eth0`): refuse the text, or read the address and drop the zone.
 */
export type ZonePolicy = 'refuse' | 'drop'

export const zonePolicies: readonly ZonePolicy[] = ['refuse', 'drop']

/**
 * No separator of an address lies further on than this: the longest group and the longest octet are
 * shorter.
 */
const SEPARATOR_WITHIN = 64
/**
 * The longest address text, eight groups with an embedded IPv4:
 * `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`.
 */
const MAX_ADDRESS_LENGTH = 45
/** A zone that begins further on is not looked for: whatever stands before it is wrong. */
export const ZONE_WITHIN = 128

/**
 * Reads `text[start, end)` as an address without a zone, as fast as it can: no text of one family
 * is a text of the other, and the first separator ends the attempt with the wrong one.
 *
 * @returns the address, or `undefined`: {@link scanAddress} says why
 */
export function readAddress(text: string, start: number, end: number): Address | undefined {
  if (end - start > MAX_ADDRESS_LENGTH) return undefined
  const value = read4(text, start, end)
  return value >= 0 ? { family: 4, value } : read6(text, start, end)
}

/**
 * Reads `text[start, end)` as an address of either family, and says what is wrong with it. Looks at
 * no more than 128 characters of it, however long it is.
 *
 * @returns the address, or a negative number made by `encodeProblem`
 */
export function scanAddress(text: string, start: number, end: number, zone: ZonePolicy): Address | number {
  const stop = Math.min(end, start + SEPARATOR_WITHIN)
  for (let i = start; i < stop; i++) {
    const character = text.charCodeAt(i)
    if (character === 46) {
      const value = scan4(text, start, end)
      return value < 0 ? value : { family: 4, value }
    }
    if (character === 58) return scanZoned6(text, start, end, zone)
    if (character === 37) return encodeProblem(Problem.missingAddress, i)
  }
  return encodeProblem(Problem.notAnAddress, start)
}

function scanZoned6(text: string, start: number, end: number, zone: ZonePolicy): Address | number {
  const stop = Math.min(end, start + ZONE_WITHIN)
  for (let i = start; i < stop; i++) {
    if (text.charCodeAt(i) !== 37) continue
    if (zone === 'refuse') return encodeProblem(Problem.zoneNotAllowed, i)
    if (i + 1 === end) return encodeProblem(Problem.emptyZone, i)
    return scan6(text, start, i)
  }
  return scan6(text, start, end)
}
