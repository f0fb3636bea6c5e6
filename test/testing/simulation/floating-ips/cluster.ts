import { Cluster as ClusterModel } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { LEASE } from 'ipam-kit/run'
import type { MergePatch, Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { isAlive, keyOf, MODELS } from './kinds.js'

export type Room = keyof typeof MODELS

/** A change of an object of a cluster. */
export interface ObjectChange {
  readonly cluster: Cluster
  readonly room: Room
  readonly key: string
  readonly before: KubeObject | undefined
  readonly now: KubeObject | undefined
}

/** A cluster: its store, and all its objects as they are stored now. */
export class Cluster {
  readonly name: string
  readonly store: Store
  readonly pools = new Map<string, KubeObject>()
  readonly claims = new Map<string, KubeObject>()
  readonly addresses = new Map<string, KubeObject>()
  readonly servers = new Map<string, KubeObject>()
  /** The name of the process that the Lease names. */
  leaseHolder = ''
  readonly #onChange: (change: ObjectChange) => void
  readonly #watches: AsyncIterator<WatchEvent>[] = []

  constructor(name: string, now: () => number, onChange: (change: ObjectChange) => void) {
    this.name = name
    this.#onChange = onChange
    const kinds = [...Object.values(MODELS).map(({ info }) => info), ClusterModel.info, LEASE]
    // uids are in markers of one cloud: no two clusters may have the same
    const uid = (n: number) => `${name.toLowerCase().padStart(8, '0')}-0000-4000-8000-${String(n).padStart(12, '0')}`
    this.store = memoryStore({ now, kinds, uid })
    for (const room of Object.keys(MODELS) as Room[]) {
      void this.#follow(MODELS[room].info, (object, isDeleted) => this.#note(room, object, isDeleted))
    }
    void this.#follow(LEASE, ({ spec }) => {
      this.leaseHolder = (spec as { readonly holderIdentity?: string }).holderIdentity ?? ''
    })
  }

  /** Ends the watches. */
  async close(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.return?.()))
  }

  /** What people do: a refusal of the store is no mistake. @returns whether it was done */
  async create(object: KubeObject): Promise<boolean> {
    return (await this.store.create(object)).ok
  }

  async patch(room: Room, key: string, patch: MergePatch): Promise<boolean> {
    return (await this.store.patch(refOf(room, key), patch)).ok
  }

  async delete(room: Room, key: string): Promise<boolean> {
    return (await this.store.delete(refOf(room, key))).ok
  }

  /** The IPAddress objects that nothing has asked to delete. */
  get aliveAddresses(): readonly KubeObject[] {
    return [...this.addresses.values()].filter(isAlive)
  }

  /** Deletes what is owned by objects that do not exist, as the collector of a cluster does. */
  async collectGarbage(): Promise<void> {
    const uids = new Set([...this.claims.values(), ...this.servers.values()].map(({ metadata }) => metadata.uid))
    for (const room of ['claims', 'addresses'] as const) {
      for (const [key, { metadata }] of [...this[room]]) {
        const { ownerReferences: owners = [], deletionTimestamp } = metadata
        const isOrphan = owners.length > 0 && owners.every(({ uid }) => !uids.has(uid))
        if (isOrphan && deletionTimestamp === undefined) await this.delete(room, key)
      }
    }
  }

  async #follow(
    { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
    take: (object: KubeObject, isDeleted: boolean) => void,
  ): Promise<void> {
    const watch = this.store.watch({ apiVersion, kind })[Symbol.asyncIterator]()
    this.#watches.push(watch)
    for (let next = await watch.next(); next.done !== true; next = await watch.next()) {
      if ('object' in next.value) take(next.value.object, next.value.type === 'DELETED')
    }
  }

  #note(room: Room, object: KubeObject, isDeleted: boolean): void {
    const key = keyOf(object)
    const before = this[room].get(key)
    const now = isDeleted ? undefined : object
    if (now === undefined) this[room].delete(key)
    else this[room].set(key, now)
    this.#onChange({ cluster: this, room, key, before, now })
  }
}

export function refOf(room: Room, key: string): ObjectRef {
  const { apiVersion, kind } = MODELS[room].info
  const [namespace = '', name = ''] = key.split('/')
  return { apiVersion, kind, namespace, name }
}
