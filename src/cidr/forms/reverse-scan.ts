/**
 * A name of four octets or 32 nibbles in lower case without a final dot: nothing else about it is
 * left to be checked.
 */
export interface FullReverseName {
  readonly family: 4 | 6
  readonly name: string
}

/** A name that has passed, and how many bits its labels stand for. */
export interface ScannedName {
  /**
   * The name with a label `0` in the place of each that it leaves out: that of the first address.
   */
  readonly full: FullReverseName
  readonly length: number
}

export interface NameProblem {
  readonly position: number
  readonly problem: string
}

/** 32 nibbles, each with its dot, `ip6.arpa` and a final dot. */
const MAX_NAME_LENGTH = 73
const DOMAIN4 = 'in-addr.arpa'
const DOMAIN6 = 'ip6.arpa'

/**
 * Reads `text` as a reverse name, or says what is wrong with it. Reads at most 73
 * characters.
 */
export function scanReverseName(text: string): ScannedName | NameProblem {
  if (text.length > MAX_NAME_LENGTH) {
    return { position: MAX_NAME_LENGTH, problem: 'longer than any reverse name of an address' }
  }
  const end = text.charCodeAt(text.length - 1) === DOT ? text.length - 1 : text.length
  if (endsInDomain(text, end, DOMAIN4)) return scanLabels(text, end, DOMAIN4)
  if (endsInDomain(text, end, DOMAIN6)) return scanLabels(text, end, DOMAIN6)
  return { position: end, problem: `does not end in ${DOMAIN4} or ${DOMAIN6}` }
}

function scanLabels(text: string, end: number, domain: typeof DOMAIN4 | typeof DOMAIN6): ScannedName | NameProblem {
  const is4 = domain === DOMAIN4
  const labelsEnd = end - domain.length
  let count = 0
  for (let at = 0; at < labelsEnd; count++) {
    const next = text.indexOf('.', at) + 1
    const problem = is4 ? octetProblem(text, at, next - 1) : nibbleProblem(text, at, next - 1)
    if (problem !== undefined) return problem
    at = next
  }
  if (is4 && count > 4) return { position: 0, problem: 'more than four octets' }
  // digits, letters, dots and one hyphen: lower case has no surprises here
  const name = '0.'.repeat((is4 ? 4 : 32) - count) + text.slice(0, end).toLowerCase()
  return { full: { family: is4 ? 4 : 6, name }, length: count * (is4 ? 8 : 4) }
}

function octetProblem(text: string, start: number, end: number): NameProblem | undefined {
  let value = 0
  for (let i = start; i < end; i++) {
    const character = text.charCodeAt(i)
    if (i > start && (character === SLASH || character === HYPHEN)) {
      return {
        position: i,
        problem: 'a classless name (RFC 2317) is an alias that its zone defines: it names no prefix',
      }
    }
    if (character < ZERO || character > ZERO + 9) return { position: i, problem: 'unexpected character in an octet' }
    value = value * 10 + character - ZERO
  }
  if (start === end) return { position: start, problem: 'an empty label' }
  if (end - start > 1 && text.charCodeAt(start) === ZERO) {
    return { position: start, problem: 'an octet with a leading zero' }
  }
  return value > 255 ? { position: start, problem: 'an octet above 255' } : undefined
}

function nibbleProblem(text: string, start: number, end: number): NameProblem | undefined {
  if (start === end) return { position: start, problem: 'an empty label' }
  if (!isHexDigit(text.charCodeAt(start))) return { position: start, problem: 'unexpected character in a nibble' }
  return end - start > 1 ? { position: start + 1, problem: 'a nibble is one hexadecimal digit' } : undefined
}

/** Whether `text[0, end)` is the domain or ends in a dot and the domain, in any case of ASCII. */
function endsInDomain(text: string, end: number, domain: string): boolean {
  const start = end - domain.length
  if (start < 0 || (start > 0 && text.charCodeAt(start - 1) !== DOT)) return false
  for (let i = 0; i < domain.length; i++) {
    const character = text.charCodeAt(start + i)
    const expected = domain.charCodeAt(i)
    const isUpper = character >= UPPER_A && character <= UPPER_A + 25
    if ((isUpper ? character + UPPER_TO_LOWER : character) !== expected) return false
  }
  return true
}

function isHexDigit(character: number): boolean {
  if (character >= ZERO && character <= ZERO + 9) return true
  const lower = character | UPPER_TO_LOWER
  return lower >= LOWER_A && lower <= LOWER_A + 5
}

const DOT = 46
const HYPHEN = 45
const SLASH = 47
const ZERO = 48
const UPPER_A = 65
const LOWER_A = 97
const UPPER_TO_LOWER = 32
