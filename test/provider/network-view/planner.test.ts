import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Change, EventEffect, Planner } from 'ipam-kit/plan'
import {
  acceptedRanges,
  type NetworkViewOptions,
  networkView,
  networkViewPlanner,
  usedBeforeKnown,
} from 'ipam-kit/provider/network-view'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { Controller, runKey, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ClusterNetworkSpec, ClusterNetworkStatus } from '../../../src/crd/ipam-kit/cluster-network.js'
import type { NetworkViewPlanner } from '../../../src/provider/network-view/planner.js'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { clusterCIDR, known, node, plain } from './world.js'

const SERVICE_CIDR = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  statusSubresource: true,
}
const clusterRef = { apiVersion: ClusterCIDR.info.apiVersion, kind: 'ClusterCIDR' }
const networkRef = { apiVersion: ClusterNetwork.info.apiVersion, kind: 'ClusterNetwork', name: 'pods' }

let store: Store
let nowMs = Date.UTC(2026, 0, 1)
const now = () => nowMs

beforeEach(() => {
  nowMs = Date.UTC(2026, 0, 1)
  store = memoryStore({ now, kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info, SERVICE_CIDR] })
})

/** As a client makes it: the store gives uid and version. */
async function create(...objects: readonly KubeObject[]): Promise<void> {
  for (const { metadata, ...object } of objects) {
    const { uid, ...rest } = metadata
    const created = await store.create({ ...object, metadata: rest })
    expect(created).toMatchObject({ ok: true })
  }
}

const network = (spec: ClusterNetworkSpec): KubeObject => ({
  apiVersion: networkRef.apiVersion,
  kind: networkRef.kind,
  metadata: { name: 'pods' },
  spec,
})

const run = (options: NetworkViewOptions = {}) =>
  runUntilQuiet(store, [networkViewPlanner({ create: true, ...options })], { now })

async function status(): Promise<ClusterNetworkStatus> {
  const read = await store.get(networkRef)
  if (!read.ok) throw new Error('no ClusterNetwork')
  return ClusterNetwork.parse(read.value).status ?? {}
}

async function states(): Promise<readonly string[]> {
  return ((await status()).ranges ?? []).map(({ cidr, state }) => `${cidr} ${state}`)
}

/** A consumer answers with an apply of its own: here as a patch of the list. */
async function answer(consumer: string, cidr: string, accepted: boolean): Promise<void> {
  const { answers = [] } = await status()
  const others = answers.filter((each) => each.consumer !== consumer || each.cidr !== cidr)
  await store.patch(
    networkRef,
    { status: { answers: [...others, { consumer, cidr, accepted }] } },
    { subresource: 'status' },
  )
}

describe('the object', () => {
  test('is waited for, also when it was deleted: its consumers would not be asked any more', async () => {
    await create(network({ consumers: [{ name: 'flannel' }] }), clusterCIDR('a', '10.0.0.0/16'))
    const events: EventEffect[] = []
    const planner = networkViewPlanner()
    const settled = () => runUntilQuiet(store, [planner], { now, onEvent: (event) => void events.push(event) })
    await settled()
    expect(await states()).toEqual(['10.0.0.0/16 Proposed'])
    await store.delete(networkRef)
    for (let round = 0; round < 3; round++) expect((await settled()).written).toBe(0)
    expect((await store.get(networkRef)).ok).toBe(false)
    expect(events.map(({ about, reason }) => `${about.kind} ${about.name} ${reason}`)).toEqual([
      'ClusterNetwork pods ClusterNetworkMissing',
    ])
    // another process knows nothing of the one that was there
    expect((await run({ create: false })).written).toBe(0)
    await create(network({ consumers: [{ name: 'flannel' }] }))
    await settled()
    expect(await states()).toEqual(['10.0.0.0/16 Proposed'])
  })

  test('is created where that is asked for, and says what is known in the fewest prefixes; a second run writes nothing', async () => {
    await create(
      clusterCIDR('a', '10.0.0.0/17,fd00::/48'),
      clusterCIDR('b', '10.0.128.0/17'),
      node('n', ['10.0.3.0/24', 'fd00::/64']),
    )
    const first = await run()
    expect([first.failures, first.written]).toEqual([[], 2])
    const { conditions, hash, ranges, ...said } = await status()
    expect(said).toEqual({
      observedGeneration: 1,
      assigner: 'NodeCIDRs',
      families: [
        {
          family: 'IPv4',
          known: ['10.0.0.0/16'],
          exact: true,
          foreignAddresses: '0',
          active: 2,
          terminating: 0,
          proposed: 0,
          nodes: 1,
        },
        {
          family: 'IPv6',
          known: ['fd00::/48'],
          exact: true,
          foreignAddresses: '0',
          active: 1,
          terminating: 0,
          proposed: 0,
          nodes: 1,
        },
      ],
    })
    expect(ranges?.[0]).toEqual({
      cidr: '10.0.0.0/17',
      state: 'Active',
      source: { kind: 'ClusterCIDR', name: 'a' },
      proposedAt: '2026-01-01T00:00:00.000Z',
    })
    expect(hash).toMatch(/^[0-9a-f]{16}$/)
    expect(conditions?.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`)).toEqual([
      'Ready True Published',
      'Consistent True Consistent',
    ])
    nowMs += 3_600_000
    expect((await run()).written).toBe(0)
  })

  test('is one that the definition of its kind admits', async () => {
    await create(clusterCIDR('a', '10.0.0.0/16'), node('n', ['10.9.0.0/24', 'x']), node('m', ['10.9.0.0/24']))
    await run({ extraCIDRs: [{ name: '--cluster-cidr', cidrs: ['10.2.0.0/16'] }], serviceCIDRs: ['10.0.0.0/24'] })
    const read = await store.get(networkRef)
    expect(ClusterNetwork.validate(read.ok && read.value)).toEqual([])
    const consistent = (await status()).conditions?.find(({ type }) => type === 'Consistent')
    expect(consistent).toMatchObject({ status: 'False', reason: 'CIDRConflict' })
    expect(consistent?.message).toBe(
      'conflicts: 2 (10.9.0.0/24 of Node m overlaps 10.9.0.0/24 of Node n; 10.0.0.0/16 of range a overlaps 10.0.0.0/24 of Service range 10.0.0.0/24), ' +
        'subnets of Nodes in no range: 2, ' +
        'objects with problems: 1 (Node n: "x" in podCIDRs is not a CIDR)',
    )
  })

  test('covers with 64 prefixes where more would be exact, and its hash tells what they hide', async () => {
    await create(network({}))
    const cidrs = (count: number) => Array.from({ length: count }, (_, nth) => `10.${nth}.0.0/24`)
    await run({ extraCIDRs: [{ name: '--cluster-cidr', cidrs: cidrs(64) }] })
    expect((await status()).families?.[0]).toMatchObject({ exact: true, foreignAddresses: '0' })
    await create(...cidrs(100).map((cidr, nth) => node(`n${nth}`, [cidr])))
    await run()
    const [family] = (await status()).families ?? []
    expect(family?.known.length).toBeLessThanOrEqual(64)
    expect([family?.exact, Number(family?.foreignAddresses) > 0]).toEqual([false, true])
    const { hash } = await status()
    await store.delete({ ...Node.info, name: 'n99' })
    await run()
    expect((await status()).hash).not.toBe(hash)
  })

  test('says the same of 5,000 Nodes as of 50, and as briefly', async () => {
    const sizes: number[] = []
    for (const count of [50, 5000]) {
      store = memoryStore({ now, kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info] })
      await create(clusterCIDR('a', '10.0.0.0/8'))
      await create(...Array.from({ length: count }, (_, nth) => node(`n${nth}`, [`10.${nth >> 8}.${nth & 255}.0/24`])))
      await run()
      sizes.push(JSON.stringify(await status()).length)
    }
    expect(sizes[1]! - sizes[0]!).toBeLessThan(10)
  })

  test('is left as it is where it cannot be read, or is being deleted', async () => {
    await create({ ...network({}), spec: { consumers: 7 } })
    const { outcomes, written } = await run()
    expect([outcomes.get('pods')?.kind, written]).toEqual(['unreadable', 0])
    await store.delete(networkRef)
    await create({ ...network({}), metadata: { name: 'pods', finalizers: ['example.com/hold'] } })
    await store.delete(networkRef)
    const deleting = await run()
    expect([deleting.outcomes.get('pods')?.kind, deleting.written]).toEqual(['deleting', 0])
  })

  test('lists 128 ranges, and says how many more there are', async () => {
    await create(network({}))
    await run({
      extraCIDRs: [
        { name: 'flag', cidrs: [] },
        ...Array.from({ length: 130 }, (_, nth) => ({ name: `f${nth}`, cidrs: [`10.${nth}.0.0/24`] })),
      ],
    })
    const { ranges, conditions } = await status()
    expect([ranges?.length, conditions?.find(({ type }) => type === 'Ready')]).toEqual([
      128,
      expect.objectContaining({ status: 'False', reason: 'TooManyRanges' }),
    ])
  })
})

describe('acceptance', () => {
  const consumers = [{ name: 'kube-proxy' }, { name: 'flannel' }]

  test('a range is proposed until each consumer accepts it, and known meanwhile', async () => {
    await create(network({ consumers }), clusterCIDR('a', '10.0.0.0/16'))
    await run()
    expect([await states(), (await status()).families?.[0]?.known]).toEqual([['10.0.0.0/16 Proposed'], ['10.0.0.0/16']])
    await answer('kube-proxy', '10.0.0.0/16', true)
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Proposed'])
    await answer('flannel', '10.0.0.0/16', false)
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Proposed'])
    await answer('flannel', '10.0.0.0/16', true)
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Active'])
    // Nodes may use it by now
    await answer('flannel', '10.0.0.0/16', false)
    await run()
    expect([await states(), (await status()).answers?.length]).toEqual([['10.0.0.0/16 Active'], 2])
  })

  test('a time limit stands for the answers that are missing, never for a rejection', async () => {
    await create(
      network({ consumers, acceptanceSeconds: 60 }),
      clusterCIDR('a', '10.0.0.0/16'),
      clusterCIDR('b', '10.1.0.0/16'),
    )
    const first = await run()
    expect(first.requeueAfterSeconds).toBe(60)
    await answer('flannel', '10.1.0.0/16', false)
    nowMs += 59_000
    expect([(await run()).requeueAfterSeconds, await states()]).toEqual([
      1,
      ['10.0.0.0/16 Proposed', '10.1.0.0/16 Proposed'],
    ])
    nowMs += 1000
    const last = await run()
    expect([last.requeueAfterSeconds, await states()]).toEqual([
      undefined,
      ['10.0.0.0/16 Active', '10.1.0.0/16 Proposed'],
    ])
  })

  test('what Nodes use when the object is first written is active; what they use later is not', async () => {
    await create(network({ consumers }), clusterCIDR('a', '10.0.0.0/16'), node('n', ['10.0.0.0/24']))
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Active'])
    await create(clusterCIDR('b', '10.1.0.0/16'), node('m', ['10.1.0.0/24']))
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Active', '10.1.0.0/16 Proposed'])
  })

  test('a range that a consumer has rejected is proposed when the object is first written, also if Nodes use it', async () => {
    await create(network({ consumers }), clusterCIDR('a', '10.0.0.0/16'), node('n', ['10.0.0.0/24']))
    const answers = [{ cidr: '10.0.0.0/16', consumer: consumers[0]!.name, accepted: false }]
    await store.patch(networkRef, { status: { answers } }, { subresource: 'status' })
    await run()
    expect(await states()).toEqual(['10.0.0.0/16 Proposed'])
  })

  describe('of a range that is deleted and created again within the grace period', () => {
    const cidr = '10.0.0.0/16'
    const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: {} }
    const give = () => {
      const planners: readonly Planner[] = [networkViewPlanner(), nodeIPAM({ network: 'pods' })]
      return runUntilQuiet(store, planners, { now, onEvent: () => {} })
    }
    const subnets = async () => {
      const read = await store.get({ ...Node.info, name: 'n' })
      return read.ok ? Node.parse(read.value).spec.podCIDRs : undefined
    }
    const recreate = async () => {
      await store.delete({ ...clusterRef, name: 'a' })
      await give()
      expect(await states()).toEqual([`${cidr} Terminating`])
      nowMs += 20_000
      await create(clusterCIDR('a', cidr))
      await give()
    }

    test.each([
      ['was rejected', false],
      ['has no answer', undefined],
    ])('a range that %s stays proposed, and Nodes get no subnets of it', async (_, accepted) => {
      await create(network({ consumers: [{ name: 'flannel' }] }), clusterCIDR('a', cidr), bare)
      await give()
      if (accepted !== undefined) await answer('flannel', cidr, accepted)
      await give()
      await recreate()
      expect([await states(), await subnets()]).toEqual([[`${cidr} Proposed`], undefined])
      await answer('flannel', cidr, true)
      await give()
      expect([await states(), await subnets()]).toEqual([[`${cidr} Active`], [expect.any(String)]])
    })

    test('an accepted range is active at once, also if its answers have been removed', async () => {
      await create(network({ consumers }), clusterCIDR('a', cidr))
      await give()
      for (const { name } of consumers) await answer(name, cidr, true)
      await give()
      await store.patch(networkRef, { status: { answers: null } }, { subresource: 'status' })
      await recreate()
      expect(await states()).toEqual([`${cidr} Active`])
    })

    test('an active range that a consumer rejects is proposed again', async () => {
      await create(network({ consumers }), clusterCIDR('a', cidr))
      await give()
      for (const { name } of consumers) await answer(name, cidr, true)
      await give()
      await answer('flannel', cidr, false)
      await recreate()
      expect(await states()).toEqual([`${cidr} Proposed`])
    })

    test('the time limit begins again', async () => {
      await create(network({ consumers, acceptanceSeconds: 30 }), clusterCIDR('a', cidr))
      await give()
      nowMs += 20_000
      await recreate()
      expect([await states(), (await give()).requeueAfterSeconds]).toEqual([[`${cidr} Proposed`], 30])
      nowMs += 30_000
      await give()
      expect(await states()).toEqual([`${cidr} Active`])
    })
  })

  test('while the object cannot be read, and after its deletion, a proposed range is not shown as active', async () => {
    await create(network({ consumers }), clusterCIDR('a', '10.0.0.0/16'))
    const planner = networkViewPlanner()
    const proposed = async () => {
      await runUntilQuiet(store, [planner], { now, onEvent: () => {} })
      return planner.view.ipv4.proposed.map(({ name }) => name)
    }
    expect(await proposed()).toEqual(['a'])
    const read = await store.get(networkRef)
    if (!read.ok) throw new Error('no ClusterNetwork')
    planner.observe({
      kind: 'present',
      object: { ...read.value, metadata: { ...read.value.metadata, resourceVersion: '1000' }, spec: 7 } as never,
    })
    expect(planner.view.ipv4.proposed.map(({ name }) => name)).toEqual(['a'])
    planner.observe({ kind: 'absent', ref: networkRef, uid: read.value.metadata.uid })
    expect(planner.view.ipv4.proposed.map(({ name }) => name)).toEqual(['a'])
  })

  test('which ranges are accepted is for what gives subnets to Nodes', () => {
    const at = { source: { kind: 'Flag', name: 'x' }, proposedAt: '2026-01-01T00:00:00Z' }
    const ranges = [
      { cidr: '10.0.0.0/16', state: 'Active', ...at },
      { cidr: '10.1.0.0/16', state: 'Proposed', ...at },
      { cidr: '10.2.0.0/16', state: 'Terminating', accepted: true, ...at },
    ]
    const parse = (spec: object, more = {}) => ClusterNetwork.parse({ ...network(spec), ...more })
    expect(acceptedRanges(undefined)).toBeUndefined()
    expect(acceptedRanges(parse({}, { status: { ranges } }))).toBeUndefined()
    expect(acceptedRanges(parse({ consumers }))).toEqual(new Set())
    expect(acceptedRanges(parse({ consumers }, { status: { ranges } }))).toEqual(new Set(['10.0.0.0/16']))
  })
})

describe('cost', () => {
  test('a heartbeat of a Node costs no plan and no write', async () => {
    await create(clusterCIDR('a', '10.0.0.0/8'))
    const names = Array.from({ length: 50 }, (_, nth) => `n${nth}`)
    await create(...names.map((name, nth) => node(name, [`10.0.${nth}.0/24`])))
    const planner = networkViewPlanner({ create: true })
    let plans = 0
    const { plan } = planner
    planner.plan = (key, time) => {
      plans++
      return plan.call(planner, key, time)
    }
    const timers = new VirtualTimers()
    const problems: unknown[] = []
    const controller = new Controller({
      store,
      planners: [planner],
      timers,
      onProblem: (problem) => void problems.push(problem),
    })
    const ended = controller.run()
    await timers.pass(60_000)
    const [before, version] = [plans, (await store.get(networkRef)) as { value: KubeObject }]
    for (let beat = 0; beat < 5; beat++) {
      for (const name of names) {
        const heartbeat = {
          status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: `beat ${beat}` }] },
        }
        await store.patch({ ...Node.info, name }, heartbeat, { subresource: 'status' })
      }
      await timers.pass(10_000)
    }
    expect([problems, plans - before, await store.get(networkRef)]).toEqual([[], 0, version])
    await create(clusterCIDR('b', '192.168.0.0/16'))
    await timers.pass(1000)
    expect([plans > before, (await status()).families?.[0]?.known]).toEqual([true, ['10.0.0.0/8', '192.168.0.0/16']])
    controller.stop()
    await ended
  })

  test('numbers of Nodes are published at most once in 30 s, ranges at once', async () => {
    await create(clusterCIDR('a', '10.0.0.0/16'))
    const planner = networkViewPlanner({ create: true })
    const timers = new VirtualTimers()
    let writes = 0
    const controller = new Controller({
      store: counting(() => writes++),
      planners: [planner],
      timers,
      onProblem: () => {},
    })
    const ended = controller.run()
    await timers.pass(1000)
    const before = writes
    for (let nth = 0; nth < 20; nth++) {
      await create(node(`n${nth}`, [`10.0.${nth}.0/24`]))
      await timers.pass(1000)
    }
    expect([writes - before, (await status()).families?.[0]?.nodes]).toEqual([0, 0])
    await timers.pass(11_000)
    expect([writes - before, (await status()).families?.[0]?.nodes]).toEqual([1, 20])
    await create(node('foreign', ['10.9.0.0/24']))
    await timers.pass(1000)
    expect([writes - before, (await status()).families?.[0]?.known]).toEqual([2, ['10.0.0.0/16', '10.9.0.0/24']])
    controller.stop()
    await ended
  })

  test('Nodes that all have one subnet send no Events, and their number is published at most once in 30 s', async () => {
    await create(clusterCIDR('a', '10.0.0.0/16'), node('n', ['10.0.0.0/24']), node('m', ['10.0.0.0/24']))
    const timers = new VirtualTimers()
    const events: EventEffect[] = []
    let writes = 0
    const controller = new Controller({
      store: counting(() => writes++),
      planners: [networkViewPlanner({ create: true })],
      timers,
      onEvent: (event) => void events.push(event),
      onProblem: () => {},
    })
    const ended = controller.run()
    await timers.pass(1000)
    const before = writes
    for (let nth = 0; nth < 20; nth++) {
      await create(node(`n${nth}`, ['10.0.0.0/24']))
      await timers.pass(1000)
    }
    expect([writes - before, events]).toEqual([0, []])
    await timers.pass(11_000)
    const consistent = (await status()).conditions?.find(({ type }) => type === 'Consistent')
    expect([writes - before, consistent?.message.slice(0, 66)]).toEqual([
      1,
      'conflicts: 231 (10.0.0.0/24 of Node m overlaps 10.0.0.0/24 of Node',
    ])
    controller.stop()
    await ended
  })

  function counting(onWrite: () => void): Store {
    return new Proxy(store, {
      get(target, name) {
        const member = Reflect.get(target, name)
        if (name !== 'patch') return typeof member === 'function' ? member.bind(target) : member
        return (...given: Parameters<Store['patch']>) => {
          onWrite()
          return target.patch(...given)
        }
      },
    })
  }
})

describe('what is watched', () => {
  const observe = (planner: NetworkViewPlanner, object: KubeObject) => planner.observe({ kind: 'present', object })

  test('an object that can no longer be read counts as it was, and is a problem', () => {
    const planner = networkViewPlanner()
    observe(planner, { ...node('n', ['10.0.0.0/24']), metadata: { name: 'n', uid: 'u', resourceVersion: '1' } })
    const broken = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', uid: 'u', resourceVersion: '2' },
      spec: { podCIDRs: 7 },
    }
    expect(observe(planner, broken)).toEqual(['pods'])
    expect([known(planner.view), planner.view.problems.map(({ about, reason }) => `${about} ${reason}`)]).toEqual([
      ['10.0.0.0/24'],
      ['Node n UnreadableObject'],
    ])
    planner.observe({ kind: 'absent', ref: { apiVersion: 'v1', kind: 'Node', name: 'n' }, uid: 'u' })
    expect([known(planner.view), planner.view.problems]).toEqual([[], []])
  })

  test('only what node IPAM and a view read is remembered of a Node, in one watch', () => {
    const [nodes] = networkViewPlanner().watches
    expect(nodes?.keep).toBe(nodeIPAM().watches[0]?.keep)
    const whole = { ...node('n', ['10.0.0.0/24'], { address: '192.168.0.1' }) }
    const kept = nodes?.keep?.({ ...whole, metadata: { ...whole.metadata, labels: { a: 'b' }, resourceVersion: '7' } })
    expect(JSON.parse(JSON.stringify(kept))).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', uid: 'uid-n', resourceVersion: '7', labels: { a: 'b' } },
      spec: { podCIDRs: ['10.0.0.0/24'] },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
    })
  })

  test('objects of other kinds configure ranges, too', async () => {
    const service = (name: string, ...cidrs: string[]) => ({
      apiVersion: SERVICE_CIDR.apiVersion,
      kind: 'ServiceCIDR',
      metadata: { name },
      spec: { cidrs },
    })
    const sources = [
      {
        kind: SERVICE_CIDR,
        role: 'services' as const,
        cidrsOf: ({ spec }: KubeObject) => (spec as { cidrs: string[] }).cidrs,
      },
    ]
    await create(service('kubernetes', '10.0.96.0/20'), clusterCIDR('a', '10.0.0.0/16'))
    const planner = networkViewPlanner({ sources, create: true })
    await runUntilQuiet(store, [planner], { now })
    expect(planner.view.ipv4.conflicts.map(({ kind, between: [, { name }] }) => [kind, name])).toEqual([
      ['range-service', 'kubernetes'],
    ])
    await store.delete({ ...SERVICE_CIDR, name: 'kubernetes' })
    await runUntilQuiet(store, [planner], { now })
    expect(planner.view.ipv4.conflicts).toEqual([])
  })

  test('a range that leaves stays published for a minute, so that a Node may be seen late', async () => {
    const cidr = '10.0.0.0/16'
    const planner = networkViewPlanner()
    await create(network({}), clusterCIDR('a', cidr))
    await runUntilQuiet(store, [planner], { now })
    const round = async () => {
      const show = (change: Change) => void planner.observe(change)
      const { kind } = await runKey(planner, 'pods', store, { now, show })
      return [kind, ...(await states())]
    }
    // the watch of Nodes is behind: a Node has a subnet of the range by now
    await create(node('n', ['10.0.3.0/24']))
    planner.observe({ kind: 'absent', ref: { ...clusterRef, name: 'a' } })
    expect(await round()).toEqual(['done', `${cidr} Terminating`])
    nowMs += 59_000
    expect(await round()).toEqual(['done', `${cidr} Terminating`])
    observe(planner, node('n', ['10.0.3.0/24']))
    nowMs += 2000
    expect(await round()).toEqual(['done'])
    expect((await status()).families?.[0]?.known).toEqual(['10.0.3.0/24'])
  })

  test.each([{ detailsSeconds: 0 }, { detailsSeconds: Number.NaN }, { name: '' }])(
    'options that mean nothing: %j',
    (options) => {
      expect(() => networkViewPlanner(options)).toThrow(/expected/)
    },
  )
})

test('a second planner that starts late comes to the same view', async () => {
  await create(clusterCIDR('a', '10.0.0.0/16'), node('n', ['10.0.0.0/24']), node('m', ['10.1.0.0/24']))
  const planner = networkViewPlanner({ create: true })
  await runUntilQuiet(store, [planner], { now })
  const nodes = [node('n', ['10.0.0.0/24']), node('m', ['10.1.0.0/24'])]
  expect(plain(planner.view)).toEqual(plain(networkView({ nodes, clusterCIDRs: [clusterCIDR('a', '10.0.0.0/16')] })))
  const published = RangeSet.fromPrefixes(
    ((await status()).families ?? []).flatMap((family) => family.known.map((cidr) => Prefix.parse(cidr))),
  )
  expect(usedBeforeKnown(published, planner.view)).toEqual([])
})
