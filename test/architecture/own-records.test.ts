import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { type InClusterOptions, inCluster } from 'ipam-kit/provider/in-cluster'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { claim, kinds, pool } from '../provider/in-cluster/world.js'

/** Planners with many objects at rest: each object has what it asks for. */
const WORLDS: Readonly<
  Record<string, { planner(): Planner; objects(count: number): readonly KubeObject[] | Promise<readonly KubeObject[]> }>
> = {
  'service IPs': {
    planner: () => serviceIPs({ seed: 1 }),
    objects: (count) =>
      numbers(count).flatMap((index) => {
        const text = `10.0.${index >> 8}.${index & 255}`
        const metadata = { name: `s${index}`, namespace: 'a', uid: `s${index}`, resourceVersion: '1' }
        const parentRef = { group: '', resource: 'services', namespace: 'a', name: `s${index}` }
        const labels = { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' }
        return [
          { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: text, clusterIPs: [text] } },
          {
            apiVersion: 'networking.k8s.io/v1',
            kind: 'IPAddress',
            metadata: { name: text, uid: text, resourceVersion: '1', labels },
            spec: { parentRef },
          },
        ] as KubeObject[]
      }),
  },
  'in-cluster pools': { planner: () => inCluster(), objects: (count) => claimsAtRest(count, {}) },
  'in-cluster pools that avoid each other': {
    planner: () => inCluster({ overlaps: 'avoid' }),
    objects: (count) => claimsAtRest(count, { overlaps: 'avoid' }),
  },
  'node IPAM': {
    planner: () => nodeIPAM(),
    objects: (count) => [
      {
        apiVersion: 'networking.x-k8s.io/v1',
        kind: 'ClusterCIDR',
        metadata: { name: 'a', uid: 'a', finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'] },
        spec: { ipv4: '10.0.0.0/16', perNodeHostBits: 8 },
      } as KubeObject,
      ...numbers(count).map((index) => ({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: `n${index}`, uid: `n${index}`, resourceVersion: '1' },
        spec: { podCIDR: `10.0.${index}.0/24`, podCIDRs: [`10.0.${index}.0/24`] },
      })),
    ],
  },
}

/** A pool, Bound claims, and their IPAddress objects. */
async function claimsAtRest(count: number, options: InClusterOptions): Promise<readonly KubeObject[]> {
  const store = memoryStore({ now: () => 0, kinds })
  unwrap(await store.create(pool(['10.0.0.0/16'])))
  for (const index of numbers(count)) unwrap(await store.create(claim(`c${index}`)))
  await runUntilQuiet(store, [inCluster(options)], { now: () => 0 })
  const lists = await Promise.all(kinds.map(async (kind) => unwrap(await store.list(kind)).items))
  return lists.flat()
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/**
 * The number of entries that files of `src/provider` keep in maps and sets, also by way of the
 * allocator: the caller nearest to the map that is not a file of the allocator.
 */
async function entriesByFile(work: () => void): Promise<ReadonlyMap<string, number>> {
  const { set } = Map.prototype
  const { add } = Set.prototype
  const { stackTraceLimit } = Error
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
  Map.prototype.set = function (key, value) {
    note(this, key)
    return set.call(this, key, value)
  }
  Set.prototype.add = function (key) {
    note(this, key)
    return add.call(this, key)
  }
  try {
    work()
  } finally {
    Map.prototype.set = set
    Set.prototype.add = add
    Error.stackTraceLimit = stackTraceLimit
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
  for (const line of (new Error().stack ?? '').split('\n')) {
    const file = /\/src\/([\w/.-]+\.ts)/.exec(line)?.[1]
    if (file === undefined || file.startsWith('allocator/') || file.startsWith('cidr/')) continue
    return file.startsWith('provider/') ? file : undefined
  }
  return undefined
}

describe('a planner keeps no record of objects at rest', () => {
  test.each(Object.entries(WORLDS))('%s', async (_, { planner, objects }) => {
    const grown = async (count: number) => {
      const one = planner()
      const all = await objects(count)
      const kept = await entriesByFile(() => {
        for (const object of all)
          for (const key of one.observe({ kind: 'present', object })) one.plan(key, { nowMs: 0 })
        for (const object of all) {
          const { namespace, name } = object.metadata
          one.plan([object.kind, namespace === undefined ? name : `${namespace}/${name}`].join(' '), {
            nowMs: 3_600_000,
          })
        }
      })
      expect(one.objects).toBeDefined()
      return kept
    }
    const [few, many] = [await grown(5), await grown(50)]
    const growing = [...many].filter(([file, count]) => count > (few.get(file) ?? 0))
    expect(growing).toEqual([])
  })
})
