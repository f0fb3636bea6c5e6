import type { Address6 } from '../nouns/types.js'
import { flatText, writeCharacter, writeDotted, writeGroup } from './flat-text.js'
import { encodeProblem, Problem } from './parse-errors.js'
import { read4, scan4 } from './text4.js'

/**
 * The groups of the text that is being read. Reading is synchronous and leaves nothing of value
 * behind.
 */
const groups = /* @__PURE__ */ new Uint16Array(8)

/** The value of each hexadecimal digit, by character; -1 for all other characters up to 127. */
const hexDigits = /* @__PURE__ */ Int8Array.from({ length: 128 }, (_, character) => hexDigit(character))

/**
 * Reads `text[start, end)` (without a zone) as IPv6 text, as fast as it can and without a word on
 * what is wrong: {@link scan6} says that.
 *
 * @returns the address, or `undefined`
 */
export function read6(text: string, start: number, end: number): Address6 | undefined {
  if (!readGroups(text, start, end)) return undefined
  return { family: 6, w0: wordOfGroups(0), w1: wordOfGroups(2), w2: wordOfGroups(4), w3: wordOfGroups(6) }
}

/** As {@link read6}, into the four words of `out`. False if it is no IPv6 text. */
export function readWords6(text: string, start: number, end: number, out: Uint32Array): boolean {
  if (!readGroups(text, start, end)) return false
  out[0] = wordOfGroups(0)
  out[1] = wordOfGroups(2)
  out[2] = wordOfGroups(4)
  out[3] = wordOfGroups(6)
  return true
}

function wordOfGroups(at: number): number {
  return ((groups[at]! << 16) | groups[at + 1]!) >>> 0
}

function readGroups(text: string, start: number, end: number): boolean {
  let count = 0
  let gap = -1 // groups in front of `::`, -1 while there was none
  let group = 0
  let digits = 0
  let i = start
  if (end - i >= 2 && text.charCodeAt(i) === COLON && text.charCodeAt(i + 1) === COLON) {
    gap = 0
    i += 2
  }
  for (; i < end; i++) {
    const character = text.charCodeAt(i)
    if (character === COLON) {
      if (digits === 0) {
        // the second colon of `::`, behind at least one group
        if (gap >= 0 || count === 0) return false
        gap = count
        continue
      }
      if (count === 8) return false
      groups[count++] = group
      group = 0
      digits = 0
    } else if (character === DOT) {
      const embedded = count <= 6 ? read4(text, i - digits, end) : -1
      if (embedded < 0) return false
      groups[count++] = embedded >>> 16
      group = embedded & 0xffff
      digits = 4
      break
    } else {
      const digit = character < 128 ? hexDigits[character]! : -1
      if (digit < 0 || digits === 4) return false
      group = (group << 4) | digit
      digits++
    }
  }
  if (digits === 0) {
    if (gap !== count) return false // a colon at the end that is not the second of `::`
  } else {
    if (count === 8) return false
    groups[count++] = group
  }
  if (gap < 0) {
    if (count < 8) return false
  } else {
    if (count === 8) return false // `::` stands for at least one group
    let to = 7
    for (let from = count - 1; from >= gap; from--) groups[to--] = groups[from]!
    while (to >= gap) groups[to--] = 0
  }
  return true
}

/**
 * Reads `text[start, end)` (without a zone) as IPv6 text with the rules of Go's net/netip: RFC 4291
 * section 2.2, one `::` that stands for at least one group, an embedded IPv4 only at the end.
 *
 * Groups are shifted into four words from the right; at `::` what came before is set aside and
 * moved to the left end later:
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
  let count = 0
  let headGroups = -1 // groups in front of `::`, -1 while there was none
  let i = start

  if (end - i >= 2 && text.charCodeAt(i) === COLON && text.charCodeAt(i + 1) === COLON) {
    headGroups = 0
    i += 2
  }
  while (i < end) {
    if (count === 8) return encodeProblem(Problem.trailingText, i)
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
      if (headGroups < 0 && count !== 6) return encodeProblem(Problem.misplacedIPv4, field)
      if (count > 6) return encodeProblem(Problem.noRoomForIPv4, field)
      const embedded = scan4(text, field, end)
      if (embedded < 0) return embedded
      t0 = t1
      t1 = t2
      t2 = t3
      t3 = embedded
      count += 2
      break
    }

    t0 = (t0 << 16) | (t1 >>> 16)
    t1 = (t1 << 16) | (t2 >>> 16)
    t2 = (t2 << 16) | (t3 >>> 16)
    t3 = (t3 << 16) | group
    count++
    if (i === end) break
    if (text.charCodeAt(i) !== COLON) return encodeProblem(Problem.colonExpected, i)
    if (i + 1 === end) return encodeProblem(Problem.trailingColon, i)
    i++
    if (text.charCodeAt(i) === COLON) {
      if (headGroups >= 0) return encodeProblem(Problem.secondEllipsis, i)
      headGroups = count
      h0 = t0
      h1 = t1
      h2 = t2
      h3 = t3
      t0 = t1 = t2 = t3 = 0
      i++
    }
  }

  if (headGroups < 0) {
    if (count < 8) return encodeProblem(Problem.tooFewGroups, end)
    return { family: 6, w0: t0 >>> 0, w1: t1 >>> 0, w2: t2 >>> 0, w3: t3 >>> 0 }
  }
  if (count === 8) return encodeProblem(Problem.emptyEllipsis, end)
  for (let shift = 8 - headGroups; shift > 0; shift--) {
    h0 = (h0 << 16) | (h1 >>> 16)
    h1 = (h1 << 16) | (h2 >>> 16)
    h2 = (h2 << 16) | (h3 >>> 16)
    h3 = h3 << 16
  }
  return { family: 6, w0: (h0 | t0) >>> 0, w1: (h1 | t1) >>> 0, w2: (h2 | t2) >>> 0, w3: (h3 | t3) >>> 0 }
}

/**
 * Canonical text of RFC 5952; an IPv4-mapped address ends in dotted decimal (its section 5, and
 * Go's net/netip).
 */
export function format6(address: Address6): string {
  const { w0, w1, w2, w3 } = address
  return flatText(write6(w0, w1, w2, w3, 0))
}

/**
 * Writes the canonical text of the address of four words at `at`.
 *
 * @returns the position behind it
 */
export function write6(w0: number, w1: number, w2: number, w3: number, at: number): number {
  // one bit a group that is zero, the first group the highest
  const zeros =
    ((w0 >>> 16 === 0 ? 128 : 0) | (w0 << 16 === 0 ? 64 : 0)) +
    ((w1 >>> 16 === 0 ? 32 : 0) | (w1 << 16 === 0 ? 16 : 0)) +
    ((w2 >>> 16 === 0 ? 8 : 0) | (w2 << 16 === 0 ? 4 : 0)) +
    ((w3 >>> 16 === 0 ? 2 : 0) | (w3 << 16 === 0 ? 1 : 0))
  const run = longestRuns[zeros]!
  const gap = run >> 4 // group where `::` begins, 8 for none
  const behind = gap + (run & 15) // group behind it

  let end = at
  if (w0 === 0 && w1 === 0 && w2 === 0xffff) {
    end = writeCharacter(COLON, writeCharacter(COLON, end))
    return writeDotted(w3, writeCharacter(COLON, writeGroup(0xffff, end)))
  }
  for (let i = 0; i < 8; i++) {
    if (i === gap) {
      end = writeCharacter(COLON, end)
      if (i === 0) end = writeCharacter(COLON, end)
      i = behind - 1
      continue
    }
    const word = i < 4 ? (i < 2 ? w0 : w1) : i < 6 ? w2 : w3
    end = writeGroup((i & 1) === 0 ? word >>> 16 : word & 0xffff, end)
    if (i < 7) end = writeCharacter(COLON, end)
  }
  return end
}

/**
 * Which groups `::` stands for, by the groups that are zero (one bit each, the first group the
 * highest): the longest run of two or more, the first one of equals, as `first * 16 + length`;
 * `8 * 16` if there is none.
 */
const longestRuns = /* @__PURE__ */ Uint8Array.from({ length: 256 }, (_, zeros) => {
  let best = 8 << 4
  let bestLength = 1
  for (let first = 0; first < 8; first++) {
    let length = 0
    while (first + length < 8 && (zeros & (128 >> (first + length))) !== 0) length++
    if (length > bestLength) {
      best = (first << 4) | length
      bestLength = length
    }
  }
  return best
})

const COLON = 58
const DOT = 46

function hexDigit(character: number): number {
  if (character >= 48 && character <= 57) return character - 48
  if (character >= 97 && character <= 102) return character - 87
  if (character >= 65 && character <= 70) return character - 55
  return -1
}
