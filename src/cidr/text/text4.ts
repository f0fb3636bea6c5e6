import { flatText, writeDotted } from './flat-text.js'
import { encodeProblem, Problem } from './parse-errors.js'

/**
 * Reads `text[start, end)` as dotted decimal, as fast as it can and without a word on what is
 * wrong: {@link scan4} says that. Octet by octet, because a branch for each character costs more
 * than the characters.
 *
 * @returns the address as an unsigned 32-bit number, or -1
 */
export function read4(text: string, start: number, end: number): number {
  let value = 0
  let i = start
  for (let dots = 0; ; dots++) {
    if (i >= end) return -1
    let octet = text.charCodeAt(i) - 48
    if (octet < 0 || octet > 9) return -1
    i++
    if (i < end) {
      let digit = text.charCodeAt(i) - 48
      if (digit >= 0 && digit <= 9) {
        if (octet === 0) return -1
        octet = octet * 10 + digit
        i++
        if (i < end) {
          digit = text.charCodeAt(i) - 48
          if (digit >= 0 && digit <= 9) {
            octet = octet * 10 + digit
            if (octet > 255) return -1
            i++
          }
        }
      }
    }
    value = (value << 8) | octet
    if (dots === 3) return i === end ? value >>> 0 : -1
    if (i >= end || text.charCodeAt(i) !== 46) return -1
    i++
  }
}

/**
 * Reads `text[start, end)` as dotted decimal with the rules of Go's net/netip: four octets, no
 * leading zero, nothing else.
 *
 * @returns the address as an unsigned 32-bit number, or a negative number made by
 * {@link encodeProblem}
 */
export function scan4(text: string, start: number, end: number): number {
  let value = 0
  let octet = 0
  let digits = 0
  let dots = 0
  for (let i = start; i < end; i++) {
    const character = text.charCodeAt(i)
    if (character >= 48 && character <= 57) {
      if (digits === 1 && octet === 0) return encodeProblem(Problem.leadingZero, i - 1)
      octet = octet * 10 + character - 48
      digits++
      if (octet > 255) return encodeProblem(Problem.octetTooLarge, i + 1 - digits)
    } else if (character === 46) {
      if (digits === 0 || i === end - 1) return encodeProblem(Problem.emptyOctet, i)
      if (dots === 3) return encodeProblem(Problem.tooManyOctets, i)
      value = value * 256 + octet
      dots++
      octet = 0
      digits = 0
    } else {
      return encodeProblem(Problem.unexpectedCharacter, i)
    }
  }
  if (dots < 3) return encodeProblem(Problem.tooFewOctets, end)
  return value * 256 + octet
}

/** An unsigned 32-bit number as dotted decimal. */
export function format4(value: number): string {
  return flatText(writeDotted(value, 0))
}
