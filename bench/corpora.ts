import { Address, Prefix } from 'ipam-kit/cidr'

// What the benchmarks work on: always the same texts, made from seeds.

/** A small generator of numbers from a seed (mulberry32), so that every run does the same work. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Addresses over all of IPv4. */
export function addresses4(count: number): string[] {
  const next = random(4)
  return Array.from({ length: count }, () => flat(Address.format(Address.from4(word(next)))))
}

/** Addresses of eight random groups, about a third of which are 0. */
export function addresses6(count: number): string[] {
  const next = random(6)
  return Array.from({ length: count }, () => flat(Address.format(randomAddress6(next))))
}

/** Masked prefixes, /12 to /32, all as likely, but that most of /12 to /15 are /24 instead: few cover all others. */
export function prefixes4(count: number, seed = 12): string[] {
  const next = random(seed)
  return Array.from({ length: count }, () => {
    const drawn = 12 + Math.floor(next() * 21)
    const length = drawn < 16 && next() < 0.9 ? 24 : drawn
    return flat(Prefix.format(Prefix.masked(Prefix.of(Address.from4(word(next)), length))))
  })
}

/** Masked prefixes of addresses as {@link addresses6} has them, /20 to /64, all as likely. */
export function prefixes6(count: number, seed = 20): string[] {
  const next = random(seed)
  return Array.from({ length: count }, () => {
    const length = 20 + Math.floor(next() * 45)
    return flat(Prefix.format(Prefix.masked(Prefix.of(randomAddress6(next), length))))
  })
}

/** Half of the prefixes lie inside one of `outer`, 4 bits longer where that can be; the other half are random. */
export function exceptions4(outer: readonly string[], count: number): string[] {
  const next = random(13)
  const inside = Array.from({ length: count >> 1 }, () => {
    const prefix = Prefix.parse(outer[Math.floor(next() * outer.length)]!)
    return flat(Prefix.format(Prefix.masked(Prefix.of(within4(prefix, next), Math.min(32, prefix.length + 4)))))
  })
  return [...inside, ...prefixes4(count - inside.length, 14)]
}

/** Addresses, half of them random and half inside one of the prefixes: so many that no branch predictor learns them. */
export function probes4(prefixes: readonly string[], count = 65_536): string[] {
  const next = random(15)
  return Array.from({ length: count }, (_, i) => {
    if (i % 2 === 0) return flat(Address.format(Address.from4(word(next))))
    const prefix = Prefix.parse(prefixes[Math.floor(next() * prefixes.length)]!)
    return flat(Address.format(within4(prefix, next)))
  })
}

function within4(prefix: Prefix, next: () => number): Address {
  const first = Prefix.first(prefix)
  if (first.family !== 4) throw new Error('an IPv4 prefix is wanted')
  return Address.from4(first.value + Math.floor(next() * 2 ** (32 - prefix.length)))
}

function randomAddress6(next: () => number): Address {
  const group = () => (next() < 0.3 ? '0' : Math.floor(next() * 65_536).toString(16))
  return Address.parse(Array.from({ length: 8 }, group).join(':'))
}

function word(next: () => number): number {
  return Math.floor(next() * 2 ** 32)
}

/** The same text as one run of bytes: a text that is only a plan to join pieces is slow to read. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
