import fc from 'fast-check'
import { Address, type Family, Prefix, PrefixMap } from 'ipam-kit/cidr'
import { prefix } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'

interface Entry {
  readonly prefix: Prefix
  readonly value: number | undefined
}

/** What a PrefixMap is: a list of entries that one looks through. */
class Model {
  readonly #entries = new Map<string, Entry>()

  set(key: Prefix, value: number | undefined): void {
    const prefix = Prefix.masked(key)
    this.#entries.set(Prefix.format(prefix), { prefix, value })
  }
  delete(key: Prefix): boolean {
    return this.#entries.delete(Prefix.format(Prefix.masked(key)))
  }
  clear(): void {
    this.#entries.clear()
  }
  get(key: Prefix): Entry | undefined {
    return this.#entries.get(Prefix.format(Prefix.masked(key)))
  }
  all(): Entry[] {
    return [...this.#entries.values()].sort((a, b) => Prefix.compare(a.prefix, b.prefix))
  }
  covering(member: Address | Prefix): Entry[] {
    return this.#where((prefix) => Prefix.contains(prefix, member)).sort((a, b) => a.prefix.length - b.prefix.length)
  }
  coveredBy(outer: Prefix): Entry[] {
    return this.#where((prefix) => Prefix.contains(outer, prefix)).sort((a, b) => Prefix.compare(a.prefix, b.prefix))
  }
  #where(test: (prefix: Prefix) => boolean): Entry[] {
    return [...this.#entries.values()].filter(({ prefix }) => test(prefix))
  }
}

type Step =
  | { readonly do: 'set'; readonly prefix: Prefix; readonly value: number | undefined }
  | { readonly do: 'delete'; readonly prefix: Prefix }
  | { readonly do: 'fill' | 'drain'; readonly prefixes: readonly Prefix[] }
  | { readonly do: 'clear' }
  | { readonly do: 'ask'; readonly prefix: Prefix }

/** Takes a step in both, and compares what they say of it. */
function take(step: Step, map: PrefixMap<number | undefined>, model: Model): void {
  if (step.do === 'set') {
    expect(map.set(step.prefix, step.value)).toBe(map)
    model.set(step.prefix, step.value)
  } else if (step.do === 'delete') {
    expect(map.delete(step.prefix)).toBe(model.delete(step.prefix))
  } else if (step.do === 'clear') {
    map.clear()
    model.clear()
  } else if (step.do === 'fill') {
    for (const [i, prefix] of step.prefixes.entries()) {
      map.set(prefix, -i)
      model.set(prefix, -i)
    }
  } else if (step.do === 'drain') {
    for (const prefix of step.prefixes) if (map.delete(prefix) !== model.delete(prefix)) expect.fail('delete')
  }
}

function expectSame(map: PrefixMap<number | undefined>, model: Model, prefix: Prefix): void {
  const { address } = prefix
  expect(map.has(prefix)).toBe(model.get(prefix) !== undefined)
  expect(map.get(prefix)).toBe(model.get(prefix)?.value)
  for (const member of [address, prefix]) {
    const covering = model.covering(member)
    expect(map.covering(member)).toEqual(covering)
    expect(map.longestMatch(member)).toEqual(covering.at(-1))
  }
  expect(map.lookup(address)).toBe(model.covering(address).at(-1)?.value)
  expect(map.coveredBy(prefix)).toEqual(model.coveredBy(prefix))
  expect(map.coveredBy(prefix, { limit: 2 })).toEqual(model.coveredBy(prefix).slice(0, 2))
}

function expectSameList(map: PrefixMap<number | undefined>, model: Model): void {
  const all = model.all()
  expect(map.size).toBe(all.length)
  expect([...map]).toEqual(all.map(({ prefix, value }) => [prefix, value]))
  expect([...map.keys()]).toEqual(all.map(({ prefix }) => prefix))
  expect([...map.values()]).toEqual(all.map(({ value }) => value))
}

/** Nine bits of an address that many prefixes differ in, and a few before and behind them. */
interface Window {
  readonly family: Family
  /** How many bits stand before them. */
  readonly skip: number
}

const WIDTH = 9
const bits = ({ family }: Window) => Address.bitsOf(family)

/**
 * The prefix with `slot` in the nine bits. Before them stand ones and zeros by turns, `outside`
 * changes some of these.
 */
function at(window: Window, slot: number, behind: number, outside: number, length: number): Prefix {
  const { family, skip } = window
  const rest = BigInt(bits(window) - skip - WIDTH)
  const before =
    (BigInt(`0x${'a6'.repeat(16)}`) >> BigInt(128 - skip)) ^ (BigInt(outside) & ((1n << BigInt(skip)) - 1n))
  // the bits right behind the nine, and the last ones
  const after = rest === 0n ? 0n : (BigInt(behind & 1) << (rest - 1n)) | (BigInt(behind) & ((1n << rest) - 1n))
  const value = (((before << BigInt(WIDTH)) | BigInt(slot)) << rest) | after
  return Prefix.of(Address.fromBigInt(family, value), length)
}

/** Few slots and many lengths, so that prefixes meet: with their host bits set, mostly. */
function prefixIn(window: Window): fc.Arbitrary<Prefix> {
  const { skip } = window
  const max = bits(window)
  const near = fc.integer({ min: Math.max(0, skip - 2), max: Math.min(max, skip + WIDTH + 3) })
  const special = fc.constantFrom(0, 1, max - 1, max, ...[15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128])
  const length = fc.oneof({ arbitrary: near, weight: 4 }, special).map((length) => Math.min(length, max))
  const slot = fc.oneof(fc.constantFrom(0, 1, 2, 3, 255, 256, 384, 510, 511), fc.nat(511))
  const outside = fc.oneof({ arbitrary: fc.constant(0), weight: 8 }, fc.constantFrom(1, 2, 3))
  return fc
    .tuple(slot, fc.constantFrom(0, 0, 1, 2, 3), outside, length)
    .map(([slot, behind, outside, length]) => at(window, slot, behind, outside, length))
}

/**
 * Every slot, as prefixes that end in the nine bits, with them or behind them: enough for a
 * directory.
 */
function crowd(window: Window): Prefix[] {
  const lengths = [WIDTH, WIDTH, WIDTH + 1, WIDTH - 1, WIDTH + 3, WIDTH, 4].map((length) => length + window.skip)
  return Array.from({ length: 512 }, (_, slot) =>
    at(window, slot, slot % 3, 0, Math.min(bits(window), lengths[slot % lengths.length]!)),
  )
}

/** Steps of one prefix each; those of `known` are taken out more often than chance has it. */
function stepIn(window: Window, known: readonly Prefix[]): fc.Arbitrary<Step> {
  const prefix = prefixIn(window)
  const set = fc.record({ do: fc.constant('set'), prefix, value: fc.option(fc.nat(9), { nil: undefined }) })
  const take = fc.record({ do: fc.constant('delete'), prefix })
  const takeKnown = fc.record({ do: fc.constant('delete'), prefix: fc.constantFrom(...known) })
  const ask = fc.record({ do: fc.constant('ask'), prefix })
  return fc.oneof(
    { arbitrary: set, weight: 60 },
    { arbitrary: take, weight: 30 },
    { arbitrary: takeKnown, weight: 20 },
    { arbitrary: ask, weight: 20 },
    { arbitrary: fc.constant({ do: 'clear' }), weight: 1 },
  ) as fc.Arbitrary<Step>
}

/** Steps that come and go with hundreds of prefixes, so that the directory does too. */
function crowdStepIn(crowd: readonly Prefix[]): fc.Arbitrary<Step> {
  const part = fc.tuple(fc.nat(511), fc.nat(511)).map(([a, b]) => crowd.slice(Math.min(a, b), Math.max(a, b)))
  return fc.record({ do: fc.constantFrom('fill', 'drain'), prefixes: part })
}

const windows: Window[] = [
  { family: 4, skip: 0 },
  { family: 4, skip: 7 },
  { family: 4, skip: 8 },
  { family: 4, skip: 23 },
  { family: 6, skip: 0 },
  // as many slots as the nine bits have: these end with a word, one bit behind it, and further
  // behind
  { family: 6, skip: 23 },
  { family: 6, skip: 24 },
  { family: 6, skip: 27 },
  { family: 6, skip: 56 },
  { family: 6, skip: 61 },
  { family: 6, skip: 88 },
  { family: 6, skip: 92 },
  { family: 6, skip: 119 },
]

function run(steps: readonly Step[], probes: readonly Prefix[]): void {
  const map = new PrefixMap<number | undefined>()
  const model = new Model()
  for (const step of steps) {
    take(step, map, model)
    if ('prefix' in step) expectSame(map, model, step.prefix)
  }
  for (const probe of probes) expectSame(map, model, probe)
  expectSameList(map, model)
}

describe.each(windows)('beside a plain list of entries, IPv$family around bit $skip', (window) => {
  const crowded = crowd(window)
  const step = stepIn(window, crowded)
  const probes = fc.array(prefixIn(window), { maxLength: 8 })

  property([fc.array(step, { maxLength: 60, size: 'max' }), probes], 0.5)('few prefixes', run)

  const fill = fc.constant<Step>({ do: 'fill', prefixes: crowded })
  const steps = fc.array(fc.oneof({ arbitrary: step, weight: 12 }, crowdStepIn(crowded)), {
    maxLength: 40,
    size: 'max',
  })
  property([fill, steps, probes], 0.2)('hundreds, with a directory', (fill, steps, probes) => {
    run([fill, ...steps], probes)
  })

  property([fc.boolean(), fc.array(step, { maxLength: 30, size: 'max' }), fc.infiniteStream(step)], 0.1)(
    'an iteration over a map that changes continues after its last prefix',
    (isLarge, before, between) => {
      const map = new PrefixMap<number | undefined>()
      const model = new Model()
      if (isLarge) take({ do: 'fill', prefixes: crowded.slice(0, 300) }, map, model)
      for (const step of before) take(step, map, model)
      let last: Prefix | undefined
      let left = 40
      for (const [prefix, value] of map) {
        const behind = model.all().filter((entry) => last === undefined || Prefix.compare(last, entry.prefix) < 0)
        expect({ prefix, value }).toEqual(behind[0])
        last = prefix
        if (left-- <= 0) continue
        const step = between.next().value
        take(step.do === 'ask' ? { do: 'delete', prefix } : step, map, model)
      }
      expect(model.all().every((entry) => last !== undefined && Prefix.compare(entry.prefix, last) <= 0)).toBe(true)
    },
  )
})

property([
  fc.array(fc.tuple(prefix(), fc.nat()), { maxLength: 60, size: 'max' }),
  fc.array(prefix(), { maxLength: 10 }),
])('any prefixes of both families', (entries, probes) => {
  const map = new PrefixMap<number | undefined>(entries)
  const model = new Model()
  for (const [prefix, value] of entries) model.set(prefix, value)
  for (const probe of [...probes, ...entries.map(([prefix]) => prefix)]) expectSame(map, model, probe)
  expectSameList(map, model)
})
