import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change, Effect, ExternalCall, Planner, PlanTime } from 'ipam-kit/plan'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import {
  ALL_FAULTS,
  type Dice,
  EXTERNAL_FAULTS,
  SimulatedCrash,
  type SimulatedSystem,
  simulate,
} from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { poolCallerOf } from '../../docs/examples/external-provider/caller.js'
import { FakeIpam } from '../../docs/examples/external-provider/fake-ipam.js'
import { floating } from '../../docs/examples/external-provider/floating.js'
import { FloatingPool } from '../../docs/examples/external-provider/pool.js'
import { dyingAt, kinds as otherKinds } from '../provider/claims/world.js'
import { cuts, share } from '../setup/depth.js'

const NETWORK = '10.20.0.0/28'
const BY_HAND = ['10.20.0.9', '10.20.0.10']
const kinds = [...otherKinds, FloatingPool.info]

const refTo = ({ apiVersion, kind }: { apiVersion: string; kind: string }, name: string) => {
  return { apiVersion, kind, namespace: 'default', name }
}
const poolRef = (name = 'lab') => refTo(FloatingPool.info, name)
const claimRef = (name: string) => refTo(IPAddressClaim.info, name)
const object = ({ apiVersion, kind, ...metadata }: ReturnType<typeof refTo>, spec: object): KubeObject => {
  return { apiVersion, kind, metadata, spec }
}
const pool = (spec: object = {}, name = 'lab') =>
  object(poolRef(name), { network: NETWORK, prefix: 28, existing: BY_HAND, create: 1, ...spec })
const claim = (name: string, of = 'lab') =>
  object(claimRef(name), { poolRef: { apiGroup: 'ipam.example.com', kind: 'FloatingPool', name: of } })

class World {
  nowMs = Date.UTC(2026, 0, 1)
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  readonly ipam = new FakeIpam()
  readonly external: ExternalCaller = poolCallerOf(this.ipam)

  constructor() {
    this.ipam.addNetwork(NETWORK)
    for (const address of BY_HAND) this.ipam.addByHand(NETWORK, address)
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const each of objects) {
      unwrap(await this.store.create(each))
      this.nowMs += 1000
    }
  }

  async run({ store = this.store, external = this.external, planner = floating() as Planner } = {}) {
    await runUntilQuiet(store, [planner], { now: () => this.nowMs, external })
  }

  /** What each claim has, and what the external system has for which pool. */
  async state() {
    const addresses = unwrap(await this.store.list(IPAddress.info)).items.map((it) => IPAddress.parse(it))
    const uid = (await this.store.get(poolRef())) as { value?: KubeObject }
    const isOurs = (marker: string) => marker !== '' && marker.startsWith(`${uid.value?.metadata.uid}/`)
    return {
      claims: addresses.map(({ metadata, spec }) => `${metadata.name} ${spec.address}`).sort(),
      records: this.ipam.records
        .map((it) => `${it.address}${isOurs(it.marker) ? ' ours' : it.marker && ' lost'}`)
        .sort(),
    }
  }
}

let world: World
beforeEach(() => {
  world = new World()
})

const BEFORE = { claims: [], records: ['10.20.0.10', '10.20.0.9'] }

describe('a pool with addresses of its own', () => {
  test('adopts those that are there, creates others, and gives them to claims', async () => {
    await world.create(pool(), claim('a'), claim('b'), claim('c'), claim('d'))
    await world.run()
    expect(await world.state()).toEqual({
      claims: ['a 10.20.0.9', 'b 10.20.0.10', 'c 10.20.0.1'],
      records: ['10.20.0.1 ours', '10.20.0.10 ours', '10.20.0.9 ours'],
    })
    const waiting = IPAddressClaim.parse(unwrap(await world.store.get(claimRef('d'))))
    expect(waiting.status?.conditions).toMatchObject([{ reason: 'PoolExhausted' }])
    await world.store.delete(claimRef('b'))
    await world.run()
    expect((await world.state()).claims).toContain('d 10.20.0.10')
  })

  test('uses an address again that has failed before', async () => {
    const missing = '10.20.0.7'
    await world.create(pool({ existing: [missing, '10.20.0.9'], create: 0 }), claim('a'), claim('b'))
    const planner = floating()
    await world.run({ planner })
    expect((await world.state()).claims).toEqual(['a 10.20.0.9'])
    world.ipam.addByHand(NETWORK, missing)
    world.nowMs += 60_000
    await world.run({ planner })
    expect((await world.state()).claims).toEqual(['a 10.20.0.9', 'b 10.20.0.7'])
  })

  test('gives no address that was removed by hand since', async () => {
    await world.create(pool({ create: 0 }))
    const planner = floating()
    await world.run({ planner })
    world.ipam.removeByHand(world.ipam.records.find(({ address }) => address === '10.20.0.9')?.marker ?? '')
    world.nowMs += 300_000
    await world.run({ planner })
    await world.create(claim('a'))
    await world.run({ planner })
    expect((await world.state()).claims).toEqual(['a 10.20.0.10'])
  })

  test('that goes leaves what it has not created, and nothing else', async () => {
    await world.create(pool({ create: 2 }), claim('a'))
    await world.run()
    await world.store.delete(poolRef())
    await world.run()
    expect((await world.state()).records).toHaveLength(4)
    await world.store.delete(claimRef('a'))
    await world.run()
    expect((await world.store.get(poolRef())).ok).toBe(false)
    expect(await world.state()).toEqual(BEFORE)
    expect(world.ipam.calls.filter((call) => call.startsWith('release'))).toHaveLength(2)
  })
})

const stages: readonly ((world: World) => Promise<unknown>)[] = [
  (it) => it.create(pool(), claim('a'), claim('b')),
  async (it) => {
    await it.store.delete(claimRef('a'))
    await it.store.patch(poolRef(), { spec: { create: 3 } })
  },
  async (it) => {
    await it.store.delete(claimRef('b'))
    await it.store.delete(poolRef())
  },
]

async function live(stage: number, at: number, point: 'before' | 'after', planner: () => Planner = floating) {
  const it = new World()
  const states: unknown[] = []
  let steps = 0
  for (const [index, act] of stages.entries()) {
    await act(it)
    const dying = dyingAt(it, index === stage ? at : Number.POSITIVE_INFINITY, point)
    try {
      await it.run({ ...dying, planner: planner() })
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error
    }
    if (index === stage) steps = dying.steps()
    await it.run({ planner: planner() })
    states.push(await it.state())
  }
  return { states, steps }
}

async function cutEverywhere(planner?: () => Planner): Promise<readonly string[]> {
  const found: string[] = []
  for (const stage of stages.keys()) {
    const whole = await live(stage, Number.POSITIVE_INFINITY, 'before', planner)
    expect(whole.steps).toBeGreaterThan(3)
    expect(whole.states.at(-1)).toEqual(BEFORE)
    for (const at of cuts(whole.steps)) {
      for (const point of ['before', 'after'] as const) {
        const cut = await live(stage, at, point, planner)
        const isSame = JSON.stringify(cut.states) === JSON.stringify(whole.states)
        if (!isSame) found.push(`stage ${stage + 1}, ${point} step ${at}: ${JSON.stringify(cut.states)}`)
      }
    }
  }
  return found
}

test('a process that dies at any write or call, and starts again, ends in the same state', async () => {
  expect(await cutEverywhere()).toEqual([])
})

/** @param translate what becomes of a call on its way */
function system(translate: (call: ExternalCall) => ExternalCall): SimulatedSystem {
  const { ipam, external } = new World()
  const pools = ['lab', 'other']
  const existing = { lab: [BY_HAND[0]], other: [BY_HAND[1]] }
  return {
    kinds,
    planner: floating,
    external: (call) => external(translate(call)),
    prepare: async () => {},
    act: async (store: Store, dice: Dice) => {
      const name = dice.pick(pools) as keyof typeof existing
      const each = `claim-${dice.below(4)}`
      const draw = dice.next()
      if (draw < 0.35) await store.create(pool({ existing: existing[name], create: 2 }, name))
      else if (draw < 0.5) await store.delete(poolRef(name))
      else if (draw < 0.8) await store.create(claim(each, name))
      else await store.delete(claimRef(each))
    },
    rules: () => {
      const has = new Map<string, string>()
      return {
        observe: (change: Change) => {
          const { kind } = change.kind === 'present' ? change.object : change.ref
          if (kind !== IPAddress.info.kind) return undefined
          const uid = `${change.kind === 'present' ? change.object.metadata.uid : change.uid}`
          if (change.kind === 'absent') has.delete(uid)
          else has.set(uid, IPAddress.parse(change.object).spec.address)
          const isTwice = new Set(has.values()).size < has.size
          if (isTwice) return `two claims have one of ${[...has.values()].join(', ')}`
          const missing = BY_HAND.find((address) => !ipam.records.some((record) => record.address === address))
          return missing && `${missing} was deleted, and was there before`
        },
        atRest: async (store: Store) => {
          const living = unwrap(await store.list(FloatingPool.info)).items
          // a claim that has our finalizer keeps its pool, also while it waits
          const claims = unwrap(await store.list(IPAddressClaim.info)).items.map((it) => IPAddressClaim.parse(it))
          const isKept = ({ metadata }: KubeObject) => claims.some(({ spec }) => spec.poolRef.name === metadata.name)
          if (living.some((it) => isDeleting(it) && !isKept(it))) return 'a pool is still being deleted'
          const uids = new Set(living.map(({ metadata }) => metadata.uid))
          const lost = ipam.records.filter(({ marker }) => marker !== '' && !uids.has(marker.split('/')[0]))
          if (lost.length > 0) return `no pool has ${lost.map(({ address }) => address).join(', ')}`
          const made = ipam.records.filter(({ address }) => !BY_HAND.includes(address)).length
          const serving = living.filter((it) => !isDeleting(it)).length
          const isRight = made >= serving * 2 && made <= living.length * 2
          return isRight ? undefined : `${living.length} pools, of which ${serving} serve claims, have created ${made}`
        },
      }
    },
  }
}

async function problemsOf(seeds: number, translate = (call: ExternalCall) => call): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const faults = [...ALL_FAULTS, ...EXTERNAL_FAULTS]
    const { problems } = await simulate({ system: system(translate), seed, actions: 25, faults, faultProbability: 0.2 })
    found.push(...problems.map((problem) => `seed ${seed}: ${problem}`))
  }
  return found
}

test('whatever goes wrong: no address twice, none lost, and none deleted that was there before', async () => {
  expect(await problemsOf(share(60))).toEqual([])
})

describe('the rules find a provider', () => {
  test('that deletes what it has adopted', async () => {
    const deleting = (call: ExternalCall) => (call.operation === 'unmark' ? { ...call, operation: 'release' } : call)
    expect((await problemsOf(share(20), deleting)).join('\n')).toMatch(/was there before/)
  })

  test('that writes no note before it asks', async () => {
    const planner = () => {
      const forgetful = floating()
      const plan = forgetful.plan.bind(forgetful)
      const isNote = (effect: Effect) =>
        effect.kind === 'patch' && effect.ref.kind === 'FloatingPool' && effect.subresource
      return Object.assign(forgetful, {
        plan: (key: string, time: PlanTime) => {
          const made = plan(key, time)
          return made && { ...made, effects: made.effects.filter((effect) => !isNote(effect)) }
        },
      })
    }
    const { states } = await live(0, Number.POSITIVE_INFINITY, 'before', planner)
    expect(states.at(-1)).not.toEqual(BEFORE)
  })
})
