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
import type { Change } from '../../../plan/index.js'
import { ReadObjects } from './read-objects.js'

/** The objects that one task has read and written, and its pools as they are read. */
export class TaskObjects extends ReadObjects {
  readonly #pools = new Map<string, PoolReading>()

  override observe(change: Change): void {
    super.observe(change)
    this.#pools.delete(formatRef(change.kind === 'present' ? refOf(change.object) : change.ref))
  }

  override forget(ref: ObjectRef): void {
    super.forget(ref)
    this.#pools.delete(formatRef(ref))
  }

  /** The pool of a reference that was read. */
  pool(ref: ObjectRef): PoolReading {
    const key = formatRef(ref)
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const reading = readPool(this.get(ref) ?? null)
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
      /** The phase of its upgrade to blocks. Left out: it has no phase. */
      readonly phase?: UpgradePhase | 'unknown' | undefined
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
  return { kind: 'pool', object, isTerminating: isDeleting(object), phase: upgradePhase(object), range, rows, taken }
}

/**
 * Annotation of an IPPool of whereabouts: its {@link UpgradePhase}. Each row is written for the
 * version of the pool, so a change of the phase makes ADDs and DELs in flight read the pool again.
 */
export const UPGRADE_ANNOTATION = 'ipam-kit.dev/upgrade'

/**
 * The phase of the upgrade of an IPPool of whereabouts to blocks. Other pools have no phase.
 *
 * - `dual-write`: rows are written to the pool and to blocks. The pool is the truth
 * - `blocks`: rows are written to both. The blocks are the truth
 * - `finished`: the pool is empty, and gives no address. All rows are in blocks
 */
export type UpgradePhase = 'dual-write' | 'blocks' | 'finished'

const PHASES: readonly UpgradePhase[] = ['dual-write', 'blocks', 'finished']

/** The phase of a pool. `unknown`: its annotation has a value that is no phase. */
export function upgradePhase({ metadata }: KubeObject): UpgradePhase | 'unknown' | undefined {
  const value = metadata.annotations?.[UPGRADE_ANNOTATION]
  return value === undefined ? undefined : (PHASES.find((phase) => phase === value) ?? 'unknown')
}

/**
 * Why a pool gives no addresses: it has a phase and the task writes to pools alone, its upgrade is
 * finished, or the value is no phase.
 */
export function phaseProblem(
  { object, phase }: Extract<PoolReading, { kind: 'pool' }>,
  { hasOther }: { readonly hasOther: boolean },
): string | undefined {
  const { name, annotations } = object.metadata
  if (phase === 'finished') return `the range of IPPool ${name} is on blocks: the definition needs the type ipam-kit`
  if (phase === undefined || (hasOther && phase !== 'unknown')) return undefined
  const value = annotations?.[UPGRADE_ANNOTATION]
  return `IPPool ${name} is upgraded to blocks: its annotation ${UPGRADE_ANNOTATION} is ${JSON.stringify(value)}`
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
