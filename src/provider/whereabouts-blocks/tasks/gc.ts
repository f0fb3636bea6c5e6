import type { Address } from '../../../cidr/nouns/address.js'
import { Pod } from '../../../crd/core/pod.js'
import type { IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { check, type Kind } from '../../../errors/check.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { assertKnown, KnownBlocks, type PlacedRow } from '../../blocks/tasks/known-blocks.js'
import { release } from '../../blocks/tasks/release.js'
import type { ReleaseRequest } from '../../blocks/tasks/request.js'
import type { WhereaboutsGcOutcome } from '../../whereabouts/tasks/outcome.js'
import { isCompleted } from '../../whereabouts/tasks/pods.js'
import { NetworkTask } from './network-task.js'
import { type Place, placesOf } from './places.js'
import { BLOCK_GC_REQUEST, type BlockGcRequest } from './request.js'

/** A row that is younger may be of an ADD that the list of the runtime does not have yet. */
const YOUNGEST_MS = 60_000

/**
 * The task of a CNI GC on blocks: releases the rows of attachments that do not exist any more. A
 * row says neither its Node nor its network, so it is released only if it is older than a minute
 * and one of these is proven:
 *
 * - The record of this Node names its container, in this network, added more than a minute ago; and
 *   its Pod is on this Node, or does not exist.
 * - Its Pod is on this Node, has its uid, and has ended.
 *
 * `"gc": false` switches it off. No list of attachments frees nothing, and an empty list says that
 * none exists. Rows of Pods that are gone are for `blocksSweep`.
 *
 * @param known what the process knows of pools and blocks. Default: nothing
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockGc(request: BlockGcRequest, known: KnownBlocks = new KnownBlocks()): Task<WhereaboutsGcOutcome> {
  check<unknown>('blockGc', 'request', request, BLOCK_GC_REQUEST as Kind)
  assertKnown('blockGc', known)
  return new GcTask(request, known)
}

class GcTask extends NetworkTask<WhereaboutsGcOutcome> {
  readonly #request: BlockGcRequest
  readonly #places: readonly Place[]
  #queue: ReleaseRequest[] | undefined
  readonly #addresses: Address[] = []

  constructor(request: BlockGcRequest, known: KnownBlocks) {
    super(known)
    this.#request = request
    this.#places = placesOf(request.network)
  }

  step(time: TaskTime): Step<WhereaboutsGcOutcome> {
    const { network, valid } = this.#request
    if (!network.config.gc) return off('the configuration switches GC off')
    if (valid === undefined) return off('the runtime lists no attachments')
    if (this.#queue === undefined) {
      const list = this.readPools(this.#places) ?? this.listBlocks(this.#places, 'the rows of the network')
      if (list !== undefined) return list
      const rows = [...this.rows(this.#places)].filter(({ entry }) => this.#isCandidate(entry.row))
      const pods = rows.flatMap(({ entry }) => podOf(entry.row) ?? [])
      const read = this.read(pods, 'whether the Pod is on this Node')
      if (read !== undefined) return read
      this.#queue = rows.filter((row) => this.#isStale(row, time.nowMs)).map(releaseOf)
    }
    for (let request = this.#queue[0]; request !== undefined; request = this.#queue[0]) {
      const now = request
      const step = this.delegate(() => release(now, this.known), time)
      if (step.kind !== 'done') return step
      if (step.outcome.kind === 'released') this.#addresses.push(...step.outcome.allocations.map((one) => one.address))
      this.#queue.shift()
    }
    const addresses = this.#addresses
    return { kind: 'done', outcome: { kind: 'collected', message: `freed ${addresses.length} rows`, addresses } }
  }

  /** A row with an interface that no valid attachment has. */
  #isCandidate({ container, interface: name }: IPBlockRow): boolean {
    const { valid = [] } = this.#request
    if (container === undefined || name === undefined) return false
    return !valid.some((one) => one.containerId === container && one.ifname === name)
  }

  #isStale({ entry }: PlacedRow, nowMs: number): boolean {
    const { row } = entry
    // a sequence follows the clock, in microseconds
    const isYoung = row.sequence / 1000 > nowMs - YOUNGEST_MS
    const ref = podOf(row)
    if (isYoung || ref === undefined) return false
    const pod = this.object(ref)
    const record = this.#request.record?.find(
      (one) => one.containerId === row.container && one.ifname === row.interface,
    )
    if (record !== undefined) {
      const isOurs = record.addedMs <= nowMs - YOUNGEST_MS && record.network === this.#request.network.config.name
      if (!isOurs) return false
    }
    if (pod === undefined) return record !== undefined
    const { nodeName } = (pod.spec ?? {}) as { readonly nodeName?: string }
    if (nodeName !== this.#request.nodeName) return false
    if (record !== undefined) return true
    return pod.metadata.uid === row.uid && isCompleted(pod)
  }
}

function releaseOf({ parsed, entry, pool }: PlacedRow & { readonly pool: string }): ReleaseRequest {
  const { uid, container, interface: name, sequence } = entry.row
  return { owner: { uid }, interface: name, container, address: addressOf(parsed, entry), sequence, pools: [pool] }
}

/** The reference to the Pod of a row. */
function podOf({ owner }: IPBlockRow): ObjectRef | undefined {
  const [namespace, name, ...rest] = owner.split('/')
  const { apiVersion, kind } = Pod.info
  return namespace && name && rest.length === 0 ? { apiVersion, kind, namespace, name } : undefined
}

function off(message: string): Step<WhereaboutsGcOutcome> {
  return { kind: 'done', outcome: { kind: 'off', message } }
}
