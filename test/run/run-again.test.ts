import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { Node, Service } from 'ipam-kit/crd/core'
import { ClusterNetwork, IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { fail, isIpamError, unwrap } from 'ipam-kit/errors'
import { definePlanner, type Planner, type Watch } from 'ipam-kit/plan'
import { blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { networkViewPlanner } from 'ipam-kit/provider/network-view'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { Controller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { kinds as blockKinds, blocksIn, poolIn } from '../provider/blocks/world.js'
import * as inClusterWorld from '../provider/in-cluster/world.js'
import { clusterCIDR } from '../provider/network-view/world.js'
import { range, using } from '../provider/service-ip/world.js'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind, ref } from './task/counter.js'

let nowMs = 0
const now = () => nowMs
beforeEach(() => {
  nowMs = Date.UTC(2026, 0, 1)
})

const SERVICES = [Service.info, IPAddress.info, ServiceCIDR.info]

/** A program that runs planners again whenever a run says so, for some time. @returns its runs */
async function runAgain(store: Store, planners: readonly Planner[], seconds: number): Promise<number> {
  const endMs = nowMs + seconds * 1000
  for (let runs = 1; ; runs++) {
    const { requeueAfterSeconds } = await runUntilQuiet(store, planners, { now })
    if (requeueAfterSeconds === undefined) return runs
    nowMs += requeueAfterSeconds * 1000
    if (nowMs > endMs) throw new Error(`${runs} runs, and the last one asks for another`)
  }
}

describe('what has to be missing for a time ends in a program that runs the same planners again', () => {
  const service = () => using('web', '10.0.0.20')
  const ready = (): KubeObject => ({
    ...range('kubernetes', '10.0.0.0/24'),
    status: {
      conditions: [
        { type: 'Ready', status: 'True', reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  })

  test.each([60, 1, 0])('the IPAddress of a Service is created after a grace period of %i s', async (graceSeconds) => {
    const store = memoryStore({ now, kinds: SERVICES })
    for (const object of [ready(), service()]) unwrap(await store.create(object))
    const runs = await runAgain(store, [serviceIPs({ seed: 1, graceSeconds })], 200)
    expect(unwrap(await store.list(IPAddress.info)).items.map(({ metadata }) => metadata.name)).toEqual(['10.0.0.20'])
    expect(runs).toBeLessThan(5)
  })

  test('a row of a block whose owner does not exist is removed', async () => {
    const store = memoryStore({ now, kinds: [...blockKinds, IPAddressClaim.info] })
    await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    const { apiVersion, kind } = IPBlock.info
    const row = { owner: 'ns/c', uid: 'gone', kind: 'IPAddressClaim.ipam.cluster.x-k8s.io', sequence: 1 }
    const spec = {
      cidr: '10.0.0.0/28',
      domain: 'default',
      allocationPrefixLength: 32,
      pool: 'blue',
      sequence: 1,
      rows: { 1: row },
    }
    unwrap(await store.create({ apiVersion, kind, metadata: { name: 'default-4-0a000000-28' }, spec }))
    await runAgain(store, [blocksSweep({ owners: [IPAddressClaim.info] })], 2000)
    expect((await blocksIn(store)).map(({ spec }) => Object.keys(spec.rows))).toEqual([[]])
  })

  test('an IPAddress whose claim was removed by force is deleted', async () => {
    const { store, ...world } = inClusterWorldOf()
    await world.create(inClusterWorld.pool(['10.0.0.5-10.0.0.6']), inClusterWorld.claim('a'))
    const planner = inCluster({ sweepAfterSeconds: 60 })
    await runUntilQuiet(store, [planner], { now })
    unwrap(await store.patch(inClusterWorld.claimRef('a'), { metadata: { finalizers: null } }))
    unwrap(await store.delete(inClusterWorld.claimRef('a')))
    await runAgain(store, [planner], 600)
    expect(unwrap(await store.list({ apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress' })).items).toEqual(
      [],
    )
  })

  test('a range is published no longer after its ClusterCIDR was deleted', async () => {
    const store = memoryStore({ now, kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info] })
    const { metadata, ...object } = clusterCIDR('one', '10.0.0.0/16') as KubeObject
    unwrap(await store.create({ ...object, metadata: { name: metadata.name } }))
    const planner = networkViewPlanner({ create: true })
    await runAgain(store, [planner], 600)
    unwrap(await store.delete({ apiVersion: object.apiVersion, kind: object.kind, name: 'one' }))
    await runAgain(store, [planner], 600)
    const { apiVersion, kind } = ClusterNetwork.info
    const { status } = ClusterNetwork.parse(unwrap(await store.get({ apiVersion, kind, name: 'pods' })))
    expect(status?.ranges ?? []).toEqual([])
  })
})

function inClusterWorldOf() {
  const store = memoryStore({ now, kinds: inClusterWorld.kinds })
  const create = async (...objects: readonly KubeObject[]) => {
    for (const object of objects) unwrap(await store.create(object))
  }
  return { store, create }
}

interface Seen {
  readonly names: Set<string>
  plans: number
}
const counters: Watch<number> = {
  ...counterKind,
  parse: ({ spec }) => ({ ok: true, value: (spec as { readonly value: number }).value }),
}

/** A planner that notes the names of objects in its state, and how often it was opened anew. */
function noting(name = 'noting') {
  let openings = 0
  const planner = definePlanner<{ kind: string; message: string }, { counters: Watch<number> }, Seen>({
    name,
    watches: { counters },
    state: () => {
      openings++
      return { names: new Set(), plans: 0 }
    },
    wakes: {
      counters({ ref: { name: of }, now: is }, { state }) {
        if (is === undefined) state.names.delete(of)
        else state.names.add(of)
        return [of]
      },
    },
    plan(key, { cache, state }) {
      state.plans++
      const value = cache.counters.get(`default/${key}`) ?? cache.counters.get(key)
      return value === undefined ? undefined : { outcome: { kind: 'counted', message: `${value}` }, effects: [] }
    },
  })
  return { planner, openings: () => openings }
}

describe('a second run', () => {
  let store: Store
  beforeEach(async () => {
    store = memoryStore({ now, kinds: [counterKind] })
    for (const name of ['a', 'b']) unwrap(await store.create(counter(name)))
  })

  test('plans every key, with what has changed since the first one', async () => {
    const { planner, openings } = noting()
    await runUntilQuiet(store, [planner], { now })
    const opened = openings()
    unwrap(await store.delete(ref('a')))
    unwrap(await store.create(counter('c', 7)))
    const { outcomes, written } = await runUntilQuiet(store, [planner], { now })
    expect([...outcomes]).toEqual([
      ['b', { kind: 'counted', message: '0' }],
      ['c', { kind: 'counted', message: '7' }],
    ])
    expect(written).toBe(0)
    expect([...planner.context.state.names]).toEqual(['b', 'c'])
    expect(openings()).toBe(opened)
    // 'a' is not planned for ever
    const { planned } = await runUntilQuiet(store, [planner], { now })
    expect(planned).toBe(2)
  })

  test('with other options uses these', async () => {
    const { planner } = noting()
    await runUntilQuiet(store, [planner], { now })
    const waiting: number[] = []
    await runUntilQuiet(store, [planner], { now, onProgress: (progress) => waiting.push(progress.waiting) })
    expect(waiting).toEqual([1, 0])
  })

  test.each([
    ['on another store', async (planner: Planner, other: Store) => runUntilQuiet(other, [planner], { now })],
    [
      'with another planner beside it',
      async (planner: Planner) => runUntilQuiet(store, [planner, noting('two').planner], { now }),
    ],
    [
      'after a change that its planner alone was told of',
      async (planner: Planner) => {
        planner.observe({ kind: 'absent', ref: ref('a') })
        return runUntilQuiet(store, [planner], { now })
      },
    ],
    [
      'after its planner was reset',
      async (planner: Planner) => {
        planner.reset()
        return runUntilQuiet(store, [planner], { now })
      },
    ],
  ])('%s begins anew', async (_, again) => {
    const { planner, openings } = noting()
    await runUntilQuiet(store, [planner], { now })
    const opened = openings()
    const other = memoryStore({ now, kinds: [counterKind] })
    for (const name of ['a', 'b']) unwrap(await other.create(counter(name, 5)))
    const { outcomes } = await again(planner, other)
    expect(outcomes.size).toBe(2)
    expect(openings()).toBeGreaterThan(opened)
  })

  test('after a Controller begins anew, and a Controller after it', async () => {
    const { planner, openings } = noting()
    await runUntilQuiet(store, [planner], { now })
    for (let turn = 0; turn < 2; turn++) {
      const before = openings()
      const timers = new VirtualTimers()
      const controller = new Controller({
        store,
        planners: [planner],
        timers,
        onProblem: (problem) => expect(problem).toBeUndefined(),
      })
      const ended = controller.run()
      await timers.pass(1000)
      controller.stop()
      await ended
      expect(openings()).toBeGreaterThan(before)
      const between = openings()
      expect((await runUntilQuiet(store, [planner], { now })).outcomes.size).toBe(2)
      expect(openings()).toBeGreaterThan(between)
    }
  })

  test('on a store that was restored to an earlier state begins anew', async () => {
    const { planner, openings } = noting()
    const list = store.list.bind(store)
    const earlier = unwrap(await list({ ...counterKind }))
    unwrap(await store.patch(ref('a'), { spec: { value: 9 } }))
    let isRestored = false
    const restoring = storeOver(store, {
      list: async (...args) => (isRestored ? { ok: true, value: earlier } : list(...args)),
    })
    await runUntilQuiet(restoring, [planner], { now })
    const opened = openings()
    isRestored = true
    const { outcomes } = await runUntilQuiet(restoring, [planner], { now })
    expect(outcomes.get('a')?.message).toBe('0')
    expect(openings()).toBeGreaterThan(opened)
  })

  test('continues after a list that failed, and begins anew after an error in a plan', async () => {
    const { planner, openings } = noting()
    let isDown = false
    const failing = storeOver(store, {
      list: async (...args) =>
        isDown ? fail('STORE_IO', { operation: 'list', problem: 'down' }) : store.list(...args),
    })
    await runUntilQuiet(failing, [planner], { now })
    const opened = openings()
    isDown = true
    await expect(runUntilQuiet(failing, [planner], { now })).rejects.toSatisfy((error) =>
      isIpamError(error, 'STORE_IO'),
    )
    isDown = false
    expect((await runUntilQuiet(failing, [planner], { now })).outcomes.size).toBe(2)
    expect(openings()).toBe(opened)
    const onProgress = () => {
      throw new Error('full')
    }
    await expect(runUntilQuiet(failing, [planner], { now, onProgress })).rejects.toThrow('full')
    expect((await runUntilQuiet(failing, [planner], { now })).outcomes.size).toBe(2)
    expect(openings()).toBeGreaterThan(opened)
  })
})
