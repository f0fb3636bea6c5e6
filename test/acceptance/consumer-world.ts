import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPAddressClaim as Claims } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Plan } from 'ipam-kit/plan'
import { runPlan } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { isRecord } from './answer.js'

/** A store with an owner and claims, in which plans are carried out. */
export class ConsumerWorld {
  readonly #store

  constructor(owner: Pick<KubeObject, 'apiVersion' | 'kind'>) {
    const owners = { ...owner, plural: `${owner.kind.toLowerCase()}s`, namespaced: true, statusSubresource: true }
    this.#store = memoryStore({ now: () => 0, kinds: [Claims.info, owners] })
  }

  /**
   * Stores an object, and its status with it. One that is on its way out is deleted: its finalizers
   * hold it.
   */
  async put(object: KubeObject): Promise<KubeObject> {
    const { uid: _uid, resourceVersion: _version, deletionTimestamp, ...metadata } = object.metadata
    const created = unwrap(await this.#store.create({ ...object, metadata }))
    const ref = refTo(created)
    if (isRecord(object.status) && Object.keys(object.status).length > 0) {
      await this.#store.patch(ref, { status: object.status }, { subresource: 'status' })
    }
    if (deletionTimestamp !== undefined) await this.#store.delete(ref)
    const stored = await this.#store.get(ref)
    return stored.ok ? stored.value : created
  }

  /** Carries a plan out. Throws if it cannot be. */
  async run(plan: Plan): Promise<void> {
    const ran = await runPlan(plan, this.#store)
    if (ran.kind !== 'done') throw new Error(`${ran.kind}: ${ran.failure.code}`)
  }

  async get(ref: ObjectRef): Promise<KubeObject | undefined> {
    const found = await this.#store.get(ref)
    return found.ok ? found.value : undefined
  }

  async patch(ref: ObjectRef, patch: { readonly [field: string]: unknown }): Promise<void> {
    unwrap(await this.#store.patch(ref, patch))
  }

  /** All claims, by name. */
  async claims(): Promise<readonly IPAddressClaim[]> {
    const listed = await this.#store.list(Claims.info)
    if (!listed.ok) throw new Error(listed.failure.code)
    return listed.value.items.map((item) => Claims.parse(item))
  }
}

export function refTo({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name }
}

/**
 * What a case asks of a value, and no more: of each object in it the fields that it names, `null`
 * for one that is not there.
 */
export function askedOf(asked: unknown, value: unknown): unknown {
  if (Array.isArray(asked) && Array.isArray(value)) {
    return value.map((item, index) => (asked[index] === undefined ? item : askedOf(asked[index], item)))
  }
  if (!isRecord(asked) || !isRecord(value)) return value ?? null
  return Object.fromEntries(Object.entries(asked).map(([key, inner]) => [key, askedOf(inner, value[key])]))
}
