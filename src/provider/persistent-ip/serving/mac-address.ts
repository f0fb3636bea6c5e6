import * as Address from '../../../cidr/nouns/address.js'

/**
 * The MAC address that OVN-Kubernetes gives an interface: `0a:58`, and the four bytes of an IPv4
 * address, or the first four bytes of SHA-256 of the text of an IPv6 address.
 */
export function macFor(address: Address.Address): string {
  const word = address.family === 4 ? Number(Address.toBigInt(address)) : firstWordOfSha256(Address.format(address))
  const bytes = [24, 16, 8, 0].map((shift) => (word >>> shift) & 0xff)
  return [0x0a, 0x58, ...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}

/** The bits of SHA-256 (FIPS 180-4) that are used: a text is ASCII, of up to 55 characters. */
function firstWordOfSha256(text: string): number {
  const { constants, start } = TABLES
  const words = new Uint32Array(64)
  for (const [index, character] of [...text, '\u0080'].entries()) {
    words[index >> 2] = words[index >> 2]! | ((character.codePointAt(0) ?? 0) << (24 - 8 * (index & 3)))
  }
  words[15] = text.length * 8
  for (let index = 16; index < 64; index++) {
    const [near, far] = [words[index - 15]!, words[index - 2]!]
    const first = turned(near, 7) ^ turned(near, 18) ^ (near >>> 3)
    const second = turned(far, 17) ^ turned(far, 19) ^ (far >>> 10)
    words[index] = words[index - 16]! + first + words[index - 7]! + second
  }
  let [a, b, c, d, e, f, g, h] = start as readonly [number, number, number, number, number, number, number, number]
  for (const [index, constant] of constants.entries()) {
    const mixed = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const one = (h + mixed + ((e & f) ^ (~e & g)) + constant + words[index]!) | 0
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g]
  }
  return (a + start[0]!) >>> 0
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The first 32 bits of the fractions of cube roots and square roots of the first primes. */
const TABLES = /* @__PURE__ */ tables()

function tables(): { readonly constants: readonly number[]; readonly start: readonly number[] } {
  const primes: number[] = []
  for (let each = 2; primes.length < 64; each++) if (primes.every((prime) => each % prime !== 0)) primes.push(each)
  const fraction = (root: number) => ((root % 1) * 2 ** 32) | 0
  return {
    constants: primes.map((prime) => fraction(Math.cbrt(prime))),
    start: primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime))),
  }
}
