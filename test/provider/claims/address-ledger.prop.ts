import fc from 'fast-check'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { GlobalInClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { AddressLedger, defineProvider, protectPool } from 'ipam-kit/provider/claims'
import { expect, test } from 'vitest'

/**
 * Texts of few addresses, and what each of them means: `undefined` is none, and collides with
 * nothing.
 */
const MEANINGS: ReadonlyMap<string, string | undefined> = new Map([
  ['10.0.0.1', 'one'],
  ['10.0.0.2', 'two'],
  ['fd00::1', 'three'],
  ['FD00:0::1', 'three'],
  ['fe80::1', 'four'],
  ['fe80::1%eth0', 'four'],
  ['10.0.0.300', undefined],
  ['', undefined],
])
// the claims of all namespaces share the pools
const POOLS = ['lab', 'other'].map((name) =>
  GlobalInClusterIPPool.parse({
    ...GlobalInClusterIPPool.info,
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1' },
    spec: { addresses: ['10.0.0.1-10.0.0.2'], prefix: 24 },
  }),
)
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'GlobalInClusterIPPool', name: 'lab' }
const CLAIM: KubeObject = {
  ...IPAddressClaim.info,
  metadata: { namespace: 'default', name: 'waiting', uid: 'uid-waiting', resourceVersion: '1' },
  spec: { poolRef },
} as KubeObject
const WAITING = 'IPAddressClaim default/waiting'
const HOLDERS = ['default', 'east'].flatMap((namespace) => ['a', 'b', 'c'].map((name) => ({ namespace, name })))

const holder = fc.constantFrom(...HOLDERS)
const text = fc.constantFrom(...MEANINGS.keys())
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('observe' as const), holder, text }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('forget' as const), holder }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('begin' as const), holder, text }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('pool' as const),
      pool: fc.option(fc.constantFrom(...POOLS), { nil: undefined }),
      problems: fc.option(fc.array(fc.constantFrom('no network', 'no gateway'), { maxLength: 2 }), { nil: undefined }),
    }),
  },
)

type Holder = (typeof HOLDERS)[number]
interface Hold {
  readonly holder: string
  readonly text: string
}

const keyOf = ({ namespace, name }: Holder) => `${namespace}/${name}`

/** A ledger that is obviously right: two lists, gone through again for each question. */
class Model {
  objects: Hold[] = []
  /** Each is about to be written, whatever other holders the same address has. */
  reserved: Hold[] = []
  pool: GlobalInClusterIPPool | undefined
  problems: readonly string[] = []

  get size(): number {
    const isWritten = ({ holder, text }: Hold) =>
      this.objects.some((hold) => hold.holder === holder && MEANINGS.get(hold.text) === MEANINGS.get(text))
    return this.objects.length + this.reserved.filter((hold) => !isWritten(hold)).length
  }

  /** An object whose text is no address any more keeps the address that it had. */
  observe(hold: Hold): void {
    const before = this.objects.find(({ holder }) => holder === hold.holder)
    this.forget(hold.holder)
    const isAddress = MEANINGS.get(hold.text) !== undefined
    this.objects.push(isAddress || before === undefined ? hold : before)
  }

  forget(holder: string): void {
    this.objects = this.objects.filter((hold) => hold.holder !== holder)
  }

  /**
   * A text that is no address is not pending. What an object holds already is: the object may be
   * deleted before the plan ends, and the plan then writes it again.
   */
  isPending({ text }: Hold): boolean {
    return MEANINGS.get(text) !== undefined
  }

  holdersOf(text: string): string[] {
    const meaning = MEANINGS.get(text)
    if (meaning === undefined) return []
    const same = [...this.objects, ...this.reserved].filter((hold) => MEANINGS.get(hold.text) === meaning)
    return [...new Set(same.map((hold) => hold.holder))].sort()
  }
}

let version = 7

function object({ namespace, name }: Holder, address: string): IPAddress {
  const { apiVersion, kind } = IPAddress.info
  const metadata = { namespace, name, uid: `uid-${namespace}-${name}`, resourceVersion: `${++version}` }
  return IPAddress.parse({ apiVersion, kind, metadata, spec: { claimRef: { name }, poolRef, address, prefix: 30 } })
}

/** A provider that gives nothing, and a claim that waits until an address is free. */
function started() {
  const planner = defineProvider({
    name: 'sample',
    pools: [GlobalInClusterIPPool],
    ledger: (holdings) => new AddressLedger<GlobalInClusterIPPool>(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: () => ({ kind: 'wait', reason: 'PoolExhausted', message: 'no free address' }),
    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })
  for (const object of [POOLS[0]!, CLAIM]) planner.observe({ kind: 'present', object })
  planner.plan(WAITING, { nowMs: 0 })
  return planner
}

function expectSame(ledger: AddressLedger<GlobalInClusterIPPool>, model: Model): void {
  expect(ledger.size).toBe(model.size)
  expect(ledger.problems).toEqual(model.problems)
  expect(POOLS.map((pool) => ledger.serves(pool))).toEqual(POOLS.map((pool) => pool === model.pool))
  for (const holder of HOLDERS) {
    for (const text of MEANINGS.keys()) {
      const others = model.holdersOf(text).filter((other) => other !== keyOf(holder))
      expect(ledger.othersHolding(object(holder, text)), `others than ${keyOf(holder)} with ${text}`).toEqual(others)
    }
  }
}

test('the ledger of addresses answers what plain lists do, whatever comes, goes and is about to be written', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const model = new Model()
      const planner = started()
      const { holdings } = planner.ledgerOf(refOf(POOLS[0]!))
      // a view of its own: the pool of the planner stays as it is
      const ledger = new AddressLedger<GlobalInClusterIPPool>(holdings)
      const ends: { readonly hold: Hold; readonly end: () => readonly string[] }[] = []
      expectSame(ledger, model)
      for (const it of steps) {
        switch (it.do) {
          case 'observe':
            model.observe({ holder: keyOf(it.holder), text: it.text })
            planner.observe({ kind: 'present', object: object(it.holder, it.text) })
            break
          case 'forget':
            model.forget(keyOf(it.holder))
            planner.observe({ kind: 'absent', ref: { ...IPAddress.info, ...it.holder } })
            break
          case 'begin': {
            const hold = { holder: keyOf(it.holder), text: it.text }
            if (model.isPending(hold)) model.reserved.push(hold)
            const effects = [{ kind: 'create', object: object(it.holder, it.text), why: 'it is free' }] as const
            ends.push({ hold, end: planner.begin!({ outcome: { kind: 'bound', message: '' }, effects }) })
            break
          }
          case 'end': {
            // a plan that has ended before frees nothing
            const ending = ends[it.which % Math.max(1, ends.length)]
            if (ending === undefined) break
            const wasReserved = model.reserved.includes(ending.hold)
            model.reserved = model.reserved.filter((hold) => hold !== ending.hold)
            const isFreed = wasReserved && model.holdersOf(ending.hold.text).length === 0
            expect(ending.end().includes(WAITING)).toBe(isFreed)
            break
          }
          case 'pool':
            model.pool = it.pool
            model.problems = it.problems ?? []
            ledger.setPool(it.pool, it.problems)
            break
        }
        expectSame(ledger, model)
      }
    }),
  )
})
