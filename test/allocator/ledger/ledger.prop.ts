import fc from 'fast-check'
import { Ledger, type LedgerEntry } from 'ipam-kit/allocator'
import { Address, type Family, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import type { HoldReason, LedgerQuery, LedgerSpec } from '../../../src/allocator/ledger/entry.js'
import { property } from '../../cidr/property.js'
import { ModelLedger } from './model-ledger.js'

/** Windows of 32 addresses; the last one ends with its family. */
const WINDOWS: readonly Address[] = [
  '10.0.0.224',
  '255.255.255.224',
  'fd00::ffe0',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffe0',
].map((text) => Address.parse(text))
const REASONS: readonly HoldReason[] = ['held', 'pending', 'kept', 'cooldown', 'former', 'foreign']
const KEYS = ['a', 'b', 'c']

const offset = fc.nat(31)
const ranges = fc.array(fc.tuple(offset, offset), { maxLength: 4 })
/** How many addresses a unit has, as a power of two; `undefined`: one. */
const unit = fc.constantFrom(undefined, 0, 1, 2, 3)
/** How many addresses an extent has, as a power of two: it may be more than a window. */
const extent = fc.record({
  window: fc.nat(1),
  at: offset,
  size: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 1, 2) },
    { weight: 1, arbitrary: fc.constantFrom(3, 4, 6, 20) },
  ),
})
const id = fc.constantFrom('u', 'v', 'w', 'x', 'y', 'z')
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      id,
      extent,
      reason: fc.constantFrom(...REASONS, 'held', 'former'),
      key: fc.constantFrom(...KEYS),
      untilMs: fc.option(fc.nat(9), { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('space' as const), first: ranges, second: ranges, unit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), nowMs: fc.nat(9) }) },
)
const query = fc.record({
  from: fc.option(extent, { nil: undefined }),
  order: fc.constantFrom(undefined, 'lowest' as const, 'around' as const),
  within: fc.option(fc.tuple(ranges, ranges), { nil: undefined }),
  for: fc.option(fc.constantFrom(...KEYS), { nil: undefined }),
  family: fc.constantFrom(undefined, 4 as const, 6 as const),
  drawn: fc.double({ min: 0, max: 0.999, noNaN: true }),
  wider: unit,
})

type Pairs = readonly (readonly [number, number])[]
type ExtentInput = { readonly window: number; readonly at: number; readonly size: number }

/** Some ranges of a window. */
function setIn(base: Address, pairs: Pairs): RangeSet {
  const at = (by: number) => Address.add(base, BigInt(by)) as Address
  return RangeSet.fromRanges(pairs.map(([a, b]) => ({ first: at(Math.min(a, b)), last: at(Math.max(a, b)) })))
}

describe.each([
  ['IPv4', [0, 1]],
  ['IPv6', [2, 3]],
  ['both families', [0, 3]],
] as const)('a ledger of %s', (_, windows) => {
  const bases = windows.map((index) => WINDOWS[index]!)
  const families = new Set(bases.map(({ family }) => family))
  const prefixOf = ({ window, at, size }: ExtentInput) => {
    const address = Address.add(bases[window]!, BigInt(at)) as Address
    return Prefix.of(address, Address.bitsOf(address.family) - size)
  }
  const specOf = (first: Pairs, second: Pairs, size: number | undefined): LedgerSpec => {
    const space = RangeSet.union(setIn(bases[0]!, first), setIn(bases[1]!, second))
    // a length is that of one family
    const length =
      size === undefined || families.size > 1 ? undefined : Address.bitsOf(bases[0]!.family as Family) - size
    return { space, length }
  }

  property([ranges, ranges, unit, fc.array(step, { maxLength: 25 }), query], 8)(
    'answers what a map and a loop do',
    (first, second, size, steps, { from, within, drawn, wider, ...rest }) => {
      let spec = specOf(first, second, size)
      const told = new Set<LedgerEntry>()
      const onConflict = (entry: LedgerEntry) => void (told.delete(entry) || told.add(entry))
      const [ledger, model] = [new Ledger(spec, { onConflict }), new ModelLedger(spec)]
      const bits = Address.bitsOf(bases[0]!.family)
      const asked = (): LedgerQuery => ({
        ...rest,
        from: from && prefixOf(from).address,
        within: within && RangeSet.union(setIn(bases[0]!, within[0]), setIn(bases[1]!, within[1])),
        length: wider === undefined ? undefined : Math.min(bits - wider, spec.length ?? bits),
      })
      for (const [i, it] of steps.entries()) {
        switch (it.do) {
          case 'set': {
            const entry = {
              prefix: prefixOf(it.extent),
              reason: it.reason,
              untilMs: it.untilMs,
              holder: { key: it.key },
            }
            ledger.set(it.id, entry)
            model.set(it.id, entry)
            break
          }
          case 'delete':
            expect(ledger.delete(it.id)).toBe(model.entries.delete(it.id))
            break
          case 'space': {
            spec = specOf(it.first, it.second, it.unit)
            ledger.setSpace(spec)
            model.setSpace(spec)
            break
          }
          case 'expire': {
            const due = [...model.entries].filter(
              ([, { reason, untilMs }]) => reason === 'cooldown' && untilMs !== undefined && untilMs <= it.nowMs,
            )
            for (const [id] of due) model.entries.delete(id)
            expect(texts(ledger.expire(it.nowMs))).toEqual(texts(due.map(([, entry]) => entry)))
            break
          }
        }
        const recorded = new Set(ledger.entries())
        expect(texts([...told].filter((entry) => recorded.has(entry)))).toEqual(texts(model.conflicts()))
        // the answers to all questions take longer than the steps
        if (i % 8 === 7) expectSame(ledger, model, asked(), drawn)
      }
      expectSame(ledger, model, asked(), drawn)
    },
  )

  function expectSame(ledger: Ledger, model: ModelLedger, asked: LedgerQuery, drawn: number): void {
    expect(ledger.counts()).toEqual(model.counts())
    expect(texts(ledger.entries())).toEqual(texts(model.entries.values()))
    expect(texts(ledger.conflicts())).toEqual(texts(model.conflicts()))
    const untils = [...model.entries.values()].flatMap(({ reason, untilMs }) =>
      reason === 'cooldown' ? [untilMs ?? Number.NaN] : [],
    )
    const timed = untils.filter((untilMs) => !Number.isNaN(untilMs))
    expect(ledger.nextExpiryMs()).toBe(timed.length === 0 ? undefined : Math.min(...timed))
    for (const query of [{}, { for: asked.for }, asked]) {
      expect(shown(ledger.next(query))).toBe(shown(model.next(query)))
    }
    // what it asks for itself, and what is given last, is not drawn
    const { for: _key, ...others } = asked
    const open = model.open(others)
    const random = ledger.next({ ...others, random: () => drawn })
    if (open.length > 0) expect(open.map(shown)).toContain(shown(random))
    else expect(shown(random)).toBe(shown(model.next(others)))
    for (const input of PROBES) {
      const probe = prefixOf(input)
      expect(texts(ledger.holders(probe))).toEqual(texts(model.holders(probe)))
      expect(texts(ledger.overlapping(probe))).toEqual(texts(model.holders(probe)))
      expect(texts(ledger.blockers(probe, { for: asked.for }))).toEqual(texts(model.blockers(probe, asked.for)))
    }
  }
})

const PROBES: readonly ExtentInput[] = [
  { window: 0, at: 5, size: 0 },
  { window: 1, at: 16, size: 2 },
  { window: 1, at: 0, size: 5 },
  { window: 0, at: 0, size: 20 },
]

/** In no order: entries of one extent and one holder are alike. */
function texts(entries: Iterable<LedgerEntry>): string[] {
  return Array.from(entries, ({ prefix, reason, holder, untilMs }) =>
    [Prefix.format(prefix), holder.key, reason, untilMs].join(' '),
  ).sort()
}

function shown(prefix: Prefix | undefined): string | undefined {
  return prefix && Prefix.format(prefix)
}
