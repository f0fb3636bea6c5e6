import * as Address from '../../../cidr/nouns/address.js'
import { formatRef, type KubeObject, type ObjectRef } from '../../../crd/meta/object.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import { check } from '../../../errors/check.js'
import { type Change, deleteObject, type Effect, type Step, type Task, type TaskTime } from '../../../plan/index.js'
import { writes } from './add.js'
import { CLAIM_UID_ANNOTATION, readRowClaim } from './holder.js'
import { reservationRef, TaskObjects } from './objects.js'
import type { WhereaboutsGcOutcome } from './outcome.js'
import { placesOf } from './places.js'
import { isCompleted, podRefOf } from './pods.js'
import { type AttachmentRecord, DEFAULT_NAMESPACE, GC_REQUEST, type GcRequest } from './request.js'
import { poolEffect } from './row-effects.js'

/** A row that is younger may be of an ADD that the list of the runtime does not have yet. */
const YOUNGEST_MS = 60_000

/**
 * The task of a CNI GC: frees the rows of attachments that do not exist any more. A row says
 * neither its Node nor its network nor its age, so it is freed only if one of these is proven:
 *
 * - The record of this Node names its container, in this network, added more than a minute ago;
 *   and its Pod is on this Node, or does not exist.
 * - Its Pod is on this Node, was created more than a minute ago, and has ended.
 *
 * The network status of a Pod that runs proves nothing: it is that of the sandbox before until the
 * meta plugin has written it again. Without a record such rows are left for DEL and the sweep.
 *
 * Rows of valid attachments, rows without an interface, and rows of claims stay: a row, its
 * reservation or the record names the claim. If a network has no reservations and the record does
 * not say whether there was a claim, the row stays. `"gc": false` switches it off. No list of
 * attachments frees nothing, and an empty list says that none exists.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function gc(request: GcRequest): Task<WhereaboutsGcOutcome> {
  check<unknown>('gc', 'request', request, GC_REQUEST)
  return new GcTask(request)
}

/** A row of no valid attachment, and its pool. */
interface Candidate {
  readonly pool: ObjectRef
  readonly row: PoolRow
}

class GcTask implements Task<WhereaboutsGcOutcome> {
  readonly #request: GcRequest
  readonly #objects = new TaskObjects()
  readonly #freed = new Map<string, Candidate>()
  /** The uids of the reservations of rows, by name. A later one is of a later interface. */
  readonly #reserved = new Map<string, string | undefined>()

  constructor(request: GcRequest) {
    this.#request = request
  }

  observe(change: Change): void {
    this.#objects.observe(change)
  }

  next({ nowMs }: TaskTime): Step<WhereaboutsGcOutcome> {
    const { config, valid } = this.#request
    if (!config.gc) return off('the configuration switches GC off')
    if (valid === undefined) return off('the runtime lists no attachments')
    const found = placesOf(this.#request, this.#objects)
    if (found.kind === 'step') return found.step
    const pools = [...new Map(found.places.map(({ pool }) => [formatRef(pool), pool])).values()]
    const read = this.#objects.read(pools, 'the rows of the network')
    if (read !== undefined) return read
    const rows = pools.flatMap((pool) => this.#candidates(pool))
    const pods = rows.flatMap(({ row }) => podRefOf(row.podref) ?? [])
    const readPods = this.#objects.read(pods, 'whether the Pod is on this Node')
    if (readPods !== undefined) return readPods
    const stale = rows.filter(({ row }) => this.#isStale(row, nowMs))
    const refs = stale.flatMap(({ row }) => this.#reservationRef(row) ?? [])
    const reservations = this.#objects.read(refs, 'the reservations of the addresses')
    return reservations ?? this.#free(stale.filter(({ row }) => !this.#isOfClaim(row)))
  }

  /** Rows with an interface that no valid attachment has. */
  #candidates(pool: ObjectRef): readonly Candidate[] {
    const reading = this.#objects.pool(pool)
    if (reading.kind !== 'pool') return []
    const { valid = [] } = this.#request
    const isValid = (row: PoolRow) => valid.some((one) => one.containerId === row.id && one.ifname === row.ifname)
    return reading.rows
      .filter((row) => row.ifname && !isValid(row) && readRowClaim(row) === undefined)
      .map((row) => ({ pool, row }))
  }

  #isStale(row: PoolRow, nowMs: number): boolean {
    const ref = podRefOf(row.podref)
    if (ref === undefined) return false
    const pod = this.#objects.get(ref)
    const record = this.#recordOf(row)
    const isOld = record === undefined || record.addedMs <= nowMs - YOUNGEST_MS
    if (!isOld || (record !== undefined && record.network !== this.#request.config.name)) return false
    if (!pod) return record !== undefined
    const { nodeName } = (pod.spec ?? {}) as { readonly nodeName?: string }
    if (nodeName !== this.#request.nodeName) return false
    return record !== undefined || hasEnded(pod, nowMs)
  }

  /**
   * An API server may drop the mark of a claim from the row. That of the reservation stays. What
   * cannot be known counts as the row of a claim.
   */
  #isOfClaim(row: PoolRow): boolean {
    const ref = this.#reservationRef(row)
    const reservation = ref && this.#objects.reservation(ref)
    if (reservation?.kind === 'present' && reservation.annotations[CLAIM_UID_ANNOTATION] !== undefined) return true
    const { claim, overlappingRanges } = this.#request.config
    return this.#recordOf(row)?.hasClaim ?? (claim !== undefined || !overlappingRanges)
  }

  #recordOf({ id, ifname }: PoolRow): AttachmentRecord | undefined {
    return this.#request.record?.find((one) => one.containerId === id && one.ifname === ifname)
  }

  #free(stale: readonly Candidate[]): Step<WhereaboutsGcOutcome> {
    for (const one of stale) this.#freed.set(`${formatRef(one.pool)} ${one.row.key}`, one)
    const all = [...this.#freed.values()]
    const byPool = new Map<string, Candidate[]>()
    for (const one of stale) byPool.set(formatRef(one.pool), [...(byPool.get(formatRef(one.pool)) ?? []), one])
    const effects: Effect[] = [...byPool.values()].map((rows) => {
      const changes = Object.fromEntries(rows.map(({ row }) => [row.key, null]))
      return poolEffect(rows[0]!.pool, changes, this.#objects, { range: '', why: 'their attachments do not exist' })
    })
    effects.push(...all.flatMap(({ row }) => this.#reservationEffects(row)))
    if (effects.length > 0) return writes(effects, `free ${all.length} rows`)
    const addresses = all.map(({ row }) => row.address)
    return { kind: 'done', outcome: { kind: 'collected', message: `freed ${addresses.length} rows`, addresses } }
  }

  #reservationRef({ address }: PoolRow): ObjectRef | undefined {
    const { config } = this.#request
    const namespace = this.#request.namespace || DEFAULT_NAMESPACE
    const { overlappingRanges, networkName } = config
    return overlappingRanges ? reservationRef(address, { namespace, networkName }) : undefined
  }

  #reservationEffects(row: PoolRow): readonly Effect[] {
    const ref = this.#reservationRef(row)
    const reservation = ref === undefined ? undefined : this.#objects.reservation(ref)
    if (reservation?.kind !== 'present') return []
    const { podref, containerid, ifname } = reservation.spec
    const isOwn =
      podref === row.podref && (!containerid || containerid === row.id) && (!ifname || ifname === row.ifname)
    if (!isOwn) return []
    const { name, uid } = reservation.object.metadata
    if (!this.#reserved.has(name)) this.#reserved.set(name, uid)
    if (this.#reserved.get(name) !== uid) return []
    return [deleteObject(reservation.object, `reservation of ${Address.format(row.address)}`)]
  }
}

/** Whether a Pod has ended, which was created before any row that may be too young. */
function hasEnded(pod: KubeObject, nowMs: number): boolean {
  return isCompleted(pod) && Date.parse(pod.metadata.creationTimestamp ?? '') <= nowMs - YOUNGEST_MS
}

function off(message: string): Step<WhereaboutsGcOutcome> {
  return { kind: 'done', outcome: { kind: 'off', message } }
}
