/**
 * Why a text is not an address. The words are those of Go's net/netip, so that what an admission
 * webhook written in Go says and what this library says is the same sentence. `showsRest` tells
 * whether Go adds the rest of the text to it.
 */
export interface TextProblem {
  readonly words: string
  readonly showsRest: boolean
}

/** Index of each problem in {@link problems}; part of the numbers that scanners return. */
export const Problem = {
  notAnAddress: 0,
  missingAddress: 1,
  leadingZero: 2,
  octetTooLarge: 3,
  emptyOctet: 4,
  tooManyOctets: 5,
  unexpectedCharacter: 6,
  tooFewOctets: 7,
  emptyZone: 8,
  groupTooLong: 9,
  emptyGroup: 10,
  misplacedIPv4: 11,
  noRoomForIPv4: 12,
  colonExpected: 13,
  trailingColon: 14,
  secondEllipsis: 15,
  trailingText: 16,
  tooFewGroups: 17,
  emptyEllipsis: 18,
  zoneNotAllowed: 19,
} as const

export const problems: readonly TextProblem[] = [
  { words: 'unable to parse IP', showsRest: false },
  { words: 'missing IPv6 address', showsRest: false },
  { words: 'IPv4 field has octet with leading zero', showsRest: false },
  { words: 'IPv4 field has value >255', showsRest: false },
  { words: 'IPv4 field must have at least one digit', showsRest: true },
  { words: 'IPv4 address too long', showsRest: false },
  { words: 'unexpected character', showsRest: true },
  { words: 'IPv4 address too short', showsRest: false },
  { words: 'zone must be a non-empty string', showsRest: false },
  { words: 'each group must have 4 or less digits', showsRest: true },
  { words: 'each colon-separated field must have at least one digit', showsRest: true },
  { words: 'embedded IPv4 address must replace the final 2 fields of the address', showsRest: true },
  { words: 'too many hex fields to fit an embedded IPv4 at the end of the address', showsRest: true },
  { words: 'unexpected character, want colon', showsRest: true },
  { words: 'colon must be followed by more characters', showsRest: true },
  { words: 'multiple :: in address', showsRest: true },
  { words: 'trailing garbage after address', showsRest: true },
  { words: 'address string too short', showsRest: false },
  { words: 'the :: must expand to at least one field of zeros', showsRest: false },
  { words: 'an IPv6 zone is not allowed here', showsRest: true },
]

const SLOTS = 32

/**
 * A problem and where it is, as one negative number: scanners return it in the place of a value, so
 * that a failed scan allocates nothing.
 */
export function encodeProblem(problem: number, position: number): number {
  return -(position * SLOTS + problem + 1)
}

export function problemOf(encoded: number): TextProblem {
  return problems[(-encoded - 1) % SLOTS] as TextProblem
}

export function positionOf(encoded: number): number {
  return Math.floor((-encoded - 1) / SLOTS)
}
