import { utf8Length } from '../../bytes/utf8.js'
import { format, safeParse } from '../../cidr/nouns/address.js'
import { KUBE, type KubeObject } from '../../crd/meta/object.js'
import type { MergePatch } from '../../crd/meta/patch.js'
import { check } from '../../errors/check.js'
import { keyOf } from '../claims/ledger.js'
import { isRecord } from './well-formed.js'

/** The annotation of a pool with its {@link PoolIdentity}, as JSON. */
export const IDENTITY_ANNOTATION = 'ipam-kit.dev/external-pool'
/** The annotation with the reservations of earlier versions, which have the identity in them. */
const RESERVATIONS_ANNOTATION = 'ipam-kit.dev/reservations'
/**
 * The annotation by which an operator confirms that a pool was moved, and not copied: its earlier
 * id, or several with commas. Only the earlier pool or the later one may have the addresses with
 * that id.
 */
const EARLIER_ID_ANNOTATION = 'ipam-kit.dev/earlier-uid'

/**
 * What a pool needs to find its addresses in the cloud. It is written before anything is created
 * there, and has no addresses that the list of the cloud shows.
 */
export interface PoolIdentity {
  /**
   * Namespace and name of the pool. A copy of the object under another name has another one, and
   * starts anew.
   */
  readonly pool: string
  /** The uids that the pool has had, the present one last. Its addresses are marked with them. */
  readonly ids: readonly string[]
  /**
   * The id of the network of the addresses. It stays while the pool has any, also if its spec names
   * another network: else they would not be found again.
   */
  readonly network?: string | undefined
  /** Addresses of another controller of this pool, listed when this one adopted it. Canonical. */
  readonly adopted?: readonly string[] | undefined
}

/**
 * The identity of a pool, or why it cannot be read. Then the annotation was edited, and the pool
 * gives nothing until it is corrected or removed.
 */
export type ReadIdentity =
  | {
      readonly ok: true
      readonly value: PoolIdentity
      /**
       * `new`: nothing was written for this pool, so no process has created anything for it.
       * `changed`: the annotation lacks the uid. `written`: the annotation has all of it.
       */
      readonly is: 'new' | 'changed' | 'written'
    }
  | { readonly ok: false; readonly problem: string }

/** The identity of a pool. A new pool, or a copy of another one, has only its uid. O(bytes) */
export function identityOf(pool: KubeObject): ReadIdentity {
  check('identityOf', 'pool', pool, KUBE)
  const { annotations = {}, uid = '' } = pool.metadata
  const anew = { ok: true, value: { pool: keyOf(pool.metadata), ids: [uid] }, is: 'new' } as const
  const name = annotations[IDENTITY_ANNOTATION] === undefined ? RESERVATIONS_ANNOTATION : IDENTITY_ANNOTATION
  const text = annotations[name]
  if (text === undefined) return anew
  const read = parse(text)
  if (read === undefined) return { ok: false, problem: `the annotation ${name} cannot be read: ${text.slice(0, 80)}` }
  if (read.pool !== anew.value.pool) return anew
  if (!read.ids.includes(uid)) return { ok: true, value: { ...read, ids: [...read.ids, uid] }, is: 'changed' }
  return { ok: true, value: read, is: name === IDENTITY_ANNOTATION ? 'written' : 'changed' }
}

/** The patch that writes an identity, in place of that of earlier versions. */
export function identityPatch(identity: PoolIdentity): MergePatch {
  const annotations = { [IDENTITY_ANNOTATION]: JSON.stringify(identity), [RESERVATIONS_ANNOTATION]: null }
  return { metadata: { annotations } }
}

/** The earlier ids that the operator has confirmed. */
export function confirmedIds({ metadata }: KubeObject, { ids }: PoolIdentity): readonly string[] {
  const named = (metadata.annotations?.[EARLIER_ID_ANNOTATION] ?? '').split(',').map((id) => id.trim())
  return named.filter((id) => id !== metadata.uid && ids.includes(id))
}

/** The maximum size of all annotations of an object, in bytes, less what others may add. */
const MAX_ANNOTATIONS = 262_144 - 100_000

/** Whether the annotations of a pool have room for its identity. */
export function fitsAnnotation({ metadata }: KubeObject, identity: PoolIdentity): boolean {
  const texts = [JSON.stringify(identity), ...Object.entries(metadata.annotations ?? {}).flat()]
  return texts.reduce((sum, text) => sum + utf8Length(text), 0) <= MAX_ANNOTATIONS
}

function parse(text: string): PoolIdentity | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(read)) return undefined
  // earlier versions wrote `uids`
  const { pool, ids = read.uids, network, adopted } = read
  const isRight =
    typeof pool === 'string' &&
    isTexts(ids) &&
    ids.every((id) => id !== '' && !id.includes('/')) &&
    (network === undefined || (typeof network === 'string' && network !== '')) &&
    (adopted === undefined || (isTexts(adopted) && adopted.every(isCanonical)))
  return isRight ? ({ pool, ids, network, adopted } as PoolIdentity) : undefined
}

/** Other forms would never match. */
function isCanonical(text: string): boolean {
  const address = safeParse(text)
  return address.ok && format(address.value) === text
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
