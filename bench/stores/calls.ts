import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import type { Result } from 'ipam-kit/errors'
import type { Store, StoreErrorCode } from 'ipam-kit/store'

/** What is measured: the same calls, done by a store or by its client alone. */
export interface Calls {
  /** Where this side writes. */
  readonly namespace: string
  /** Writes an object that is not there yet. @returns it as it is kept */
  create(object: KubeObject): Promise<KubeObject>
  /**
   * Replaces an object if it is still the one that this was made from. @returns it as it is kept
   */
  update(object: KubeObject): Promise<KubeObject>
  /** All objects of a namespace as they were at one moment, by name. */
  list(namespace: string): Promise<Listed>
  /**
   * Calls back with each object that is written in this side's namespace from now on. @returns ends
   * it
   */
  watch(told: (object: KubeObject) => void): Promise<() => Promise<void>>
}

export interface Listed {
  readonly items: readonly KubeObject[]
  /** Where a watch would go on. */
  readonly resourceVersion: string
}

/** Both sides over one engine. */
export interface Bench {
  /** What it runs with: `PostgreSQL 15.18, pg 8.23.1`. */
  readonly versions: string
  readonly ours: Calls
  /** There is none in memory. */
  readonly raw: Calls | undefined
  close(): Promise<void>
}

export const NAMESPACES = { ours: 'ours', raw: 'raw', many: 'many' } as const

export const KIND: KindInfo = {
  apiVersion: 'bench.ipam-kit.dev/v1',
  kind: 'Address',
  plural: 'addresses',
  namespaced: true,
  statusSubresource: true,
}

const { apiVersion, kind } = KIND
export const GROUP = apiVersion.split('/')[0]!

/** An address that a claim has got, as a provider of Cluster API writes it: 0.8 KB. */
export function addressNamed(namespace: string, name: string): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      labels: { 'cluster.x-k8s.io/cluster-name': 'workload-7', 'ipam.example.com/pool': 'control-plane' },
      annotations: { 'ipam.example.com/allocated-by': 'in-cluster provider of the benchmark' },
      ownerReferences: [
        {
          apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
          kind: 'IPAddressClaim',
          name: `claim-of-${name}`,
          uid: '3e6b5a6e-7d56-4c88-9a52-0f6a4f0f7c11',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      claimRef: { name: `claim-of-${name}` },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'control-plane' },
      address: '2001:db8:7:3::42',
      prefix: 64,
      gateway: '2001:db8:7:3::1',
      writes: 0,
    },
  }
}

/** The calls of a store. The watch is over another one, as if it were another process. */
export function storeCalls(store: Store, watcher: Store = store): Calls {
  const namespace = NAMESPACES.ours
  return {
    namespace,
    create: async (object) => done(await store.create(object)),
    update: async (object) => done(await store.update(object)),
    list: async (from) => done(await store.list({ apiVersion, kind, namespace: from })),
    async watch(told) {
      const events = watcher.watch({ apiVersion, kind, namespace })[Symbol.asyncIterator]()
      // the first event says where it begins
      await events.next()
      const telling = (async () => {
        for (let step = await events.next(); step.done !== true; step = await events.next()) {
          if (step.value.type === 'ERROR') throw new Error(step.value.failure.code)
          if (step.value.type !== 'BOOKMARK') told(step.value.object)
        }
      })()
      return async () => {
        await events.return?.()
        await telling
      }
    },
  }
}

function done<T>(result: Result<T, StoreErrorCode>): T {
  if (result.ok) return result.value
  const { code, context } = result.failure
  throw new Error(`${code} ${JSON.stringify(context)}`)
}
