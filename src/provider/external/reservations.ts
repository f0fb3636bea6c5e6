import { utf8Length } from '../../bytes/utf8.js'
import { format, safeParse } from '../../cidr/nouns/address.js'
import { KUBE, type KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { keyOf } from '../claims/ledger.js'
import { isRecord } from './well-formed.js'

/** The annotation of a pool with its {@link Reservations}, as JSON. */
export const RESERVATIONS_ANNOTATION = 'ipam-kit.dev/reservations'

/** The maximum number of reservations of a pool: an annotation is limited to 256 KiB. */
export const MAX_RESERVATIONS = 500

/** The maximum difference between the clocks of processes. */
const MAX_CLOCK_SKEW_MS = 3_600_000

/** Whether a time is so far in the future that no process has written it. */
export function isEdited(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + MAX_CLOCK_SKEW_MS
}

/**
 * Addresses that a pool is about to give to claims. They are written before anything is created in
 * the cloud and before an IPAddress is, in a patch that requires the version of the pool. Two
 * controllers cannot reserve one address twice, or exceed the limit, because one of the two patches
 * meets a conflict.
 */
export interface Reservations {
  /**
   * Namespace and name of the pool of these reservations: a copy of the pool under another name
   * does not inherit them.
   */
  readonly pool: string
  /**
   * The uids of the pool so far, the newest last: a move to another cluster gives it a new one, and
   * its addresses keep their markers.
   */
  readonly uids: readonly string[]
  /**
   * The newest resourceVersion of the IPAddress objects whose entries were removed. A controller
   * whose watch has not reached it reserves nothing: it does not know which addresses those entries
   * have become.
   */
  readonly addressesVersion?: string | undefined
  /**
   * The id of the network of the addresses. It stays while the pool has any, also if its spec names
   * another network: else they would not be found again.
   */
  readonly network?: string | undefined
  readonly entries: readonly Reservation[]
  /**
   * When an entry of a created address was last removed, in milliseconds since 1970, and different
   * each time: a list that was requested before may not show that address.
   */
  readonly createdMs?: number | undefined
  /** Addresses that the pool has created, if the cloud stores no markers. */
  readonly created?: readonly string[] | undefined
  /** Addresses of another controller of this pool, listed when this one adopted it. */
  readonly adopted?: readonly string[] | undefined
}

export interface Reservation {
  /** The name of the claim in the namespace of the pool; empty: a spare address. */
  readonly claim: string
  /**
   * The uid of the claim, or the text that distinguishes spare ones: with the uid of the pool it is
   * the marker.
   */
  readonly uid: string
  /** The process that has written it: only that one knows whether it has sent the call. */
  readonly by: string
  /** When, in milliseconds since 1970. */
  readonly atMs: number
  /** The address, once it is known. Left out: it is being created. */
  readonly address?: string | undefined
  /**
   * Whether the pool creates the address: it was chosen, or an answer has named it. Else it was
   * free.
   */
  readonly isNew?: true | undefined
}

/** An entry with its address, which counts as reserved. */
export function withAddress(reserved: Set<string>, entry: Reservation, address: string, isNew?: true): Reservation {
  reserved.add(address)
  const { isNew: _, ...rest } = entry
  return { ...rest, address, ...(isNew && { isNew }) }
}

/**
 * The reservations of a pool, or why they cannot be read. Then the annotation was edited, and the
 * pool gives nothing until it is corrected or removed.
 */
export type ReadReservations =
  | {
      readonly ok: true
      readonly value: Reservations
      /** Whether the annotation has all of it, with the uid. */
      readonly isWritten: boolean
    }
  | { readonly ok: false; readonly problem: string }

/** The reservations of a pool. A new pool, or a copy of another one, has none. O(n) */
export function reservationsOf(pool: KubeObject): ReadReservations {
  check('reservationsOf', 'pool', pool, KUBE)

  const place = keyOf(pool.metadata)
  const uid = pool.metadata.uid ?? ''
  const text = pool.metadata.annotations?.[RESERVATIONS_ANNOTATION]
  if (text === undefined) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  const read = parse(text)
  if (read === undefined) {
    return { ok: false, problem: `the annotation ${RESERVATIONS_ANNOTATION} cannot be read: ${text.slice(0, 80)}` }
  }
  if (read.pool !== place) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  if (read.uids.includes(uid)) return { ok: true, value: read, isWritten: true }
  // a version from another cluster has no meaning here
  const { addressesVersion: _, ...moved } = read
  return { ok: true, value: { ...moved, uids: [...read.uids, uid] }, isWritten: false }
}

/** The maximum size of all annotations of an object, in bytes. */
const MAX_ANNOTATIONS = 262_144
/** The bytes that an entry needs later for its address. */
const ADDRESS_BYTES = 80
/** The bytes for entries beside the adopted addresses. */
const ENTRIES_BYTES = 100_000

/** The bytes that the annotations of a pool have left. O(bytes) */
export function freeAnnotationBytes({ metadata }: KubeObject): number {
  const texts = Object.entries(metadata.annotations ?? {}).flat()
  return MAX_ANNOTATIONS - 1000 - texts.reduce((sum, text) => sum + utf8Length(text), 0)
}

/** The bytes of an entry. */
export function sizeOfEntry(entry: Reservation): number {
  return utf8Length(JSON.stringify(entry)) + ADDRESS_BYTES
}

/** Whether the annotation has space for the adopted addresses, and for entries. */
export function fitsAnnotation(pool: KubeObject, adopted: readonly string[]): boolean {
  return adopted.length === 0 || JSON.stringify(adopted).length + ENTRIES_BYTES <= freeAnnotationBytes(pool)
}

/** The text of the annotation. */
export function formatReservations(reservations: Reservations): string {
  return JSON.stringify(reservations)
}

function parse(text: string): Reservations | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(read)) return undefined
  const { pool, uids, addressesVersion, network, entries, createdMs, created, adopted } = read
  const isRight =
    typeof pool === 'string' &&
    isTexts(uids) &&
    (addressesVersion === undefined || (typeof addressesVersion === 'string' && /^\d{1,20}$/.test(addressesVersion))) &&
    (network === undefined || (typeof network === 'string' && network !== '')) &&
    (createdMs === undefined || Number.isFinite(createdMs)) &&
    Array.isArray(entries) &&
    entries.length <= MAX_RESERVATIONS &&
    entries.every(isEntry) &&
    areDistinct(entries.map(({ uid }: Reservation) => uid)) &&
    areDistinct(entries.flatMap(({ address }: Reservation) => address ?? [])) &&
    [created, adopted].every((list) => list === undefined || (isTexts(list) && list.every(isAddress)))
  return isRight ? (read as unknown as Reservations) : undefined
}

function areDistinct(texts: readonly string[]): boolean {
  return new Set(texts).size === texts.length
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

/** Whether a text is an address in canonical form: other forms would never match. */
function isAddress(text: unknown): boolean {
  if (typeof text !== 'string') return false
  const address = safeParse(text)
  return address.ok && format(address.value) === text
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
