import fc from 'fast-check'
import { Address } from 'ipam-kit/cidr'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { defineProvider, protectPool } from 'ipam-kit/provider/claims'
import { PoolLedger } from 'ipam-kit/provider/in-cluster'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { stored } from '../stored.js'
import { claim, pool, poolOf } from './world.js'

// 16 places: addresses of a /28, or the /28 children of a /24. What a pool gives of them changes.
const PLACES = 16
const CLAIMS = ['default/a', 'default/b', 'default/c']

interface Form {
  readonly text: (place: number) => string
  readonly length: number
  readonly poolOf: (first: number, count: number) => InClusterPool
}

const forms: { readonly [name: string]: Form } = {
  addresses: {
    text: (place) => `10.0.0.${place}`,
    length: 24,
    poolOf: (first, count) =>
      pool([`10.0.0.${first}-10.0.0.${first + count - 1}`], { allocateReservedIPAddresses: true }),
  },
  prefixes: {
    text: (place) => `10.0.0.${place * 16}`,
    length: 28,
    poolOf: (first, count) =>
      poolOf('InClusterPrefixPool', {
        prefixes: Array.from({ length: count }, (_, i) => `10.0.0.${(first + i) * 16}/28`),
        allocationPrefixLength: 28,
      }) as InClusterPool,
  },
}

// often one of two, so that several holders meet there
const place = fc.oneof(fc.nat(PLACES - 1), fc.constantFrom(5, 7))
const name = fc.constantFrom('u', 'v', 'w', 'x', 'y')
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('observe' as const), name, place }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('forget' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('begin' as const), name, place }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('avoid' as const), name, place: fc.option(place) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('foreign' as const), name, place: fc.option(place) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('keep' as const),
      kept: fc.uniqueArray(place, { maxLength: 3 }).map((places) => new Map(places.map((at, i) => [CLAIMS[i]!, at]))),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pool' as const), first: fc.nat(8), count: fc.integer({ min: 1, max: 8 }) }),
  },
)

/** What a running plan is about to write. */
interface Written {
  readonly name: string
  readonly place: number
}

/** A ledger that is obviously right: lists, and a loop over all places. */
class Model {
  first = 0
  count = 8
  readonly objects = new Map<string, number>()
  readonly running = new Map<number, Written>()
  readonly avoided = new Map<string, number>()
  /** What objects hold of another pool, which has all places. */
  readonly foreign = new Map<string, number>()
  kept: ReadonlyMap<string, number> = new Map()

  isOfPool(at: number): boolean {
    return at >= this.first && at < this.first + this.count
  }

  isForeign(at: number | undefined): boolean {
    return at !== undefined && this.isOfPool(at) && [...this.foreign.values()].includes(at)
  }

  pending(): readonly number[] {
    return [...this.running.values()].map(({ place }) => place)
  }

  /** How many plans are about to write what their objects do not hold yet. */
  unwritten(): number {
    return [...this.running.values()].filter(({ name, place }) => this.objects.get(name) !== place).length
  }

  isHeld(at: number, { claim = '', counting = false } = {}): boolean {
    const isIn = (holders: Iterable<number>) => [...holders].includes(at)
    const isKept = [...this.kept].some(([owner, kept]) => kept === at && owner !== claim)
    const isPending = !counting && isIn(this.pending())
    return isIn(this.objects.values()) || isPending || this.isForeign(at) || isKept
  }

  free(options = {}): number[] {
    const all = Array.from({ length: PLACES }, (_, at) => at)
    return all.filter((at) => this.isOfPool(at) && !this.isHeld(at, options))
  }

  next(): number | undefined {
    const free = this.free()
    const avoided = [...this.avoided.values()]
    return free.find((at) => !avoided.includes(at)) ?? avoided.find((at) => free.includes(at))
  }

  duplicates(): string[] {
    const places = [...new Set(this.objects.values())]
    return places
      .map((at) =>
        [...this.objects]
          .filter(([, held]) => held === at)
          .map(([key]) => key)
          .sort(),
      )
      .filter((holders) => holders.length > 1)
      .map((holders) => holders.join())
      .sort()
  }
}

let version = 7
const OTHER = 'other'

function objectAt(key: string, text: string, length: number, kind: string, poolName = 'pool'): IPAddress {
  return IPAddress.parse({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name: key, namespace: 'default', uid: `uid-${key}`, resourceVersion: `${++version}` },
    spec: {
      claimRef: { name: key },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind, name: poolName },
      address: text,
      prefix: length,
    },
  })
}

/** A planner with this ledger that gives nothing, two pools, and a claim that waits. */
function started(made: InClusterPool, other: InClusterPool) {
  const planner = defineProvider({
    name: 'sample',
    pools: poolModels,
    overlaps: 'avoid',
    ledger: (holdings) => new PoolLedger(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: () => ({ kind: 'wait', reason: 'PoolExhausted', message: 'no free address' }),
    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })
  const show = (object: KubeObject) =>
    planner.observe({ kind: 'present', object: stored(object, { resourceVersion: `${++version}` }) })
  const { metadata } = other
  for (const object of [made, { ...other, metadata: { ...metadata, name: OTHER } }]) show(object)
  show(claim('waiting', { poolRef: { kind: made.kind } }))
  planner.plan('IPAddressClaim default/waiting', { nowMs: 0 })
  return { planner, show, ledger: planner.ledgerOf(refOf(made)) }
}

describe.each(Object.entries(forms))('the ledger of a pool of %s', (_, form) => {
  const { text, length } = form

  test('offers, counts and answers what a plain list does', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (steps, drawn) => {
        const model = new Model()
        const made = form.poolOf(model.first, model.count)
        const { planner, show, ledger } = started(made, form.poolOf(0, PLACES))
        const ends: { readonly id: number; readonly end: () => readonly string[] }[] = []
        const objectOf = (name: string, at: number, poolName?: string) =>
          objectAt(name, text(at), length, made.kind, poolName)
        const forget = (name: string) =>
          planner.observe({ kind: 'absent', ref: { ...IPAddress.info, namespace: 'default', name } })
        for (const [id, it] of steps.entries()) {
          switch (it.do) {
            case 'observe':
              model.objects.set(it.name, it.place)
              show(objectOf(it.name, it.place))
              break
            case 'forget':
              model.objects.delete(it.name)
              forget(it.name)
              break
            case 'begin': {
              model.running.set(id, it)
              const effects = [{ kind: 'create', object: objectOf(it.name, it.place), why: 'it is free' }] as const
              ends.push({ id, end: planner.begin!({ outcome: { kind: 'bound', message: '' }, effects }) })
              break
            }
            case 'end': {
              const [ended] = ends.splice(it.which % Math.max(1, ends.length), 1)
              if (ended === undefined) break
              const { name, place: at } = model.running.get(ended.id)!
              const isWritten = model.objects.get(name) === at
              model.running.delete(ended.id)
              const isInUse = [...model.objects.values(), ...model.pending()].includes(at) || model.isForeign(at)
              expect(ended.end().includes('IPAddressClaim default/waiting')).toBe(!isWritten && !isInUse)
              expect(ended.end()).toEqual([])
              break
            }
            case 'avoid':
              model.avoided.delete(it.name)
              if (it.place !== null) model.avoided.set(it.name, it.place)
              ledger.avoid(it.name, it.place === null ? undefined : { address: text(it.place), prefix: length })
              break
            case 'foreign': {
              const [before, now] = [model.foreign.get(it.name), it.place ?? undefined]
              model.foreign.delete(it.name)
              if (now !== undefined) model.foreign.set(it.name, now)
              const wakes = now === undefined ? forget(`${it.name}-x`) : show(objectOf(`${it.name}-x`, now, OTHER))
              const isMoved = before !== now && [before, now].some((at) => at !== undefined && model.isOfPool(at))
              expect(wakes.includes(`${made.kind} default/pool`)).toBe(isMoved)
              break
            }
            case 'keep':
              model.kept = it.kept
              ledger.keep(new Map([...it.kept].map(([claim, at]) => [claim, text(at)])))
              break
            case 'pool':
              if (model.first === it.first && model.count === it.count) break
              model.first = it.first
              model.count = it.count
              show(form.poolOf(it.first, it.count))
              // what is kept is looked up with each spec
              model.kept = new Map()
              break
          }
          expectSame(ledger, model, drawn)
        }
      }),
      { numRuns: runs(4) },
    )
  })

  function expectSame(ledger: PoolLedger, model: Model, drawn: number): void {
    const next = model.next()
    expect(ledger.next() && Address.format(ledger.next()!.address)).toBe(next === undefined ? undefined : text(next))
    const free = model.free({ counting: true }).length
    expect(ledger.counts()).toMatchObject({ total: model.count, free, used: model.objects.size })
    expect(
      ledger
        .duplicates()
        .map(({ holders }) => holders.map((holder) => holder.replace('default/', '')).join())
        .sort(),
    ).toEqual(model.duplicates())
    const outside = [...model.objects.values()].filter((at) => !model.isOfPool(at))
    const outOfRange = length === 24 ? new Set(outside).size : outside.length
    expect(ledger.counts()?.outOfRange).toBe(outOfRange)
    const open = model.free()
    const random = ledger.next({ random: () => drawn })
    const isAnyFree = open.length > 0
    expect(random !== undefined).toBe(isAnyFree)
    if (random !== undefined) expect(open.map(text)).toContain(Address.format(random.address))
    for (const claim of CLAIMS.slice(0, 2)) {
      for (const at of [0, 5, 9]) {
        const { kind } = ledger.answerTo(text(at), claim)
        const expected = !model.isOfPool(at) ? 'notOfPool' : model.isHeld(at, { claim }) ? 'taken' : 'free'
        expect([at, kind]).toEqual([at, expected])
      }
    }
    const reasons = ledger.holdings.ledger.entries().map(({ reason }) => reason)
    expect(reasons.filter((reason) => reason === 'held').length).toBe(model.objects.size)
    const ofOthers = [...model.foreign.values()].filter((at) => model.isOfPool(at))
    expect(reasons.filter((reason) => reason === 'foreign').length).toBe(ofOthers.length)
    expect(ledger.size).toBe(model.objects.size + model.unwritten())
  }
})

describe('drawing', () => {
  /** A generator that everybody has: mulberry32. */
  function generator(seed: number): () => number {
    let state = seed
    return () => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    }
  }

  test.each([
    ['much is free', 2],
    ['little is free', 60],
  ])('gives each free one as often as any other where %s', (_, taken) => {
    const objects = Array.from({ length: taken }, (_, i) =>
      objectAt(`o${i}`, `10.0.0.${i * (taken === 2 ? 7 : 1)}`, 24, 'InClusterIPPool'),
    )
    const ledger = PoolLedger.build(pool(['10.0.0.0/26'], { allocateReservedIPAddresses: true }), objects)
    const random = generator(4)
    const seen = new Map<string, number>()
    const draws = 400 * (64 - taken)
    for (let i = 0; i < draws; i++) {
      const text = Address.format(ledger.next({ random })!.address)
      seen.set(text, (seen.get(text) ?? 0) + 1)
    }
    expect(seen.size).toBe(64 - taken)
    for (const { spec } of objects) expect(seen.has(spec.address)).toBe(false)
    // chi-squared: far above what any of 62 degrees of freedom comes to by chance
    const chi = [...seen.values()].reduce((sum, count) => sum + (count - 400) ** 2 / 400, 0)
    expect(chi).toBeLessThan(130)
  })

  test('reaches all of a space that is larger than numbers are exact', () => {
    const ledger = PoolLedger.build(
      poolOf('InClusterIPPool', { addresses: ['fd00::/64'], prefix: 64 }) as InClusterPool,
      [],
    )
    const random = generator(9)
    const low = new Set(
      Array.from({ length: 64 }, () => Number(Address.toBigInt(ledger.next({ random })!.address) & 15n)),
    )
    expect(low.size).toBeGreaterThan(12)
  })

  test.each([1, -0.1, Number.NaN, 7])('refuses %s for a draw', (drawn) => {
    const ledger = PoolLedger.build(pool(['10.0.0.5']), [])
    expect(() => ledger.next({ random: () => drawn })).toThrow('random')
  })

  test('of what only one way remains for gives that, whatever is drawn', () => {
    const ledger = PoolLedger.build(pool(['10.0.0.4-10.0.0.5']), [objectAt('o', '10.0.0.4', 24, 'InClusterIPPool')])
    expect(ledger.next({ random: () => 0 })?.address).toEqual({ family: 4, value: 0x0a000005 })
  })
})
