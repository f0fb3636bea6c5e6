import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import type { InClusterIPPoolSpec } from '../../../src/crd/in-cluster/pools.js'
import type { InClusterPlanner } from '../../../src/provider/in-cluster/planner.js'
import type { QuietResult } from '../../../src/run/run-until-quiet.js'

const START_MS = Date.UTC(2026, 0, 1)

export const kinds = [IPAddressClaim, IPAddress, Cluster, ...poolModels].map((model) => model.info)

/**
 * A store with a clock that only moves when told to, and short words for what the tests do to it.
 */
export class World {
  nowMs = START_MS
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const created = await this.store.create(object)
      if (!created.ok) throw new Error(JSON.stringify(created.failure))
      this.nowMs += 1000
    }
  }

  /** Runs a fresh provider until nothing is left to do, on this store or on one over it. */
  async run(store: Store = this.store, planner: InClusterPlanner = inCluster()): Promise<QuietResult> {
    return runUntilQuiet(store, [planner], { now: () => this.nowMs })
  }

  async delete(kind: 'claim' | 'address' | 'pool' | 'cluster', name: string, namespace = 'default'): Promise<void> {
    const model = { claim: IPAddressClaim, address: IPAddress, pool: InClusterIPPool, cluster: Cluster }[kind]
    const deleted = await this.store.delete({ ...ref(model.info, name), namespace })
    if (!deleted.ok) throw new Error(JSON.stringify(deleted.failure))
  }

  async patch(reference: ObjectRef, patch: { readonly [field: string]: unknown }): Promise<void> {
    const patched = await this.store.patch(reference, patch)
    if (!patched.ok) throw new Error(JSON.stringify(patched.failure))
  }

  async claims(): Promise<readonly IPAddressClaim[]> {
    return this.#all(IPAddressClaim.info, IPAddressClaim.parse)
  }

  async addresses(): Promise<readonly IPAddress[]> {
    return this.#all(IPAddress.info, IPAddress.parse)
  }

  async claim(name: string): Promise<IPAddressClaim> {
    return IPAddressClaim.parse(await this.get({ ...ref(IPAddressClaim.info, name), namespace: 'default' }))
  }

  async address(name: string): Promise<IPAddress> {
    return IPAddress.parse(await this.get({ ...ref(IPAddress.info, name), namespace: 'default' }))
  }

  async pool(name = 'pool'): Promise<InClusterIPPool> {
    return InClusterIPPool.parse(await this.get({ ...ref(InClusterIPPool.info, name), namespace: 'default' }))
  }

  async get(reference: ObjectRef): Promise<KubeObject> {
    const got = await this.store.get(reference)
    if (!got.ok) throw new Error(JSON.stringify(got.failure))
    return got.value
  }

  /** Which claim has which address. */
  async bindings(): Promise<{ [claim: string]: string }> {
    const addresses = await this.addresses()
    return Object.fromEntries(addresses.map((it) => [`${it.metadata.namespace}/${it.metadata.name}`, it.spec.address]))
  }

  /** Everything that is stored, without what differs from run to run. */
  async state(): Promise<unknown> {
    const state: { [key: string]: unknown } = {}
    for (const kind of kinds) {
      const listed = await this.store.list(kind)
      if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
      for (const object of listed.value.items) {
        const { uid: _u, resourceVersion: _r, generation: _g, ownerReferences, ...metadata } = object.metadata
        const owners = ownerReferences?.map(({ uid: _, ...owner }) => owner)
        state[`${kind.kind}/${metadata.namespace ?? ''}/${metadata.name}`] = {
          ...object,
          metadata: { ...metadata, owners },
        }
      }
    }
    return state
  }

  async #all<T>(
    kind: { readonly apiVersion: string; readonly kind: string },
    parse: (json: unknown) => T,
  ): Promise<T[]> {
    const listed = await this.store.list(kind)
    if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
    return listed.value.items.map(parse)
  }
}

export function claim(name: string, overrides: Overrides = {}): IPAddressClaim {
  const { poolRef, clusterName, ...metadata } = overrides
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name, namespace: 'default', ...metadata },
    spec: {
      ...(clusterName === undefined ? {} : { clusterName }),
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool', ...poolRef },
    },
  }
}

interface Overrides {
  readonly namespace?: string
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly clusterName?: string
  readonly poolRef?: { readonly apiGroup?: string; readonly kind?: string; readonly name?: string }
}

export function pool(
  addresses: readonly string[],
  spec: Partial<InClusterIPPoolSpec> = {},
  name = 'pool',
): InClusterIPPool {
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind: 'InClusterIPPool',
    metadata: { name, namespace: 'default' },
    spec: { addresses, prefix: 24, ...spec },
  }
}

export function poolOf(kind: InClusterPool['kind'], spec: object, name = 'pool'): KubeObject {
  const namespace = kind.startsWith('Global') ? {} : { namespace: 'default' }
  return { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind, metadata: { name, ...namespace }, spec }
}

export function cluster(name: string, spec: { readonly paused?: boolean } = {}): Cluster {
  return { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name, namespace: 'default' }, spec }
}

function ref(kind: { readonly apiVersion: string; readonly kind: string }, name: string): ObjectRef {
  return { apiVersion: kind.apiVersion, kind: kind.kind, namespace: 'default', name }
}

export const claimRef = (name: string): ObjectRef => ref(IPAddressClaim.info, name)
export const addressRef = (name: string): ObjectRef => ref(IPAddress.info, name)
export const poolRef = (name = 'pool'): ObjectRef => ref(InClusterIPPool.info, name)
export const clusterRef = (name: string): ObjectRef => ref(Cluster.info, name)

/** An IPAddress of the pool `pool`, with 10.0.0.5, as it may be written by hand. */
export const addressObject = (name: string, spec: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddress',
  metadata: { name, namespace: 'default', ...metadata },
  spec: {
    claimRef: { name },
    poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' },
    address: '10.0.0.5',
    prefix: 24,
    ...spec,
  },
})
