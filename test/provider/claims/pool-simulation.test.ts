import type { Json, KubeObject } from 'ipam-kit/crd/meta'
import { isDeleting } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'
import { AddressLedger, defineProvider, type PoolPlan, protectPool } from 'ipam-kit/provider/claims'
import type { ExternalCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { ALL_FAULTS, type Dice, EXTERNAL_FAULTS, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import type { Fault } from '../../../src/testing/simulation/faulty-store.js'
import { share } from '../../setup/depth.js'
import { kinds, pool, poolRef } from './world.js'

// Pools that have addresses of their own in an external system: made when the pool is, and deleted
// before it goes.
const IDS = ['0', '1', '2']
const POOLS = ['lab', 'other']
type Outcome = { readonly kind: string; readonly message: string }

/** @param leaves whether a pool goes without what it has in the external system */
function buffered({ leaves = false } = {}) {
  return defineProvider({
    name: 'buffered',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
    resolve: () => ({ kind: 'notReady', message: 'not in this test' }),
    ensure: () => ({ kind: 'wait', reason: 'PoolNotReady', message: 'not in this test' }),
    planPool({ pool: object, ledger, claims, calls }): PoolPlan<Outcome> {
      const plan = protectPool({ pool: object, addresses: ledger.size, claims })
      const operation = isDeleting(object) ? 'delete' : 'create'
      if (operation === 'delete' && leaves) return plan
      const left = IDS.filter((id) => calls.of(operation, id)?.value === undefined)
      // one that fails does not hold up the others
      const id = left.find((each) => calls.of(operation, each)?.failure === undefined) ?? left[0]
      const why = 'the pool has addresses of its own'
      if (id === undefined) {
        if (operation === 'delete') return plan
        return { ...plan, call: { operation: 'list', input: {}, maxAgeSeconds: 30, why } }
      }
      const effects = operation === 'delete' ? [] : plan.effects
      return { outcome: { kind: operation, message: id }, effects, call: { operation, id, input: {}, why } }
    },
  })
}

/** What the external system keeps, by marker, and who calls it. */
class External {
  readonly records = new Map<string, number>()
  made = 0
  readonly #keepsMarkers: boolean

  constructor(keepsMarkers: boolean) {
    this.#keepsMarkers = keepsMarkers
  }

  readonly call: ExternalCaller = async ({ operation, key }) => {
    const value = (json: Json) => ({ ok: true, value: json }) as const
    if (operation === 'list') return value([...this.records.keys()].filter((marker) => marker.startsWith(`${key}/`)))
    if (operation === 'delete') return value(this.records.delete(key))
    const marker = this.#keepsMarkers ? key : `${key}/${this.made}`
    if (!this.records.has(marker)) this.records.set(marker, this.made++)
    return value(this.records.get(marker) ?? 0)
  }
}

function system(external: External, planner = () => buffered()): SimulatedSystem {
  return {
    kinds,
    planner,
    external: external.call,
    externalReads: ['list'],
    prepare: async () => {},
    act: async (store: Store, dice: Dice) => {
      const name = dice.pick(POOLS)
      if (dice.chance(0.6)) await store.create(pool(undefined, name))
      else await store.delete(poolRef(name))
    },
    rules: () => {
      const living = new Map<string, KubeObject>()
      return {
        observe: (change: Change) => {
          const uid = (change.kind === 'present' ? change.object.metadata.uid : change.uid) as string
          if (change.kind === 'present') living.set(uid, change.object)
          else living.delete(uid)
          return undefined
        },
        atRest: async () => {
          const lost = [...external.records.keys()].filter((marker) => !living.has(marker.split('/')[0] as string))
          if (lost.length > 0) return `nobody has ${lost.join(', ')}`
          const has = external.records.size
          const wants = living.size * IDS.length
          return has === wants ? undefined : `${living.size} pools have ${has} addresses, and not ${wants}`
        },
      }
    },
  }
}

async function failing(seeds: number, faults: readonly Fault[], of: () => SimulatedSystem) {
  const found = new Map<number, readonly string[]>()
  const schedules: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const { problems, schedule } = await simulate({ system: of(), seed, actions: 20, faults, faultProbability: 0.25 })
    if (problems.length > 0) found.set(seed, problems)
    schedules.push(...schedule)
  }
  return { found, schedule: schedules.join('\n') }
}

describe('pools with addresses of their own in an external system', () => {
  const all = [...ALL_FAULTS, ...EXTERNAL_FAULTS]

  test.each<[string, readonly Fault[]]>([
    ['that is slow, repeats calls, or does not answer', EXTERNAL_FAULTS],
    ['with everything else that goes wrong', all],
  ])('%s: none is made twice, and none is left', async (_, faults) => {
    const { found, schedule } = await failing(share(100, 4), faults, () => system(new External(true)))
    expect(found).toEqual(new Map())
    for (const fault of EXTERNAL_FAULTS) expect(schedule).toContain(`  ${fault}`)
  })

  test('that keeps no markers has some twice', async () => {
    const { found } = await failing(share(40), EXTERNAL_FAULTS, () => system(new External(false)))
    expect(found.size).toBeGreaterThan(0)
  })

  test('that go without them leave them', async () => {
    const careless = () => system(new External(true), () => buffered({ leaves: true }))
    const { found } = await failing(share(20), [], careless)
    expect([...found.values()].flat().join('\n')).toMatch(/nobody has/)
  })
})
