import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Node, Pod, Service } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import type { Json, KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { type InClusterOptions, inCluster } from 'ipam-kit/provider/in-cluster'
import { networkViewPlanner } from 'ipam-kit/provider/network-view'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { whereaboutsNodeSlices, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import * as External from '../provider/external/world.js'
import { claim, kinds, pool } from '../provider/in-cluster/world.js'
import { definition, SliceWorld } from '../provider/whereabouts/slice-world.js'

/** A planner, and a store with many objects at rest: each object has what it asks for. */
interface World {
  readonly planner: Planner
  readonly store: Store
  readonly external?: ExternalCaller
}

const WORLDS: Readonly<Record<string, (count: number) => World | Promise<World>>> = {
  'service IPs': async (count) => ({
    planner: serviceIPs({ seed: 1 }),
    store: await storeWith(
      [Service, IPAddress, ServiceCIDR],
      [
        { ...ServiceCIDR.info, metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.0.0.0/16'] } },
        ...numbers(count).flatMap((index) => {
          const text = `10.0.${index >> 8}.${index & 255}`
          const parentRef = { group: '', resource: 'services', namespace: 'a', name: `s${index}` }
          const labels = { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' }
          return [
            {
              ...Service.info,
              metadata: { name: `s${index}`, namespace: 'a' },
              spec: { clusterIP: text, clusterIPs: [text] },
            },
            { ...IPAddress.info, metadata: { name: text, labels }, spec: { parentRef } },
          ]
        }),
      ],
    ),
  }),
  'in-cluster pools': (count) => claimsAtRest(count, {}),
  'in-cluster pools that avoid each other': (count) => claimsAtRest(count, { overlaps: 'avoid' }),
  'node IPAM': async (count) => ({ planner: nodeIPAM(), store: await nodesAtRest(count, '10.0.0.0/16') }),
  'network view': async (count) => ({ planner: networkViewPlanner(), store: await nodesAtRest(count, '10.0.0.0/16') }),
  'network view of Nodes in no range': async (count) => ({
    planner: networkViewPlanner(),
    store: await nodesAtRest(count, '10.99.0.0/16'),
  }),
  'external pools': async (count) => {
    const world = new External.World()
    await world.create(External.pool(), ...numbers(count).map((index) => External.claim(`c${index}`)))
    await world.run()
    return { planner: world.start(), store: world.store, external: world.external }
  },
  'sweep of whereabouts': async (count) => ({
    planner: whereaboutsSweep({ createReservations: true }),
    store: await podsAtRest(count),
  }),
  'node slices of whereabouts': async (count) => {
    const ipam = { range: '10.0.0.0/16', node_slice_size: '/24' }
    const world = await new SliceWorld().put(definition('lab/net', ipam))
    await world.nodes(...numbers(count).map((index) => `n${index}`))
    return { planner: whereaboutsNodeSlices(), store: world.store }
  },
}

/** The files that keep such a record, and why they may. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  // to find the subnets in no range, all Nodes would have to be read
  'network view of Nodes in no range': ['provider/network-view/family.ts'],
  // the list of the cloud, in the order in which a pool uses it
  'external pools': ['provider/external/view.ts'],
}

/** A pool, Bound claims, and their IPAddress objects. */
async function claimsAtRest(count: number, options: InClusterOptions): Promise<World> {
  const store = memoryStore({ now: () => 0, kinds })
  for (const object of [pool(['10.0.0.0/16']), ...numbers(count).map((index) => claim(`c${index}`))])
    unwrap(await store.create(object))
  await runUntilQuiet(store, [inCluster(options)], { now: () => 0 })
  return { planner: inCluster(options), store }
}

/**
 * Pools of whereabouts with a row for a Pod and one for an IPAMClaim, and with their reservations.
 */
function podsAtRest(count: number): Promise<Store> {
  const inPools = { namespace: 'kube-system' }
  return storeWith(
    [Pod, IPPool, OverlappingRangeIPReservation, NodeSlicePool, IPAMClaim],
    numbers(count).flatMap((index) => {
      const [range, address, reserved] = [`10.0.${index}.0/24`, `10.0.${index}.1`, `10.0.${index}.2`]
      const row = { id: 'c', podref: `a/p${index}`, ifname: 'net1' }
      const ofClaim = { id: 'c', podref: `a/gone${index}`, ifname: 'net1', ipamclaim: `a/c${index}` }
      const spec = (podref: string) => ({ podref, ifname: 'net1' })
      const networkStatus = JSON.stringify([{ name: 'n', interface: 'net1', ips: [address] }])
      return [
        {
          ...Pod.info,
          metadata: {
            ...{ namespace: 'a', name: `p${index}` },
            annotations: { 'k8s.v1.cni.cncf.io/network-status': networkStatus },
          },
          spec: {},
          status: { phase: 'Running' },
        },
        { ...IPAMClaim.info, metadata: { namespace: 'a', name: `c${index}` }, spec: { network: 'n', interface: '' } },
        {
          ...IPPool.info,
          metadata: { ...inPools, name: range.replace('/', '-') },
          spec: { range, allocations: { '1': row, '2': ofClaim } },
        },
        {
          ...OverlappingRangeIPReservation.info,
          metadata: { ...inPools, name: address },
          spec: spec(row.podref),
        },
        {
          ...OverlappingRangeIPReservation.info,
          metadata: { ...inPools, name: reserved },
          spec: spec(ofClaim.podref),
        },
      ]
    }),
  )
}

/** A range, Nodes with a subnet of 10.0.0.0/16 each, and a ClusterNetwork. */
function nodesAtRest(count: number, ipv4: string): Promise<Store> {
  const finalizers = ['networking.x-k8s.io/cluster-cidr-finalizer']
  return storeWith(
    [Node, ClusterCIDR, ClusterNetwork, ServiceCIDR],
    [
      { ...ClusterCIDR.info, metadata: { name: 'a', finalizers }, spec: { ipv4, perNodeHostBits: 8 } },
      { ...ClusterNetwork.info, metadata: { name: 'pods' }, spec: {} },
      ...numbers(count).map((index) => {
        const podCIDR = `10.0.${index}.0/24`
        return { ...Node.info, metadata: { name: `n${index}` }, spec: { podCIDR, podCIDRs: [podCIDR] } }
      }),
    ],
  )
}

type StoredObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> & {
  readonly spec: Json
  readonly status?: Json
}

async function storeWith(models: readonly { readonly info: KindInfo }[], objects: readonly StoredObject[]) {
  const store = memoryStore({ now: () => 0, kinds: models.map(({ info }) => info) })
  for (const { apiVersion, kind, metadata, spec, status } of objects) {
    unwrap(await store.create({ apiVersion, kind, metadata, spec }))
    if (status === undefined) continue
    const { namespace, name } = metadata
    unwrap(await store.patch({ apiVersion, kind, namespace, name }, { status }, { subresource: 'status' }))
  }
  return store
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/**
 * The number of entries that files of `src/provider` keep in maps and sets, also by way of the
 * allocator: the caller nearest to the map that is not a file of the allocator.
 */
async function entriesByFile(work: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
  const { set } = Map.prototype
  const { add } = Set.prototype
  const { stackTraceLimit, prepareStackTrace } = Error
  const targets: {
    readonly of: WeakRef<Map<unknown, unknown> | Set<unknown>>
    readonly files: Map<unknown, string>
  }[] = []
  const known = new WeakMap<object, Map<unknown, string>>()
  const note = (target: Map<unknown, unknown> | Set<unknown>, key: unknown) => {
    const file = fileOfCaller()
    if (file === undefined) return
    const files = known.get(target) ?? new Map<unknown, string>()
    if (!known.has(target)) targets.push({ of: new WeakRef(target), files })
    known.set(target, files)
    set.call(files, key, file)
  }
  Error.stackTraceLimit = 30
  // lines of the sources take most of the time
  Error.prepareStackTrace = (_, sites) => sites
  Map.prototype.set = function (key, value) {
    note(this, key)
    return set.call(this, key, value)
  }
  Set.prototype.add = function (key) {
    note(this, key)
    return add.call(this, key)
  }
  try {
    await work()
  } finally {
    Map.prototype.set = set
    Set.prototype.add = add
    Object.assign(Error, { stackTraceLimit, prepareStackTrace })
  }
  // what is of one call alone is collected
  await new Promise((done) => setImmediate(done))
  setFlagsFromString('--expose_gc')
  runInNewContext('gc')()
  const counts = new Map<string, number>()
  for (const { of, files } of targets) {
    const target = of.deref()
    for (const [key, file] of files) if (target?.has(key)) counts.set(file, (counts.get(file) ?? 0) + 1)
  }
  return counts
}

function fileOfCaller(): string | undefined {
  for (const site of new Error().stack as unknown as readonly NodeJS.CallSite[]) {
    // a new space places the entries of the ledger anew
    if (site.getMethodName() === 'setSpace' && site.getTypeName() === 'Ledger') return undefined
    const file = /\/src\/([\w/.-]+\.ts)/.exec(site.getFileName() ?? '')?.[1]
    if (file === undefined || file.startsWith('allocator/') || file.startsWith('cidr/')) continue
    return file.startsWith('provider/') ? file : undefined
  }
  return undefined
}

describe('a planner keeps no record of objects at rest', () => {
  test.each(Object.entries(WORLDS))('%s', async (name, worldOf) => {
    const grown = async (count: number) => {
      const { planner, store, external } = await worldOf(count)
      const kept = await entriesByFile(async () => {
        for (const nowMs of [0, 3_600_000]) await runUntilQuiet(store, [planner], { now: () => nowMs, external })
      })
      expect(planner.objects).toBeDefined()
      return kept
    }
    const [few, many] = [await grown(5), await grown(50)]
    const growing = [...many].filter(([file, count]) => count > (few.get(file) ?? 0)).map(([file]) => file)
    expect(growing.sort()).toEqual(EXCEPTIONS[name] ?? [])
  })
})
