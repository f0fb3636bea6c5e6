import fc from 'fast-check'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Change } from 'ipam-kit/plan'
import { acceptedRanges, networkView, networkViewPlanner } from 'ipam-kit/provider/network-view'
import { runKey } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { isDeep, runs } from '../../setup/depth.js'
import { clusterCIDR, node, plain } from './world.js'

// The rule: an address is published before its first use, and until its last use. Watches of Nodes
// and of ranges are late, each by itself, and by less than the grace period.

const LATEST_MS = 30_000
const networkRef = { apiVersion: ClusterNetwork.info.apiVersion, kind: 'ClusterNetwork', name: 'pods' }
const rangeName = fc.constantFrom('a', 'b', 'c')
const nodeName = fc.constantFrom('n1', 'n2', 'n3', 'n4')

const event = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('add range' as const), name: rangeName, held: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('delete range' as const), name: rangeName }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('accept' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add node' as const), name: nodeName, pick: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete node' as const), name: nodeName }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('deliver' as const),
      kind: fc.constantFrom('Node', 'ClusterCIDR', 'ClusterNetwork'),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('plan' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
)
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

class World {
  nowMs = Date.UTC(2026, 0, 1)
  readonly store = memoryStore({ now: () => this.nowMs, kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info] })
  readonly planner
  readonly late: { readonly atMs: number; readonly change: Change }[] = []
  #made = 0

  constructor(graceSeconds: number) {
    this.planner = networkViewPlanner({ graceSeconds })
  }

  async begin(): Promise<void> {
    const created = await this.store.create({
      apiVersion: networkRef.apiVersion,
      kind: networkRef.kind,
      metadata: { name: 'pods' },
      spec: { consumers: [{ name: 'kube-proxy' }] },
    } as KubeObject)
    if (created.ok) this.tell({ kind: 'present', object: created.value })
    for (const name of ['a', 'b']) await this.#addRange(name, name === 'b')
    for (let round = 0; round < 2; round++) {
      this.deliver(() => true)
      await this.plan()
      await this.#accept()
    }
    this.deliver(() => true)
    await this.plan()
  }

  /** @param isHeld a finalizer keeps the object when it is deleted */
  async #addRange(name: string, isHeld: boolean): Promise<void> {
    const { metadata, ...range } = clusterCIDR(name, `10.${name.charCodeAt(0)}.0.0/16`)
    await this.#create({ ...range, metadata: { ...metadata, ...(isHeld ? { finalizers: ['example.com/hold'] } : {}) } })
  }

  /** A watch tells of it later. */
  tell(change: Change): void {
    this.late.push({ atMs: this.nowMs, change })
  }

  deliver(isDue: (entry: { readonly atMs: number; readonly change: Change }) => boolean): void {
    for (const entry of [...this.late]) {
      if (!isDue(entry)) continue
      this.late.splice(this.late.indexOf(entry), 1)
      this.planner.observe(entry.change)
    }
  }

  async apply(step: Event): Promise<void> {
    switch (step.do) {
      case 'add range':
        return this.#addRange(step.name, step.held)
      case 'delete range':
        return this.#delete({ ...ClusterCIDR.info, name: step.name })
      case 'delete node':
        return this.#delete({ ...Node.info, name: step.name })
      case 'accept':
        return this.#accept()
      case 'add node':
        return this.#addNode(step.name, step.pick)
      case 'deliver':
        return this.deliver(({ change }) => (change.kind === 'present' ? change.object : change.ref).kind === step.kind)
      case 'plan':
        return this.plan()
      case 'wait':
        this.nowMs += 10_000
        this.deliver(({ atMs }) => this.nowMs - atMs >= LATEST_MS)
    }
  }

  async plan(): Promise<void> {
    await runKey(this.planner, 'pods', this.store, {
      now: () => this.nowMs,
      show: (change) => void this.planner.observe(change),
    })
  }

  async network(): Promise<ClusterNetwork> {
    const read = await this.store.get(networkRef)
    if (!read.ok) throw new Error('no ClusterNetwork')
    return ClusterNetwork.parse(read.value)
  }

  async all(kind: typeof Node.info | typeof ClusterCIDR.info): Promise<readonly KubeObject[]> {
    const listed = await this.store.list(kind)
    return listed.ok ? listed.value.items : []
  }

  /** What is in use, and not published. */
  async unpublished(): Promise<readonly string[]> {
    const { status } = await this.network()
    const published = RangeSet.parse((status?.families ?? []).flatMap(({ known }) => known))
    const used = (await this.all(Node.info)).flatMap((object) => Node.parse(object).spec.podCIDRs ?? [])
    return used.filter((cidr) => !RangeSet.contains(published, Prefix.parse(cidr)))
  }

  async #create({ metadata: { uid, ...metadata }, ...object }: KubeObject): Promise<void> {
    const created = await this.store.create({ ...object, metadata })
    if (created.ok) this.tell({ kind: 'present', object: created.value })
  }

  async #delete(ref: { readonly apiVersion: string; readonly kind: string; readonly name: string }): Promise<void> {
    const { apiVersion, kind, name } = ref
    const read = await this.store.get({ apiVersion, kind, name })
    if (!read.ok) return
    await this.store.delete({ apiVersion, kind, name })
    const left = await this.store.get({ apiVersion, kind, name })
    if (left.ok) return this.tell({ kind: 'present', object: left.value })
    this.tell({ kind: 'absent', ref: { apiVersion, kind, name }, uid: read.value.metadata.uid })
  }

  async #accept(): Promise<void> {
    const { status } = await this.network()
    const answers = (status?.ranges ?? []).map(({ cidr }) => ({ cidr, consumer: 'kube-proxy', accepted: true }))
    const patched = await this.store.patch(networkRef, { status: { answers } }, { subresource: 'status' })
    if (patched.ok) this.tell({ kind: 'present', object: patched.value })
  }

  /**
   * Gives a new Node a subnet of a range that is accepted and not deleted, as the published object
   * and the store say.
   */
  async #addNode(name: string, pick: number): Promise<void> {
    const accepted = acceptedRanges(await this.network()) ?? new Set()
    const live = (await this.all(ClusterCIDR.info)).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const ranges = live.map((object) => ClusterCIDR.parse(object).spec.ipv4 ?? '')
    const usable = ranges.filter((cidr) => accepted.has(cidr))
    const range = usable[pick % Math.max(1, usable.length)]
    if (range === undefined) return
    const first = Address.add(Prefix.first(Prefix.parse(range)), BigInt((this.#made++ % 4096) * 16))
    await this.#create(node(name, [Prefix.format(Prefix.of(first, 28))]))
  }
}

test('an address is published before its first use and until its last use', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 60 }), async (events) => {
      const world = new World(60)
      await world.begin()
      for (const step of events) {
        await world.apply(step)
        expect(await world.unpublished()).toEqual([])
      }
      // in the end all is told, and the published object is the view of what is stored
      world.deliver(() => true)
      const { planner } = world
      const stored = networkView({
        nodes: (await world.all(Node.info)).map((object) => Node.parse(object)),
        clusterCIDRs: (await world.all(ClusterCIDR.info)).map((object) => ClusterCIDR.parse(object)),
        accepted: acceptedRanges(await world.network()),
      })
      expect(plain(planner.view)).toEqual(plain(stored))
      for (let plans = 0; plans < 3; plans++) {
        await world.plan()
        world.nowMs += 61_000
      }
      const { status } = await world.network()
      const published = (status?.families ?? []).flatMap(({ known }) => known)
      expect(published).toEqual(RangeSet.formatPrefixes(stored.known))
    }),
    { numRuns: runs(isDeep ? 10 : 4) },
  )
})
