import { isDeepStrictEqual } from 'node:util'
import { Meta } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import type { Store, StoreFailure, StoreResult } from 'ipam-kit/store'

/** What became of an object: `kept` is one that is on its way out, and left alone. */
export type Applied = 'created' | 'changed' | 'unchanged' | 'kept'

type Outcome = { readonly applied: Applied } | { readonly failure: StoreFailure }

/** How often an object is read anew that somebody else writes at the same time. */
const MAX_ATTEMPTS = 5

/**
 * Creates an object, or brings the stored one to what is given: its spec, and the labels and
 * annotations that are named. All else of it stays, its status and its finalizers above all; and
 * nothing is written if nothing differs.
 *
 * @throws IpamError if the store fails
 */
export async function apply<T extends Meta.KubeObject>(
  object: T,
  model: Meta.Model<T>,
  store: Pick<Store, 'get' | 'create' | 'update'>,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const stored = await find(store, object)
    if (stored !== undefined && Meta.isDeleting(stored)) return { applied: 'kept' }
    const next = stored === undefined ? object : merge(stored, object, model)
    if (next === undefined) return { applied: 'unchanged' }
    const written = await (stored === undefined ? store.create(next) : store.update(next))
    if (written.ok) return { applied: appliedBy(stored, written.value) }
    if (attempt === MAX_ATTEMPTS || !OVERTAKEN.has(written.failure.code)) return { failure: unlessBroken(written) }
  }
}

const OVERTAKEN: ReadonlySet<string> = new Set(['STORE_CONFLICT', 'STORE_ALREADY_EXISTS', 'STORE_NOT_FOUND'])

/** A server may find that a difference is none. */
function appliedBy(stored: Meta.KubeObject | undefined, { metadata }: Meta.KubeObject): Applied {
  if (stored === undefined) return 'created'
  return stored.metadata.resourceVersion === metadata.resourceVersion ? 'unchanged' : 'changed'
}

async function find(store: Pick<Store, 'get'>, object: Meta.KubeObject): Promise<Meta.KubeObject | undefined> {
  const found = await store.get(Meta.refOf(object))
  if (found.ok) return found.value
  return found.failure.code === 'STORE_NOT_FOUND' ? undefined : unwrap(found)
}

/** A store that cannot be reached refuses nothing: it ends the program. */
function unlessBroken(written: Exclude<Awaited<StoreResult<unknown>>, { ok: true }>): StoreFailure {
  const { failure } = written
  if (failure.code === 'STORE_IO' || failure.code === 'STORE_OUTCOME_UNKNOWN') unwrap(written)
  return failure
}

/**
 * The stored object as it should be; `undefined` if it is so already. Defaults that a server has
 * filled in are no difference.
 */
function merge<T extends Meta.KubeObject>(
  stored: Meta.KubeObject,
  object: T,
  model: Meta.Model<T>,
): Meta.KubeObject | undefined {
  const { labels, annotations } = object.metadata
  const metadata = {
    ...stored.metadata,
    ...(labels === undefined ? {} : { labels: { ...stored.metadata.labels, ...labels } }),
    ...(annotations === undefined ? {} : { annotations: { ...stored.metadata.annotations, ...annotations } }),
  }
  const read = model.safeParse(stored)
  const isSame = read.ok && isEqual(read.value.spec, object.spec) && isEqual(stored.metadata, metadata)
  if (isSame) return undefined
  const before = read.ok && stored.apiVersion !== object.apiVersion ? read.value : stored
  return { ...before, apiVersion: object.apiVersion, metadata, spec: object.spec }
}

/** As JSON: a field that is `undefined` is not there. */
function isEqual(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(plain(left), plain(right))
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
