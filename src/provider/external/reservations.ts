import { utf8Length } from '../../bytes/utf8.js'
import { format, safeParse } from '../../cidr/nouns/address.js'
import type { KubeObject } from '../../crd/meta/object.js'

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
  /**
   * The id of the network of the addresses. It stays while the pool has any, also if its spec names
   * another network: without that they would not be found again.
   */
  readonly network?: string | undefined
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
  const place = placeOf(pool)
  const uid = pool.metadata.uid ?? ''
  const text = pool.metadata.annotations?.[RESERVATIONS_ANNOTATION]
  if (text === undefined) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  const read = parse(text)
  if (read === undefined) {
    return { ok: false, problem: `the annotation ${RESERVATIONS_ANNOTATION} cannot be read: ${text.slice(0, 80)}` }
  }
  if (read.pool !== place) return { ok: true, value: { pool: place, uids: [uid], entries: [] }, isWritten: false }
  if (read.uids.includes(uid)) return { ok: true, value: read, isWritten: true }
  // versions of another cluster say nothing here
  const { addressesVersion: _, ...moved } = read
  return { ok: true, value: { ...moved, uids: [...read.uids, uid] }, isWritten: false }
}

/** How many bytes all annotations of an object have at most. */
const MAX_ANNOTATIONS = 262_144
/** What an entry gets later: its address. */
const ADDRESS_ROOM = 80
/** What is left for entries beside the addresses that are taken over. */
const ENTRIES_ROOM = 100_000

/** How many bytes the annotations of a pool have left. O(bytes) */
export function annotationRoom({ metadata }: KubeObject): number {
  const texts = Object.entries(metadata.annotations ?? {}).flat()
  return MAX_ANNOTATIONS - 1000 - texts.reduce((sum, text) => sum + utf8Length(text), 0)
}

/** How many bytes an entry takes. */
export function sizeOfEntry(entry: Reservation): number {
  return utf8Length(JSON.stringify(entry)) + ADDRESS_ROOM
}

/** Whether the annotation has room for the addresses that are taken over, and for entries. */
export function isRoomFor(pool: KubeObject, adopted: readonly string[]): boolean {
  return adopted.length === 0 || JSON.stringify(adopted).length + ENTRIES_ROOM <= annotationRoom(pool)
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
  const { pool, uids, addressesVersion, network, entries, created, adopted } = read
  const isRight =
    typeof pool === 'string' &&
    isTexts(uids) &&
    (addressesVersion === undefined || (typeof addressesVersion === 'string' && /^\d{1,20}$/.test(addressesVersion))) &&
    (network === undefined || (typeof network === 'string' && network !== '')) &&
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

/** Whether it is an address in its canonical form: others would be compared with it in vain. */
function isAddress(text: unknown): boolean {
  if (typeof text !== 'string') return false
  const address = safeParse(text)
  return address.ok && format(address.value) === text
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
