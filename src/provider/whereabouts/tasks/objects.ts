import type { Address } from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import {
  formatRef,
  isDeleting,
  type KindInfo,
  type KubeObject,
  type ObjectRef,
  refOf,
} from '../../../crd/meta/object.js'
import {
  IPPool,
  OverlappingRangeIPReservation,
  type OverlappingRangeIPReservationSpec,
  type PoolRow,
  readReservationName,
  readRows,
  reservationName,
} from '../../../crd/whereabouts/index.js'
import type { Change, Step } from '../../../plan/index.js'

/** The objects that one task has read and written. `null`: there is none. */
export class TaskObjects {
  readonly #objects = new Map<string, KubeObject | null>()
  readonly #pools = new Map<string, PoolReading>()

  observe(change: Change): void {
    const isPresent = change.kind === 'present'
    const key = formatRef(isPresent ? refOf(change.object) : change.ref)
    this.#objects.set(key, isPresent ? change.object : null)
    this.#pools.delete(key)
  }

  /** Lets an object be read again. */
  forget(ref: ObjectRef): void {
    const key = formatRef(ref)
    this.#objects.delete(key)
    this.#pools.delete(key)
  }

  /** `undefined`: not read. */
  get(ref: ObjectRef): KubeObject | null | undefined {
    return this.#objects.get(formatRef(ref))
  }

  /** A step that reads those of the objects that are not read yet; `undefined`: all are. */
  read(refs: readonly ObjectRef[], why: string): Extract<Step, { kind: 'get' }> | undefined {
    const unread = new Map(refs.map((ref) => [formatRef(ref), ref]))
    for (const key of this.#objects.keys()) unread.delete(key)
    return unread.size === 0 ? undefined : { kind: 'get', refs: [...unread.values()], why }
  }

  /** The pool of a reference that was read. */
  pool(ref: ObjectRef): PoolReading {
    const key = formatRef(ref)
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const reading = readPool(this.#objects.get(key) ?? null)
    this.#pools.set(key, reading)
    return reading
  }

  reservation(ref: ObjectRef): ReservationReading {
    const object = this.get(ref)
    if (object === undefined || object === null) return object === null ? { kind: 'absent' } : { kind: 'unread' }
    const read = OverlappingRangeIPReservation.safeParse(object)
    // one that cannot be read is of another writer
    const spec = read.ok ? read.value.spec : { podref: '' }
    return { kind: 'present', object, spec, annotations: object.metadata.annotations ?? {} }
  }

  /** All objects of a kind that were read. */
  *ofKind({ kind }: Pick<KindInfo, 'kind'>): IterableIterator<KubeObject> {
    for (const object of this.#objects.values()) if (object !== null && object.kind === kind) yield object
  }

  /** The addresses of all reservations of a network that were read. */
  *reservedAddresses(networkName: string): IterableIterator<{ readonly address: Address; readonly ref: ObjectRef }> {
    for (const object of this.ofKind(OverlappingRangeIPReservation.info)) {
      const reading = readReservationName(object.metadata.name, networkName)
      if (reading !== undefined) yield { address: reading.address, ref: refOf(object) }
    }
  }
}

export type ReservationReading =
  | { readonly kind: 'unread' }
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'present'
      readonly object: KubeObject
      readonly spec: OverlappingRangeIPReservationSpec
      readonly annotations: { readonly [key: string]: string }
    }

/** A pool as a task reads it. */
export type PoolReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly object: KubeObject; readonly problem: string }
  | {
      readonly kind: 'pool'
      readonly object: KubeObject
      readonly isTerminating: boolean
      /** With the literal address from which keys count. */
      readonly range: Prefix
      readonly rows: readonly PoolRow[]
      /** Addresses that have a row, also one that cannot be read. */
      readonly taken: readonly Address[]
    }

function readPool(object: KubeObject | null): PoolReading {
  if (object === null) return { kind: 'absent' }
  const read = IPPool.safeParse(object)
  if (!read.ok) return { kind: 'unreadable', object, problem: 'it is no IPPool' }
  const { range, rows, oddities } = readRows(read.value)
  if (range === undefined) return { kind: 'unreadable', object, problem: oddities[0]?.problem ?? 'it has no range' }
  const taken = rows.map(({ address }) => address)
  for (const { kind, address } of oddities) if (kind === 'row-unreadable' && address !== undefined) taken.push(address)
  return { kind: 'pool', object, isTerminating: isDeleting(object), range, rows, taken }
}

export function refTo({ apiVersion, kind }: KindInfo, namespace: string, name: string): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

/** The reference to the reservation of an address; `undefined`: no object can have its name. */
export function reservationRef(
  address: Address,
  { namespace, networkName }: { readonly namespace: string; readonly networkName: string | undefined },
): ObjectRef | undefined {
  const name = reservationName({ address, networkName })
  return name.ok ? refTo(OverlappingRangeIPReservation.info, namespace, name.value) : undefined
}
