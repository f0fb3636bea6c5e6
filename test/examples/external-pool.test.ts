import { stateOf } from 'ipam-kit/claim'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { isDeleting, type KubeObject, type ObjectRef } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change, ExternalCall, Planner } from 'ipam-kit/plan'
import { cloudCaller } from 'ipam-kit/provider/external'
import { Controller, type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import {
  ALL_FAULTS,
  cloudConformance,
  type Dice,
  EXTERNAL_FAULTS,
  SimulatedCrash,
  type SimulatedSystem,
  simulate,
} from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { FakeIpam } from '../../docs/examples/external-provider/fake-ipam.js'
import { FloatingPool } from '../../docs/examples/external-provider/pool.js'
import { floating, yourCloud, yourServers } from '../../docs/examples/external-provider/your-cloud.js'
import { attachment } from '../../src/provider/openstack/port-choice.js'
import { dyingAt, kinds as otherKinds } from '../provider/claims/world.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'
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
  object(poolRef(name), { network: NETWORK, prefix: 28, existing: BY_HAND, ...spec })
const claim = (name: string, of = 'lab') =>
  object(claimRef(name), { poolRef: { apiGroup: 'ipam.example.com', kind: 'FloatingPool', name: of } })

/** The provider as a new process has it. */
const start = (callSeconds = 10): Planner => floating({ callSeconds })

class World {
  nowMs = Date.UTC(2026, 0, 1)
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  readonly ipam = new FakeIpam()
  readonly external: ExternalCaller = cloudCaller(yourCloud(this.ipam))

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

  async delete(...refs: readonly ObjectRef[]): Promise<void> {
    for (const ref of refs) unwrap(await this.store.delete(ref))
  }

  async run({ store = this.store, external = this.external, planner = start() } = {}) {
    return runUntilQuiet(store, [planner], { now: () => this.nowMs, external })
  }

  /**
   * Runs again whenever a plan wants that, for some minutes: as long as a lost answer or an old
   * list is waited for.
   */
  async runOn(planner = start(), minutes = 5): Promise<void> {
    for (const endMs = this.nowMs + minutes * 60_000; this.nowMs < endMs; ) {
      const { requeueAfterSeconds = Number.POSITIVE_INFINITY } = await this.run({ planner })
      this.nowMs = Math.min(endMs, this.nowMs + Math.max(1, requeueAfterSeconds) * 1000)
    }
  }

  /** What each claim has, and what the product has for the pool. */
  async state() {
    const addresses = unwrap(await this.store.list(IPAddress.info)).items.map((it) => IPAddress.parse(it))
    const uid = (await this.store.get(poolRef())) as { value?: KubeObject }
    const isOurs = (marker: string) => marker !== '' && marker.startsWith(`${uid.value?.metadata.uid}/`)
    return {
      claims: addresses.map(({ metadata, spec }) => `${metadata.name} ${spec.address}`).sort(),
      records: this.ipam.records
        .map((it) => `${it.address}${isOurs(it.marker) ? ' ours' : it.marker && ' of others'}`)
        .sort(),
    }
  }

  async status() {
    return FloatingPool.parse(unwrap(await this.store.get(poolRef()))).status
  }

  async reasonOf(name: string) {
    const state = stateOf(IPAddressClaim.parse(unwrap(await this.store.get(claimRef(name)))))
    return 'reason' in state ? state.reason : undefined
  }

  /** The calls of one kind that the product has carried out. */
  calls(what: string) {
    return this.ipam.calls.filter((call) => call.startsWith(`${what} `)).length
  }
}

let world: World
beforeEach(() => {
  world = new World()
})

const BEFORE = { claims: [], records: ['10.20.0.10', '10.20.0.9'] }

describe('a pool with addresses of its own', () => {
  test('gives those that were there before, creates others up to its limit, and deletes only these', async () => {
    await world.create(pool({ max: 3 }), claim('a'), claim('b'), claim('c'), claim('d'))
    const planner = start()
    await world.run({ planner })
    expect(await world.state()).toEqual({
      claims: ['a 10.20.0.9', 'b 10.20.0.10', 'c 10.20.0.1'],
      records: ['10.20.0.1 ours', '10.20.0.10', '10.20.0.9'],
    })
    expect(await world.reasonOf('d')).toBe('PoolExhausted')
    expect((await world.status())?.problem).toMatch(/has 3 addresses/)
    await world.delete(claimRef('b'))
    await world.runOn(planner)
    // the released one is free with the next list, and the limit allows another one until then
    expect((await world.state()).claims).toContain('d 10.20.0.2')
    await world.delete(claimRef('c'), claimRef('a'))
    await world.runOn(planner)
    expect(await world.state()).toEqual({
      claims: ['d 10.20.0.2'],
      records: ['10.20.0.10', '10.20.0.2 ours', '10.20.0.9'],
    })
    expect(await world.status()).toEqual({
      claimed: ['10.20.0.2'],
      available: BY_HAND,
      unusable: [],
      problem: '',
    })
  })

  test('creates some in advance, and keeps what it has created if it is to', async () => {
    await world.create(pool({ existing: [], spare: 2, reclaim: 'Retain' }))
    const planner = start()
    await world.runOn(planner)
    expect((await world.state()).records).toContain('10.20.0.2 ours')
    await world.create(claim('a'))
    await world.run({ planner })
    expect((await world.state()).claims).toEqual(['a 10.20.0.1'])
    await world.delete(claimRef('a'))
    await world.runOn(planner)
    await world.create(claim('b'))
    await world.run({ planner })
    expect((await world.state()).claims).toEqual(['b 10.20.0.1'])
    await world.delete(claimRef('b'), poolRef())
    await world.runOn(planner)
    expect((await world.store.get(poolRef())).ok).toBe(false)
    // they stay, and belong to nobody
    const left = ['10.20.0.1', '10.20.0.10', '10.20.0.2', '10.20.0.3', '10.20.0.9']
    expect(await world.state()).toEqual({ claims: [], records: left })
    expect(world.calls('remove')).toBe(0)
  })

  test('uses an address again that has failed before', async () => {
    const missing = '10.20.0.7'
    await world.create(pool({ existing: [missing, '10.20.0.9'], max: 1 }), claim('a'), claim('b'))
    const planner = start()
    await world.runOn(planner)
    expect((await world.state()).claims).toEqual(['a 10.20.0.9'])
    expect((await world.status())?.unusable).toEqual([`${missing}: NotFound`])
    world.ipam.addByHand(NETWORK, missing)
    await world.runOn(planner)
    expect((await world.state()).claims).toEqual(['a 10.20.0.9', 'b 10.20.0.7'])
  })

  test('gives no address that was removed by hand since', async () => {
    await world.create(pool({ max: 0 }))
    const planner = start()
    await world.run({ planner })
    const [first] = world.ipam.records
    expect(first?.address).toBe('10.20.0.9')
    await world.ipam.remove(first?.id ?? '', first?.version ?? 0)
    await world.runOn(planner, 6)
    await world.create(claim('a'))
    await world.runOn(planner)
    expect((await world.state()).claims).toEqual(['a 10.20.0.10'])
  })

  test('gives no address of another owner, until that has left it', async () => {
    const { id, address } = world.ipam.addByHand(NETWORK, '10.20.0.7', 'another/owner')
    await world.create(pool({ existing: [address], max: 0 }), claim('a'))
    const planner = start()
    await world.runOn(planner)
    expect((await world.status())?.unusable).toEqual([`${address}: OtherPool`])
    await world.ipam.update(id, 1, { marker: '' })
    await world.runOn(planner)
    expect((await world.state()).claims).toEqual([`a ${address}`])
  })

  test('that goes leaves what it has not created, and nothing else', async () => {
    await world.create(pool({ spare: 2, max: 4 }), claim('a'))
    const planner = start()
    await world.runOn(planner)
    await world.delete(poolRef())
    await world.runOn(planner)
    const removed = world.calls('remove')
    expect((await world.store.get(poolRef())).ok).toBe(true)
    expect((await world.state()).claims).toEqual(['a 10.20.0.9'])
    await world.delete(claimRef('a'))
    await world.runOn(planner)
    expect((await world.store.get(poolRef())).ok).toBe(false)
    expect(await world.state()).toEqual(BEFORE)
    expect([removed, world.calls('remove')]).toEqual([0, world.calls('create')])
  })

  /** What two claims have got when the answers to the calls that were made for them were lost. */
  const FOUND = {
    claims: ['a 10.20.0.1', 'b 10.20.0.2'],
    records: ['10.20.0.1 ours', '10.20.0.10', '10.20.0.2 ours', '10.20.0.9'],
  }
  const losing: ExternalCaller = (call) => {
    if (call.operation === 'createAddress') world.ipam.inject('lost-answer')
    return world.external(call)
  }

  test('gives what a lost answer has created to its claim', async () => {
    await world.create(pool({ existing: [] }), claim('a'), claim('b'))
    const timers = new VirtualTimers(world.nowMs)
    const onProblem = ({ kind }: { readonly kind: string }) => expect.unreachable(kind)
    const { store } = world
    const controller = new Controller({ store, timers, planners: [start()], external: losing, onProblem })
    const ended = controller.run()
    await timers.pass(4000)
    expect(await world.reasonOf('a')).toBe('AllocationFailed')
    await timers.pass(300_000)
    controller.stop()
    await ended
    expect(world.calls('create')).toBe(2)
    expect(await world.state()).toEqual(FOUND)
  })

  test('gives what a process that has ended has created to its claim', async () => {
    await world.create(pool({ existing: [] }), claim('a'), claim('b'))
    await world.run({ external: losing })
    await world.runOn()
    expect(world.calls('create')).toBe(2)
    expect(await world.state()).toEqual(FOUND)
  })

  test('says that the product does not answer, and keeps what it has said before', async () => {
    await world.create(pool())
    await world.run()
    world.ipam.inject('down')
    await world.run()
    expect(await world.status()).toMatchObject({ available: BY_HAND, problem: 'connection refused' })
  })

  test('says what is wrong with its network, and gives nothing', async () => {
    await world.create(pool({ network: '192.0.2.0/24' }), claim('a'))
    await world.run()
    expect((await world.status())?.problem).toMatch(/there is no network 192.0.2.0\/24/)
    expect(await world.reasonOf('a')).toBe('PoolNotReady')
  })

  test('says which entry is wrong, and gives the others', async () => {
    await world.create(pool({ existing: ['nonsense', ...BY_HAND] }), claim('a'))
    await world.run()
    expect((await world.status())?.problem).toBe('spec.existing: no address: nonsense')
    expect((await world.state()).claims).toEqual(['a 10.20.0.9'])
  })
})

describe('the product keeps the rules of a cloud', () => {
  const open = () => {
    const ipam = new FakeIpam()
    ipam.addNetwork(NETWORK)
    let last = 13
    const create = async () => ipam.addByHand(NETWORK, `10.20.0.${last--}`)
    const attach = async (id: string) => {
      await ipam.update(id, ipam.records.find((it) => it.id === id)?.version ?? 0, { server: 'vm' })
    }
    const unknownNetwork = '192.0.2.0/24'
    return { cloud: yourCloud(ipam), access: null, network: NETWORK, unknownNetwork, operator: { create, attach } }
  }
  for (const { name, run } of cloudConformance({ open, features: ['attachments'] })) test(name, run)
})

test('servers get and lose an address of the cloud', async () => {
  const { ipam } = world
  const { id, address } = ipam.addByHand(NETWORK, '10.20.0.5')
  const cloud = yourServers(ipam, NETWORK)
  const look = async () => {
    const described = await cloud.describeServer({ access: null, server: 'vm', address })
    if (!described.ok) throw new Error(described.failure.message)
    return described.value
  }
  expect(attachment(address, await look())).toMatchObject({ kind: 'attach', port: { id: 'vm' }, floatingIP: { id } })
  const stale = { access: null, id, port: 'vm', fixedAddress: address, revision: 7 }
  expect(await cloud.attachFloatingIP(stale)).toMatchObject({ failure: { nothingDone: true } })
  expect(await cloud.attachFloatingIP({ ...stale, revision: 1 })).toMatchObject({ ok: true })
  expect(attachment(address, await look()).kind).toBe('attached')
  expect(await cloud.detachFloatingIP({ access: null, id, port: 'another' })).toMatchObject({ ok: true })
  expect(ipam.records.find((it) => it.id === id)?.server).toBe('vm')
  expect(await cloud.detachFloatingIP({ access: null, id, port: 'vm' })).toMatchObject({ ok: true })
  expect(ipam.records.find((it) => it.id === id)?.server).toBe('')
})

const stages: readonly ((world: World) => Promise<unknown>)[] = [
  (it) => it.create(pool({ spare: 1, max: 5 }), claim('a'), claim('b'), claim('c')),
  (it) => it.delete(claimRef('a'), claimRef('c')),
  (it) => it.delete(claimRef('b'), poolRef()),
]

async function live(stage: number, at: number, point: 'before' | 'after') {
  const it = new World()
  const states: unknown[] = []
  let steps = 0
  for (const [index, act] of stages.entries()) {
    await act(it)
    const dying = dyingAt(it, index === stage ? at : Number.POSITIVE_INFINITY, point)
    const first = start()
    let isDead = false
    try {
      await it.run({ ...dying, planner: first })
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error
      isDead = true
    }
    if (index === stage) steps = dying.steps()
    await it.runOn(isDead ? start() : first)
    // which address is created depends on what was deleted by then
    const { claims, records } = await it.state()
    states.push([claims, records].map((each) => each.map((text) => text.replace(/10\.20\.0\.[1-8]\b/, 'new')).sort()))
  }
  return { states, steps }
}

async function cutEverywhere(): Promise<readonly string[]> {
  const found: string[] = []
  for (const stage of stages.keys()) {
    const whole = await live(stage, Number.POSITIVE_INFINITY, 'before')
    expect(whole.steps).toBeGreaterThan(3)
    expect(whole.states.at(-1)).toEqual([BEFORE.claims, BEFORE.records])
    for (const at of cuts(whole.steps)) {
      for (const point of ['before', 'after'] as const) {
        const cut = await live(stage, at, point)
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

const POOLS: { readonly [name: string]: object } = {
  lab: { existing: [BY_HAND[0]], max: 3 },
  other: { existing: [BY_HAND[1]], spare: 1, max: 3, reclaim: 'Retain' },
}

/** @param translate what becomes of a call on its way */
function system(translate: (call: ExternalCall) => ExternalCall): SimulatedSystem {
  const { ipam, external } = new World()
  return {
    kinds,
    // longer than any answer takes in a simulation
    planner: () => start(60),
    external: (call) => external(translate(call)),
    externalReads: ['findNetwork', 'listAddresses'],
    prepare: async () => {},
    act: async (store: Store, dice: Dice) => {
      const name = dice.pick(Object.keys(POOLS))
      const each = `claim-${dice.below(6)}`
      const draw = dice.next()
      // else time goes on: after a start nothing is created for a minute
      if (draw < 0.15) await store.create(pool(POOLS[name], name))
      else if (draw < 0.18) await store.delete(poolRef(name))
      else if (draw < 0.4) await store.create(claim(each, name))
      else if (draw < 0.55) await store.delete(claimRef(each))
    },
    rules: () => {
      const has = new Map<string, string>()
      const deleted = () => {
        const missing = BY_HAND.find((address) => !ipam.records.some((record) => record.address === address))
        return missing && `${missing} was deleted, and was there before`
      }
      return {
        observe: (change: Change) => {
          const { kind } = change.kind === 'present' ? change.object : change.ref
          if (kind !== IPAddress.info.kind) return undefined
          const uid = `${change.kind === 'present' ? change.object.metadata.uid : change.uid}`
          if (change.kind === 'absent') has.delete(uid)
          else has.set(uid, IPAddress.parse(change.object).spec.address)
          const isTwice = new Set(has.values()).size < has.size
          if (isTwice) return `two claims have one of ${[...has.values()].join(', ')}`
          return deleted()
        },
        atRest: async (store: Store) => {
          const problem = deleted()
          if (problem !== undefined) return problem
          const living = unwrap(await store.list(FloatingPool.info)).items.map((it) => FloatingPool.parse(it))
          // a claim that has our finalizer keeps its pool, also while it waits
          const claims = unwrap(await store.list(IPAddressClaim.info)).items.map((it) => IPAddressClaim.parse(it))
          const isKept = ({ metadata }: KubeObject) => claims.some(({ spec }) => spec.poolRef.name === metadata.name)
          if (living.some((it) => isDeleting(it) && !isKept(it))) return 'a pool is still being deleted'
          const uids = new Set(living.map(({ metadata }) => metadata.uid))
          const made = ipam.records.filter(({ address }) => !BY_HAND.includes(address))
          const lost = made.filter(({ marker, name }) => {
            // what was retained belongs to nobody
            return marker === '' ? name === 'default.lab' : !uids.has(marker.split('/')[0])
          })
          if (lost.length > 0) return `no pool has ${lost.map(({ address }) => address).join(', ')}`
          const known = new Set([...has.values(), ...living.flatMap(({ status }) => status?.available ?? [])])
          const forgotten = made.filter(({ marker, address }) => marker !== '' && !known.has(address))
          const isEnding = living.some(isDeleting)
          return forgotten.length === 0 || isEnding ? undefined : `${forgotten[0]?.address} is created, and forgotten`
        },
      }
    },
  }
}

async function problemsOf(seeds: number, translate = (call: ExternalCall) => call): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const faults = [...ALL_FAULTS, ...EXTERNAL_FAULTS]
    const size = { actions: 600, maxTurns: 60_000, maxJumps: 100 }
    const simulated = system(translate)
    const { problems } = await simulate({
      system: simulated,
      seed,
      faults,
      faultProbability: 0.05,
      mayWrite: 'one',
      ...size,
    })
    found.push(...problems.map((problem) => `seed ${seed}: ${problem}`))
  }
  return found
}

test('whatever goes wrong: no address twice, none lost, and none deleted that was there before', async () => {
  expect(await problemsOf(share(60, 20))).toEqual([])
})

describe('the rules find a provider', () => {
  test('that deletes what it has not created', async () => {
    const { ipam } = new World()
    const [first] = ipam.records
    const seen = { id: first?.id ?? '', marker: '', revision: '' }
    const deleting = (call: ExternalCall): ExternalCall =>
      call.operation === 'markAddress' || call.operation === 'deleteAddress'
        ? { ...call, operation: 'deleteAddress', input: { ...(call.input as object), seen } }
        : call
    expect((await problemsOf(share(20, 3), deleting)).join('\n')).toMatch(/was there before/)
  })

  test('whose records have no marker', async () => {
    const unmarked = (call: ExternalCall): ExternalCall =>
      call.operation === 'createAddress' ? { ...call, input: { ...(call.input as object), marker: '' } } : call
    expect((await problemsOf(share(20, 4), unmarked)).join('\n')).toMatch(/no pool has/)
  })
})
