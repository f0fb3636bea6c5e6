import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { type WhereaboutsSweepOptions, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { Pod } from '../../../../src/crd/core/pod.js'

const NAMESPACE = 'kube-system'
const GRACE_S = 60

/** What a Pod of a test has. */
export interface PodOf {
  readonly phase?: string
  /** Its network status: addresses of its interfaces, or the text of the annotation. */
  readonly status?: readonly string[] | string
  readonly more?: object
  readonly conditions?: readonly object[]
}

/** A store with objects of whereabouts, and a sweep that runs over it with a clock. */
export class World {
  nowMs = 1_000_000
  readonly store: Store
  readonly planner: Planner

  constructor(options: WhereaboutsSweepOptions = {}) {
    const kinds = [IPPool.info, OverlappingRangeIPReservation.info, NodeSlicePool.info, IPAMClaim.info, Pod.info]
    this.store = memoryStore({ kinds, now: () => this.nowMs })
    this.planner = whereaboutsSweep({ graceSeconds: GRACE_S, ...options })
  }

  /** Sweeps, waits for the grace period, and sweeps until there is nothing left to do. */
  async sweep(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      await this.look()
      this.nowMs += (GRACE_S + 1) * 1000
    }
  }

  /** Sweeps once. */
  async look() {
    const { failures, outcomes } = await runUntilQuiet(this.store, [this.planner], { now: () => this.nowMs })
    return { failures, outcomes: Object.fromEntries(outcomes) }
  }

  /** A pool with rows: a Pod for each key. */
  async pool(name: string, range: string, rows: { readonly [key: string]: unknown }): Promise<void> {
    const allocations = Object.fromEntries(
      Object.entries(rows).map(([key, row]) => [
        key,
        typeof row === 'string' ? { id: `c-${key}`, podref: row, ifname: 'net1' } : row,
      ]),
    )
    const { apiVersion, kind } = IPPool.info
    const spec = { range, allocations }
    unwrap(await this.store.create({ apiVersion, kind, metadata: { name, namespace: NAMESPACE }, spec } as never))
  }

  async reservation(name: string, podref: string): Promise<void> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const metadata = { name, namespace: NAMESPACE }
    unwrap(await this.store.create({ apiVersion, kind, metadata, spec: { podref, ifname: 'net1' } }))
  }

  async create(object: object): Promise<void> {
    unwrap(await this.store.create(object as never))
  }

  async pod(podref: string, { phase = 'Running', status, more, conditions }: PodOf = {}): Promise<void> {
    const [namespace, name] = podref.split('/')
    const text =
      status === undefined || typeof status === 'string'
        ? status
        : JSON.stringify([
            { name: 'cluster', default: true },
            { name: 'n', interface: 'net1', ips: status },
          ])
    const annotations = text === undefined ? {} : { annotations: { 'k8s.v1.cni.cncf.io/network-status': text } }
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, ...annotations, ...more }, spec: {} }
    unwrap(await this.store.create(object as never))
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name: name as string }
    unwrap(await this.store.patch(ref, { status: { phase, conditions } } as never, { subresource: 'status' }))
  }

  async remove(podref: string): Promise<void> {
    const [namespace, name] = podref.split('/')
    unwrap(await this.store.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: name as string }))
  }

  /** The keys of the rows of a pool. */
  async rows(name: string): Promise<readonly string[]> {
    const { apiVersion, kind } = IPPool.info
    const object = unwrap(await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name }))
    return Object.keys((object as IPPool).spec.allocations)
  }

  /** Reservations by name, each with its Pod. */
  async reservations(): Promise<{ readonly [name: string]: string }> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const { items } = unwrap(await this.store.list({ apiVersion, kind }))
    const read = items.map((object) => OverlappingRangeIPReservation.parse(object))
    return Object.fromEntries(read.map(({ metadata, spec }) => [metadata.name, spec.podref]))
  }
}
