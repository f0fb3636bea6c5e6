// What both sides of a benchmark work on. Everything comes from a seed: each run, and each language, gets the same texts.
import { Address, type Address4, type Address6, Prefix, RangeSet } from 'ipam-kit/cidr'

/** Texts of one call: few enough to stay in the cache, as what is parsed usually is. */
const TEXTS = 4096
/** Lookups of one call: too many for the branch predictor to learn by heart. */
const PROBES = 65_536
/** Prefixes of the large set, and of the small one. */
export const LARGE = 100_000
export const SMALL = 1000

/** Anywhere in IPv4. */
export const addresses4 = once(() => {
  const next = random(4)
  return flat(Array.from({ length: TEXTS }, () => Address.format(randomAddress4(next))))
})

/** Eight groups, three of ten are 0. */
export const addresses6 = once(() => {
  const next = random(6)
  const group = () => (next() < 0.3 ? '0' : Math.floor(next() * 65_536).toString(16))
  const text = () => Array.from({ length: 8 }, group).join(':')
  return flat(Array.from({ length: TEXTS }, () => Address.format(Address.parse(text()))))
})

/** Anywhere in IPv4, /12 to /32, most of /12 to /15 replaced by /24: about 59,000 ranges when merged. */
export const prefixes4 = once(() => prefixTexts4(40, LARGE))
/** In 2000::/3, half of them /32 to /64 and half single addresses. */
export const prefixes6 = once(() => prefixTexts6(60, LARGE))
/** What is taken from the large set: of the same shapes. */
export const taken4 = once(() => prefixTexts4(41, LARGE / 10))

export const few4 = once(() => prefixTexts4(42, SMALL))
/** What is taken from the small set: half of it lies inside, and leaves holes. */
export const fewTaken4 = once(() => holeTexts4(43, few4(), SMALL / 10))

/** Half of the probes are anywhere, the other half in a prefix of the set. */
export const probes4 = once(() => probeTexts4(44, prefixes4()))
export const probes6 = once(() => probeTexts6(64, prefixes6()))
export const fewProbes4 = once(() => probeTexts4(45, few4()))

export const parsedAddresses = once((texts: readonly string[]) => texts.map((text) => Address.parse(text)))
export const parsedPrefixes = once((texts: readonly string[]) => texts.map((text) => Prefix.parse(text)))
export const parsedSet = once((texts: readonly string[]) => RangeSet.fromPrefixes(parsedPrefixes(texts)))

/** The first texts of a list, as many as one call parses. */
export const someOf = once((texts: readonly string[]) => texts.slice(0, TEXTS))

/** Makes a value when it is asked for first, and keeps it: one for each argument. */
export function once<T, Argument = void>(make: (argument: Argument) => T): (argument: Argument) => T {
  const made = new Map<Argument, T>()
  return (argument) => {
    let value = made.get(argument)
    if (value === undefined) {
      value = make(argument)
      made.set(argument, value)
    }
    return value
  }
}

/**
 * Numbers from a seed for a loop that is timed: a linear congruential generator of 32 bits. The programs in Go have the same, so that they
 * draw the same numbers.
 */
export class Draws {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number from 0 to limit - 1, for a limit of up to 2^21: the upper bits count. */
  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) | 0
    return Math.floor(((this.#state >>> 0) * limit) / 2 ** 32)
  }
}

/** A small generator of numbers from a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function prefixTexts4(seed: number, count: number): string[] {
  const next = random(seed)
  const text = () => {
    const drawn = 12 + Math.floor(next() * 21)
    const length = drawn < 16 && next() < 0.84 ? 24 : drawn
    return Prefix.format(Prefix.masked(Prefix.of(randomAddress4(next), length)))
  }
  return flat(Array.from({ length: count }, text))
}

/** Every second is up to 4 bits longer than a prefix of the set, and inside it. */
function holeTexts4(seed: number, set: readonly string[], count: number): string[] {
  const next = random(seed)
  const anywhere = prefixTexts4(seed + 1000, count)
  const text = (_: unknown, index: number) => {
    if (index % 2 === 0) return anywhere[index]!
    const prefix = Prefix.parse(set[Math.floor(next() * set.length)]!)
    const length = Math.min(32, prefix.length + 4)
    return Prefix.format(Prefix.masked(Prefix.of(within4(prefix, randomAddress4(next)), length)))
  }
  return flat(Array.from({ length: count }, text))
}

function prefixTexts6(seed: number, count: number): string[] {
  const next = random(seed)
  const text = () => {
    const length = next() < 0.5 ? 128 : 32 + Math.floor(next() * 33)
    return Prefix.format(Prefix.masked(Prefix.of(randomAddress6(next), length)))
  }
  return flat(Array.from({ length: count }, text))
}

function probeTexts4(seed: number, set: readonly string[]): string[] {
  const next = random(seed)
  const text = (_: unknown, index: number) => {
    const address = randomAddress4(next)
    if (index % 2 === 0) return Address.format(address)
    return Address.format(within4(Prefix.parse(set[Math.floor(next() * set.length)]!), address))
  }
  return flat(Array.from({ length: PROBES }, text))
}

/** The address of a prefix whose last bits are those of another. */
function within4(prefix: Prefix, { value }: Address4): Address4 {
  return Address.from4((prefix.address as Address4).value + (value % 2 ** (32 - prefix.length)))
}

function probeTexts6(seed: number, set: readonly string[]): string[] {
  const next = random(seed)
  const text = (_: unknown, index: number) => {
    const address = randomAddress6(next)
    if (index % 2 === 0) return Address.format(address)
    const prefix = Prefix.parse(set[Math.floor(next() * set.length)]!)
    const host = Address.toBigInt(address) % Prefix.size(prefix)
    return Address.format(Address.fromBigInt(6, Address.toBigInt(prefix.address) + host))
  }
  return flat(Array.from({ length: PROBES }, text))
}

function randomAddress4(next: () => number): Address4 {
  return Address.from4(Math.floor(next() * 2 ** 32))
}

function randomAddress6(next: () => number): Address6 {
  const word = () => Math.floor(next() * 2 ** 32)
  return { family: 6, w0: 0x20000000 + (word() >>> 3), w1: word(), w2: word(), w3: word() }
}

/**
 * The same texts, each as one piece of memory, as they come from a file or a request. A text that was put together is a plan to join
 * pieces, and who reads it first pays for that.
 */
function flat(texts: readonly string[]): string[] {
  return texts.map((text) => Buffer.from(text, 'latin1').toString('latin1'))
}
