import type { Address6 } from './address.js'
import { encodeProblem, Problem } from './problems.js'
import { format4, scan4 } from './text4.js'

/**
 * Reads `text[start, end)` (without a zone) as IPv6 text with the rules of Go's net/netip: RFC 4291 section 2.2, one `::` that
 * stands for at least one group, an embedded IPv4 only at the end.
 *
 * Groups are shifted into four words from the right; at `::` what came before is set aside and moved to the left end later:
 *
 *     fd00:12::7      head  .... .... .... .... .... .... fd00 0012   -> fd00 0012 .... .... .... .... .... ....
 *                     tail  .... .... .... .... .... .... .... 0007
 *
 * @returns the address, or a negative number made by `encodeProblem`
 */
export function scan6(text: string, start: number, end: number): Address6 | number {
  let t0 = 0
  let t1 = 0
  let t2 = 0
  let t3 = 0
  let h0 = 0
  let h1 = 0
  let h2 = 0
  let h3 = 0
  let groups = 0
  let headGroups = -1 // groups in front of `::`, -1 while there was none
  let i = start

  if (end - i >= 2 && text.charCodeAt(i) === COLON && text.charCodeAt(i + 1) === COLON) {
    headGroups = 0
    i += 2
  }
  while (i < end) {
    if (groups === 8) return encodeProblem(Problem.trailingText, i)
    const field = i
    let group = 0
    while (i < end) {
      const digit = hexDigit(text.charCodeAt(i))
      if (digit < 0) break
      if (i - field === 4) return encodeProblem(Problem.groupTooLong, field)
      group = (group << 4) | digit
      i++
    }
    if (i === field) return encodeProblem(Problem.emptyGroup, field)

    if (i < end && text.charCodeAt(i) === DOT) {
      if (headGroups < 0 && groups !== 6) return encodeProblem(Problem.misplacedIPv4, field)
      if (groups > 6) return encodeProblem(Problem.noRoomForIPv4, field)
      const embedded = scan4(text, field, end)
      if (embedded < 0) return embedded
      t0 = t1
      t1 = t2
      t2 = t3
      t3 = embedded
      groups += 2
      break
    }

    t0 = (t0 << 16) | (t1 >>> 16)
    t1 = (t1 << 16) | (t2 >>> 16)
    t2 = (t2 << 16) | (t3 >>> 16)
    t3 = (t3 << 16) | group
    groups++
    if (i === end) break
    if (text.charCodeAt(i) !== COLON) return encodeProblem(Problem.colonExpected, i)
    if (i + 1 === end) return encodeProblem(Problem.trailingColon, i)
    i++
    if (text.charCodeAt(i) === COLON) {
      if (headGroups >= 0) return encodeProblem(Problem.secondEllipsis, i)
      headGroups = groups
      h0 = t0
      h1 = t1
      h2 = t2
      h3 = t3
      t0 = t1 = t2 = t3 = 0
      i++
    }
  }

  if (headGroups < 0) {
    if (groups < 8) return encodeProblem(Problem.tooFewGroups, end)
    return { family: 6, w0: t0 >>> 0, w1: t1 >>> 0, w2: t2 >>> 0, w3: t3 >>> 0 }
  }
  if (groups === 8) return encodeProblem(Problem.emptyEllipsis, end)
  for (let shift = 8 - headGroups; shift > 0; shift--) {
    h0 = (h0 << 16) | (h1 >>> 16)
    h1 = (h1 << 16) | (h2 >>> 16)
    h2 = (h2 << 16) | (h3 >>> 16)
    h3 = h3 << 16
  }
  return { family: 6, w0: (h0 | t0) >>> 0, w1: (h1 | t1) >>> 0, w2: (h2 | t2) >>> 0, w3: (h3 | t3) >>> 0 }
}

/** Canonical text of RFC 5952; an IPv4-mapped address ends in dotted decimal (its section 5, and Go's net/netip). */
export function format6(address: Address6): string {
  const { w0, w1, w2, w3 } = address
  if (w0 === 0 && w1 === 0 && w2 === 0xffff) return `::ffff:${format4(w3)}`
  const groups = [w0 >>> 16, w0 & 0xffff, w1 >>> 16, w1 & 0xffff, w2 >>> 16, w2 & 0xffff, w3 >>> 16, w3 & 0xffff]

  // the longest run of two or more zero groups, the first one of equals
  let bestStart = -1
  let bestLength = 1
  for (let i = 0; i < 8; ) {
    let j = i
    while (j < 8 && groups[j] === 0) j++
    if (j - i > bestLength) {
      bestStart = i
      bestLength = j - i
    }
    i = j + 1
  }

  let text = ''
  for (let i = 0; i < 8; i++) {
    if (i === bestStart) {
      text += '::'
      i += bestLength - 1
      continue
    }
    if (i > 0 && (bestStart < 0 || i !== bestStart + bestLength)) text += ':'
    text += (groups[i] as number).toString(16)
  }
  return text
}

const COLON = 58
const DOT = 46

function hexDigit(character: number): number {
  if (character >= 48 && character <= 57) return character - 48
  if (character >= 97 && character <= 102) return character - 87
  if (character >= 65 && character <= 70) return character - 55
  return -1
}
