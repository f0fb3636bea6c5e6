import { type KindInfo, type KubeObject, type ObjectRef, type OwnerReference, refOf } from 'ipam-kit/crd/meta'
import type { EventEffect } from 'ipam-kit/plan'
import { type GcOutcome, gcPlanner } from 'ipam-kit/provider/gc'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store, StoreFailure } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import type { GcPlanner } from '../../../src/provider/gc/planner.js'
import type { QuietResult } from '../../../src/run/run-until-quiet.js'
import type { Propagation } from '../../../src/store/store.js'

const START_MS = Date.UTC(2026, 0, 1)
const kind = (name: string, namespaced: boolean): KindInfo => ({
  apiVersion: 'example.com/v1',
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced,
  statusSubresource: false,
})

const Zone = kind('Zone', false)
export const Box = kind('Box', true)
const Item = kind('Item', true)
/** What the collector watches. */
export const kinds = [Zone, Box, Item]
/** A kind that it does not watch. */
const Other = kind('Other', true)

export interface Traits {
  readonly namespace?: string
  readonly owners?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
}

/**
 * A store, and short words for what the tests do to it. A name is one of a Box, unless it begins
 * with `zone`, `item` or `other`.
 */
export class World {
  nowMs = START_MS
  readonly below: Store
  /** What the collector has asked for since {@link World.run} began, lists left out, in words. */
  readonly asked: string[] = []
  readonly events: EventEffect[] = []
  readonly store: Store

  constructor(
    open: (options: { readonly now: () => number; readonly kinds: readonly KindInfo[] }) => Store = memoryStore,
  ) {
    this.below = open({ now: () => this.nowMs, kinds: [...kinds, Other] })
    const note = (line: string, done: { readonly ok: boolean; readonly failure?: StoreFailure | undefined }) =>
      this.asked.push(done.ok ? line : `${line}: ${done.failure?.code}`)
    this.store = storeOver(this.below, {
      get: (ref) => {
        this.asked.push(`look for ${ref.name}`)
        return this.below.get(ref)
      },
      patch: async (ref, patch, options) => {
        const done = await this.below.patch(ref, patch, options)
        note(Object.keys(patch).length === 0 ? `check ${ref.name}` : `patch ${ref.name}`, done)
        return done
      },
      delete: async (ref, options) => {
        const done = await this.below.delete(ref, options)
        const how = options?.propagation === 'Background' ? '' : ` (${options?.propagation})`
        note(`delete ${ref.name}${how}`, done)
        return done
      },
    })
  }

  /** Creates an object, and gives a reference to it as an owner. */
  async create(name: string, traits: Traits = {}): Promise<OwnerReference> {
    const created = await this.below.create(object(name, traits))
    if (!created.ok) throw new Error(JSON.stringify(created.failure))
    this.nowMs += 1000
    return ownerOf(created.value)
  }

  async delete(name: string, propagation?: Propagation, namespace?: string): Promise<void> {
    const deleted = await this.below.delete(refTo(name, namespace), { propagation })
    if (!deleted.ok) throw new Error(JSON.stringify(deleted.failure))
  }

  async patch(name: string, metadata: object): Promise<void> {
    const patched = await this.below.patch(refTo(name), { metadata: { ...metadata } })
    if (!patched.ok) throw new Error(JSON.stringify(patched.failure))
  }

  /** Runs a fresh collector until nothing is left to do. */
  async run(store: Store = this.store, planner: GcPlanner = gcPlanner({ kinds })): Promise<QuietResult<GcOutcome>> {
    this.asked.length = 0
    this.events.length = 0
    return runUntilQuiet(store, [planner], { now: () => this.nowMs, onEvent: (event) => this.events.push(event) })
  }

  async objects(): Promise<readonly KubeObject[]> {
    const objects: KubeObject[] = []
    for (const { apiVersion, kind } of [...kinds, Other]) {
      const listed = await this.below.list({ apiVersion, kind })
      if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
      objects.push(...listed.value.items)
    }
    return objects
  }

  /**
   * What is stored, in words: `box <- zone, other box!, +foreign` is a Box with three owners and a
   * finalizer, the last of which it holds up.
   */
  async state(): Promise<string[]> {
    const objects = await this.objects()
    const names = new Map(objects.map((it) => [it.metadata.uid, it.metadata.name]))
    return objects.map((it) => describe(it, names)).sort()
  }

  async get(name: string, namespace?: string): Promise<KubeObject> {
    const got = await this.below.get(refTo(name, namespace))
    if (!got.ok) throw new Error(JSON.stringify(got.failure))
    return got.value
  }
}

function describe({ metadata }: KubeObject, names: ReadonlyMap<string | undefined, string>): string {
  const owners = (metadata.ownerReferences ?? []).map(
    (it) => `${names.get(it.uid) ?? '?'}${it.blockOwnerDeletion ? '!' : ''}`,
  )
  const finalizers = (metadata.finalizers ?? []).map((it) => `+${it}`)
  const ties = [...owners, ...finalizers]
  const name = metadata.deletionTimestamp === undefined ? metadata.name : `(${metadata.name})`
  return ties.length === 0 ? name : `${name} <- ${ties.join(', ')}`
}

export function kindFor(name: string): KindInfo {
  return [Zone, Item, Other].find((it) => name.startsWith(it.kind.toLowerCase())) ?? Box
}

export function refTo(name: string, namespace = 'default'): ObjectRef {
  const { apiVersion, kind, namespaced } = kindFor(name)
  return namespaced ? { apiVersion, kind, namespace, name } : { apiVersion, kind, name }
}

export function object(name: string, { namespace, owners, finalizers }: Traits = {}): KubeObject {
  const { apiVersion, kind, ...place } = refTo(name, namespace)
  return {
    apiVersion,
    kind,
    metadata: {
      ...place,
      ...(owners === undefined ? {} : { ownerReferences: owners }),
      ...(finalizers === undefined ? {} : { finalizers }),
    },
  }
}

export function ownerOf(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, name } = refOf(owner)
  return { apiVersion, kind, name, uid: owner.metadata.uid as string }
}

export const blocking = (owner: OwnerReference): OwnerReference => ({ ...owner, blockOwnerDeletion: true })
/** A reference to an object of that name that does not exist. */
export const gone = (name: string): OwnerReference => ({
  apiVersion: 'example.com/v1',
  kind: kindFor(name).kind,
  name,
  uid: `uid-of-${name}`,
})
