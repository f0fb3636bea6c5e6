import { safeParse } from '../../cidr/nouns/address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { assertKube } from '../../errors/checks.js'

/** The annotation of a pool with its {@link Reservations}, as JSON. */
export const RESERVATIONS_ANNOTATION = 'ipam-kit.dev/reservations'

/** The most reservations that a pool has at a time: an annotation has its limit at 256 KiB. */
export const MAX_RESERVATIONS = 500

/**
 * What a pool is about to give to claims: written, in a patch that depends on the version of the
 * pool, before anything is created in the cloud and before an IPAddress is. Two controllers cannot
 * reserve one address twice, or one more than the limit, because one of the two patches meets a
 * conflict.
 */
export interface Reservations {
  /**
   * Namespace and name of the pool that this was written for: a copy of the pool elsewhere does not
   * inherit it.
   */
  readonly pool: string
  /**
   * The uids that the pool has had, the newest last: a move to another cluster gives it a new one,
   * and its addresses keep their markers.
   */
  readonly uids: readonly string[]
  /**
   * The newest resourceVersion of the IPAddress objects that entries are removed for. A controller
   * whose watch has not reached it reserves nothing: it would not know which addresses the entries
   * that were removed have become.
   */
  readonly addressesVersion?: string | undefined
  readonly entries: readonly Reservation[]
  /** Addresses that the pool has created, where the cloud keeps no markers. */
  readonly created?: readonly string[] | undefined
  /** Addresses that another controller of this pool had listed when this one took it over. */
  readonly adopted?: readonly string[] | undefined
}

export interface Reservation {
  /**
   * The name of the claim in the namespace of the pool; empty: none, the address is a spare one.
   */
  readonly claim: string
  /**
   * Of the claim, or the word that tells spare ones apart: with the uid of the pool it is the
   * marker.
   */
  readonly uid: string
  /** The process that has written it: only that one knows whether it has sent the call. */
  readonly by: string
  /** When, in milliseconds since 1970. */
  readonly atMs: number
  /** The address, as soon as it is known. Left out: it is being created. */
  readonly address?: string | undefined
  /**
   * Whether the address is created by this pool: it was chosen, or an answer has named it.
   * Otherwise it was free.
   */
  readonly isNew?: true | undefined
}

/**
 * What a pool says, or why that cannot be read: people have changed it, and nothing is given until
 * it is put right or removed.
 */
export type ReadReservations =
  | {
      readonly ok: true
      readonly value: Reservations
      /** Whether the pool says it all, its uid included. */
      readonly isWritten: boolean
    }
  | { readonly ok: false; readonly problem: string }

/**
 * The reservations of a pool. A pool without any, or one that was copied from another, has none.
 * O(n)
 */
export function reservationsOf(pool: KubeObject): ReadReservations {
  assertKube('reservationsOf', 'pool', pool)

  const place = placeOf(pool)
  const uid = pool.metadata.uid ?? ''
  const text = pool.metadata.annotations?.[RESERVATIONS_ANNOTATION]
  if (text === undefined) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  const read = parse(text)
  if (read === undefined) {
    return { ok: false, problem: `the annotation ${RESERVATIONS_ANNOTATION} cannot be read: ${text.slice(0, 80)}` }
  }
  if (read.pool !== place) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  const uids = read.uids.includes(uid) ? read.uids : [...read.uids, uid]
  return { ok: true, value: { ...read, uids }, isWritten: uids === read.uids }
}

/** The text of the annotation. */
export function formatReservations(reservations: Reservations): string {
  return JSON.stringify(reservations)
}

function placeOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function parse(text: string): Reservations | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(read)) return undefined
  const { pool, uids, addressesVersion, entries, created, adopted } = read
  const isRight =
    typeof pool === 'string' &&
    isTexts(uids) &&
    (addressesVersion === undefined || /^\d{1,20}$/.test(`${addressesVersion}`)) &&
    Array.isArray(entries) &&
    entries.length <= MAX_RESERVATIONS &&
    entries.every(isEntry) &&
    new Set(entries.map(({ uid }: Reservation) => uid)).size === entries.length &&
    [created, adopted].every((list) => list === undefined || (isTexts(list) && list.every(isAddress)))
  return isRight ? (read as unknown as Reservations) : undefined
}

function isEntry(entry: unknown): entry is Reservation {
  if (!isRecord(entry)) return false
  const { claim, uid, by, atMs, address, isNew } = entry
  return (
    [claim, uid, by].every((each) => typeof each === 'string') &&
    typeof atMs === 'number' &&
    Number.isFinite(atMs) &&
    (address === undefined || isAddress(address)) &&
    (isNew === undefined || isNew === true)
  )
}

function isAddress(text: unknown): boolean {
  return typeof text === 'string' && safeParse(text).ok
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
