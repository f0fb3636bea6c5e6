import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { NETWORK_STATUS_ANNOTATION } from 'ipam-kit/crd/multinet'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** A Pod of a case. */
export interface SweptPod {
  readonly phase: string
  /** The text of its network status. */
  readonly status?: string | undefined
  readonly conditions?: readonly object[] | undefined
  /** Whether it is being deleted, and stays for a finalizer. */
  readonly isDeleting?: boolean | undefined
}

const GRACE_SECONDS = 60
const NAMESPACE = 'kube-system'

/** A store, and a sweep over it that treats evicted Pods as upstream does. */
export class SweepWorld {
  /** The reasons of the events that the sweep has sent. */
  readonly events: string[] = []
  #nowMs = 0
  readonly #store: Store = memoryStore({
    kinds: [IPPool.info, OverlappingRangeIPReservation.info, IPAMClaim.info, Pod.info],
    now: () => this.#nowMs,
  })
  readonly #planner: Planner = whereaboutsSweep({ graceSeconds: GRACE_SECONDS, evictedPods: 'free' })

  async pool(name: string, range: string, podrefs: { readonly [key: string]: string }): Promise<void> {
    const { apiVersion, kind } = IPPool.info
    const allocations = Object.fromEntries(
      Object.entries(podrefs).map(([key, podref]) => [key, { id: `container-${key}`, podref, ifname: 'net1' }]),
    )
    const metadata = { name, namespace: NAMESPACE }
    unwrap(await this.#store.create({ apiVersion, kind, metadata, spec: { range, allocations } }))
  }

  async reservation(name: string, podref: string): Promise<void> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const metadata = { name, namespace: NAMESPACE }
    unwrap(await this.#store.create({ apiVersion, kind, metadata, spec: { podref } }))
  }

  async pod(podref: string, { phase, status, conditions, isDeleting }: SweptPod): Promise<void> {
    const { apiVersion, kind } = Pod.info
    const [namespace = '', name = ''] = podref.split('/')
    const annotations = status === undefined ? {} : { [NETWORK_STATUS_ANNOTATION]: status }
    const finalizers = isDeleting === true ? ['example.com/held'] : []
    const metadata = { name, namespace, annotations, finalizers }
    unwrap(await this.#store.create({ apiVersion, kind, metadata, spec: {} }))
    const patch = { status: { phase, ...(conditions !== undefined && { conditions }) } }
    unwrap(await this.#store.patch({ apiVersion, kind, namespace, name }, patch, { subresource: 'status' }))
    if (isDeleting === true) await this.remove(podref)
  }

  async remove(podref: string): Promise<void> {
    const { apiVersion, kind } = Pod.info
    const [namespace = '', name = ''] = podref.split('/')
    unwrap(await this.#store.delete({ apiVersion, kind, namespace, name }))
  }

  /** Sweeps once. */
  async look(): Promise<void> {
    const onEvent = ({ reason }: { readonly reason: string }) => this.events.push(reason)
    await runUntilQuiet(this.#store, [this.#planner], { now: () => this.#nowMs, onEvent })
  }

  /** Sweeps until the grace period is over. */
  async sweep(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await this.look()
      this.#nowMs += (GRACE_SECONDS + 1) * 1000
    }
  }

  /** The rows of a pool: the Pod by the key. */
  async rows(name: string): Promise<{ readonly [key: string]: string }> {
    const { apiVersion, kind } = IPPool.info
    const pool = IPPool.parse(unwrap(await this.#store.get({ apiVersion, kind, namespace: NAMESPACE, name })))
    const rows = Object.entries(pool.spec.allocations as { readonly [key: string]: { readonly podref: string } })
    return Object.fromEntries(rows.map(([key, { podref }]) => [key, podref]))
  }

  /** The names of the reservations. */
  async reservations(): Promise<readonly string[]> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const { items } = unwrap(await this.#store.list({ apiVersion, kind }))
    return items.map(({ metadata }) => metadata.name)
  }
}
