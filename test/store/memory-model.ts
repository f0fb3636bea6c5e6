import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ListQuery } from 'ipam-kit/store'
import { START_MS } from './memory-fixture.js'

/**
 * The store, so plain that it is obviously right: an array of objects, an array of all writes, JSON
 * for copying and comparing. It reads only well-formed input: what is refused for its form is
 * tested one rule at a time.
 */

export interface Draft {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Meta
  readonly spec?: unknown
  readonly status?: unknown
}

export interface Meta {
  readonly namespace: string
  readonly name: string
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly finalizers?: readonly string[] | undefined
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
}

export interface Write {
  readonly version: number
  readonly before: Draft | undefined
  readonly after: Draft | undefined
}

export interface Shown {
  readonly type: string
  readonly object: unknown
}

/** An object, or the code of a failure. */
export type Outcome = Draft | string

export class Model {
  objects: Draft[] = []
  readonly writes: Write[] = []
  version = 1
  #uids = 0
  readonly #now: string
  readonly #withoutStatus: string

  /** @param withoutStatus the kind without a status subresource */
  constructor(now: string, withoutStatus: string) {
    this.#now = now
    this.#withoutStatus = withoutStatus
  }

  create(draft: Draft): Outcome {
    if (draft.metadata.resourceVersion) return 'STORE_INVALID'
    if (this.find(draft)) return 'STORE_ALREADY_EXISTS'
    const made = clean({
      ...draft,
      status: draft.kind === this.#withoutStatus ? draft.status : undefined,
      metadata: {
        ...draft.metadata,
        uid: uidOf(++this.#uids),
        resourceVersion: String(this.version + 1),
        generation: 1,
        creationTimestamp: this.#now,
      },
    })
    this.#write(undefined, made)
    return made
  }

  update(draft: Draft, subresource?: 'status'): Outcome {
    const hasStatus = draft.kind !== this.#withoutStatus
    if (subresource && !hasStatus) return 'STORE_INVALID'
    const { uid, resourceVersion, finalizers = [] } = draft.metadata
    if (!resourceVersion) return 'STORE_INVALID'
    const before = this.find(draft)
    if (!before) return 'STORE_NOT_FOUND'
    if (uid && uid !== before.metadata.uid) return 'STORE_CONFLICT'
    if (resourceVersion !== before.metadata.resourceVersion) return 'STORE_CONFLICT'
    if (subresource) return this.#rewrite(before, { ...before, status: draft.status })

    const isLeaving = before.metadata.deletionTimestamp !== undefined
    if (isLeaving && finalizers.some((name) => !before.metadata.finalizers?.includes(name))) return 'STORE_INVALID'
    const { labels: _1, finalizers: _2, ...ofServer } = before.metadata
    const after = {
      ...draft,
      status: hasStatus ? before.status : draft.status,
      metadata: { ...draft.metadata, ...ofServer },
    }
    const content = (object: Draft) => canonical({ ...clean(object), metadata: 0 })
    const generation = before.metadata.generation! + (content(after) === content(before) ? 0 : 1)
    return this.#rewrite(before, { ...after, metadata: { ...after.metadata, generation } })
  }

  patch(
    target: Draft,
    patch: object,
    options: { uid?: string; resourceVersion?: string; subresource?: 'status' },
  ): Outcome {
    const before = this.find(target)
    if (!before) return 'STORE_NOT_FOUND'
    for (const field of ['uid', 'resourceVersion'] as const) {
      if (options[field] !== undefined && options[field] !== before.metadata[field]) return 'STORE_CONFLICT'
    }
    return this.update(merge(before, patch) as Draft, options.subresource)
  }

  delete(target: Draft, options: { uid?: string; resourceVersion?: string }): Outcome {
    const before = this.find(target)
    if (!before) return 'STORE_NOT_FOUND'
    for (const field of ['uid', 'resourceVersion'] as const) {
      if (options[field] !== undefined && options[field] !== before.metadata[field]) return 'STORE_CONFLICT'
    }
    const { metadata } = before
    const resourceVersion = String(this.version + 1)
    if (!metadata.finalizers) {
      this.#write(before, undefined)
      return { ...before, metadata: { ...metadata, resourceVersion } }
    }
    if (metadata.deletionTimestamp) return before
    const after = {
      ...before,
      metadata: {
        ...metadata,
        resourceVersion,
        generation: metadata.generation! + 1,
        deletionTimestamp: this.#now,
        deletionGracePeriodSeconds: 0,
      },
    }
    this.#write(before, after)
    return after
  }

  find({ kind, metadata }: Draft): Draft | undefined {
    return this.objects.find(
      (object) =>
        object.kind === kind &&
        object.metadata.namespace === metadata.namespace &&
        object.metadata.name === metadata.name,
    )
  }

  list(query: ListQuery): Draft[] {
    const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
    return this.objects
      .filter((object) => matches(object, query))
      .sort(({ metadata: a }, { metadata: b }) => order(a.namespace, b.namespace) || order(a.name, b.name))
  }

  /** What a watch shows of the writes after `version`. */
  shown(query: ListQuery, version: number): Shown[] {
    return this.writes
      .filter((write) => write.version > version)
      .flatMap(({ before, after, version }) => {
        const was = before !== undefined && matches(before, query)
        const is = after !== undefined && matches(after, query)
        if (is) return [{ type: was ? 'MODIFIED' : 'ADDED', object: after }]
        if (!was) return []
        return [
          {
            type: 'DELETED',
            object: { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } },
          },
        ]
      })
  }

  #rewrite(before: Draft, changed: Draft): Outcome {
    const after = clean(changed)
    if (canonical(after) === canonical(before)) return before
    if (before.metadata.deletionTimestamp && !after.metadata.finalizers) {
      this.#write(before, undefined)
      return after
    }
    const stamped = { ...after, metadata: { ...after.metadata, resourceVersion: String(this.version + 1) } }
    this.#write(before, stamped)
    return stamped
  }

  #write(before: Draft | undefined, after: Draft | undefined): void {
    this.version++
    this.objects = this.objects.filter((object) => object !== before)
    if (after) this.objects.push(after)
    this.writes.push({ version: this.version, before, after })
  }
}

/** The time at which the store begins, and a number. */
function uidOf(n: number): string {
  const [time, count] = [START_MS, n].map((part) => part.toString(16).padStart(12, '0')) as [string, string]
  return `${time.slice(0, 8)}-${time.slice(8)}-4000-8000-${count}`
}

/** RFC 7396, section 2, as it stands there. */
export function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const merged = new Map<string, unknown>(isObject ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, merge(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

/** The same text for the same JSON. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )
}

export function asObject(draft: Draft): KubeObject {
  return draft as unknown as KubeObject
}

function matches({ kind, metadata }: Draft, query: ListQuery): boolean {
  if (kind !== query.kind) return false
  if (query.namespace !== undefined && metadata.namespace !== query.namespace) return false
  return Object.entries(query.labels ?? {}).every(([key, value]) => metadata.labels?.[key] === value)
}

/** Without undefined fields and empty lists of metadata. */
function clean(draft: Draft): Draft {
  const { labels, finalizers } = draft.metadata
  return JSON.parse(
    JSON.stringify({
      ...draft,
      metadata: {
        ...draft.metadata,
        labels: labels && Object.keys(labels).length > 0 ? labels : undefined,
        finalizers: finalizers?.length ? finalizers : undefined,
      },
    }),
  ) as Draft
}
