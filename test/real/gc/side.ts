import { isDeepStrictEqual } from 'node:util'
import type { KindInfo, KubeObject, ObjectRef, OwnerReference } from '../../../src/crd/meta/object.js'
import type { Result } from '../../../src/errors/index.js'
import type { Store } from '../../../src/store/index.js'
import type { Propagation } from '../../../src/store/store.js'

// Objects for the collectors, and one of the two places where they are collected: each has uids of
// its own for the same objects.

export const FOREIGN = 'example.com/held'

const kind = (name: string, plural: string, namespaced: boolean): KindInfo => ({
  apiVersion: 'gc.example.com/v1',
  kind: name,
  plural,
  namespaced,
  statusSubresource: false,
})

export const kinds = [kind('Zone', 'zones', false), kind('Box', 'boxes', true), kind('Item', 'items', true)] as const

/** An object that was made once. Another one of its name is another. */
export interface Made {
  readonly id: number
  readonly kind: KindInfo
  readonly name: string
  readonly namespace: string | undefined
}

/**
 * A reference to an owner: under another name, kind or version than its own, where that is given.
 */
export interface Owned {
  /** None: an owner that never existed. */
  readonly owner: Made | undefined
  readonly blocks: boolean | undefined
  readonly as?: { readonly name?: string; readonly kind?: string; readonly apiVersion?: string }
}

/** One step of people. */
export type Act =
  | {
      readonly do: 'create'
      readonly made: Made
      readonly owners: readonly Owned[]
      readonly finalizers: readonly string[]
    }
  | { readonly do: 'own'; readonly made: Made; readonly owners: readonly Owned[] }
  | { readonly do: 'delete'; readonly made: Made; readonly propagation: Propagation | undefined }
  | { readonly do: 'free'; readonly made: Made }

const NOBODY = '00000000-0000-4000-8000-000000000000'

/** A store, with the uids that it gave. */
export class Side {
  readonly #store: Store
  readonly #uids = new Map<number, string>()

  constructor(store: Store) {
    this.#store = store
  }

  async act(act: Act): Promise<void> {
    const ref = refOf(act.made)
    switch (act.do) {
      case 'create': {
        const { apiVersion, kind, ...place } = ref
        const metadata = { ...place, ownerReferences: this.#references(act.owners), finalizers: act.finalizers }
        const created = done(await this.#store.create({ apiVersion, kind, metadata }))
        this.#uids.set(act.made.id, created.metadata.uid!)
        return
      }
      case 'own':
        done(await this.#store.patch(ref, { metadata: { ownerReferences: this.#references(act.owners) } }))
        return
      case 'delete': {
        const { propagation } = act
        done(await this.#store.delete(ref, propagation === undefined ? {} : { propagation }))
        return
      }
      case 'free': {
        const found = done(await this.#store.get(ref))
        const finalizers = (found.metadata.finalizers ?? []).filter((it) => it !== FOREIGN)
        done(await this.#store.patch(ref, { metadata: { finalizers } }))
      }
    }
  }

  /** What there is, by name: without all that each store has its own way with. */
  async state(): Promise<ReadonlyMap<string, string>> {
    const ids = new Map([...this.#uids].map(([id, uid]) => [uid, id]))
    const state = new Map<string, string>()
    for (const { apiVersion, kind } of kinds) {
      for (const object of done(await this.#store.list({ apiVersion, kind })).items) {
        state.set(placeOf(object.metadata), shown(object, ids))
      }
    }
    return state
  }

  #references(owners: readonly Owned[]): OwnerReference[] {
    return owners.map(({ owner, blocks, as }) => {
      const { apiVersion, kind, name } = owner === undefined ? { ...refOfKind(kinds[1]), name: 'nobody' } : refOf(owner)
      const uid = owner === undefined ? NOBODY : this.#uids.get(owner.id)!
      return { apiVersion, kind, name, uid, ...(blocks === undefined ? {} : { blockOwnerDeletion: blocks }), ...as }
    })
  }
}

function done<T>(answer: Result<T>): T {
  if (!answer.ok) throw new Error(answer.failure.message)
  return answer.value
}

function refOf({ kind, name, namespace }: Made): ObjectRef {
  return namespace === undefined ? { ...refOfKind(kind), name } : { ...refOfKind(kind), namespace, name }
}

function refOfKind({ apiVersion, kind }: KindInfo) {
  return { apiVersion, kind }
}

export function placeOf({
  namespace,
  name,
}: {
  readonly namespace?: string | undefined
  readonly name: string
}): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/**
 * `(3) <- 1! 2, example.com/held`: object 3, which is being deleted and held by that, with owner 1,
 * whom it holds up, and 2.
 */
function shown({ metadata }: KubeObject, ids: ReadonlyMap<string | undefined, number>): string {
  const { uid, deletionTimestamp, ownerReferences = [], finalizers = [] } = metadata
  const id = ids.get(uid) ?? '?'
  const owners = ownerReferences.map(({ uid, name, blockOwnerDeletion: blocks }) => {
    return `${ids.get(uid) ?? 'nobody'}:${name}${blocks === undefined ? '' : blocks ? '!' : '-'}`
  })
  const parts = [owners.length === 0 ? '' : ` <- ${owners.join(' ')}`, ...finalizers.map((it) => `, ${it}`)]
  return `${deletionTimestamp === undefined ? id : `(${id})`}${parts.join('')}`
}

/** The part of a state that is of some places. */
export function partOf(state: ReadonlyMap<string, string>, isIn: (place: string) => boolean): Record<string, string> {
  return Object.fromEntries([...state].filter(([place]) => isIn(place)).sort())
}

export const isSame = isDeepStrictEqual
