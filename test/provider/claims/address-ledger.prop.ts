import fc from 'fast-check'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { AddressLedger } from 'ipam-kit/provider/claims'
import { expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import { pool } from './world.js'

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
const POOLS = ['lab', 'other'].map((name) => InfobloxPool.parse(pool(undefined, name)))
const HOLDERS = ['default', 'east'].flatMap((namespace) => ['a', 'b', 'c'].map((name) => ({ namespace, name })))

const holder = fc.constantFrom(...HOLDERS)
const text = fc.constantFrom(...MEANINGS.keys())
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('observe' as const), holder, text }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('forget' as const), holder }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('reserve' as const), holder, text }) },
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
  /** Each is one that is about to be written, whoever else holds the same. */
  reserved: Hold[] = []
  pool: InfobloxPool | undefined
  problems: readonly string[] = []

  get size(): number {
    return this.objects.length + this.reserved.length
  }

  forget(holder: string): void {
    this.objects = this.objects.filter((hold) => hold.holder !== holder)
  }

  holdersOf(text: string): string[] {
    const meaning = MEANINGS.get(text)
    if (meaning === undefined) return []
    const same = [...this.objects, ...this.reserved].filter((hold) => MEANINGS.get(hold.text) === meaning)
    return [...new Set(same.map((hold) => hold.holder))].sort()
  }
}

function object({ namespace, name }: Holder, address: string): IPAddress {
  const { apiVersion, kind } = IPAddress.info
  const poolRef = { apiGroup: 'ipam.example.com', kind: 'InfobloxPool', name: 'lab' }
  const spec = { claimRef: { name }, poolRef, address, prefix: 30 }
  return IPAddress.parse({ apiVersion, kind, metadata: { namespace, name }, spec })
}

function expectSame(ledger: AddressLedger<InfobloxPool>, model: Model): void {
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
      const ledger = new AddressLedger<InfobloxPool>()
      const ends: { readonly hold: Hold; readonly end: () => boolean }[] = []
      expectSame(ledger, model)
      for (const it of steps) {
        switch (it.do) {
          case 'observe':
            model.forget(keyOf(it.holder))
            model.objects.push({ holder: keyOf(it.holder), text: it.text })
            ledger.observe(object(it.holder, it.text))
            break
          case 'forget':
            model.forget(keyOf(it.holder))
            ledger.forget(it.holder)
            break
          case 'reserve': {
            const hold = { holder: keyOf(it.holder), text: it.text }
            model.reserved.push(hold)
            ends.push({ hold, end: ledger.reserve(object(it.holder, it.text)) })
            break
          }
          case 'end': {
            // it may be one that is over: that means nothing then
            const ending = ends[it.which % Math.max(1, ends.length)]
            if (ending === undefined) break
            const wasReserved = model.reserved.includes(ending.hold)
            model.reserved = model.reserved.filter((hold) => hold !== ending.hold)
            const makesRoom = wasReserved && model.holdersOf(ending.hold.text).length === 0
            expect(ending.end()).toBe(makesRoom)
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
