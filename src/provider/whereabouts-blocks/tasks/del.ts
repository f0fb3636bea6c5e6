import type { Address } from '../../../cidr/nouns/address.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { release } from '../../blocks/tasks/release.js'
import type { ReleaseRequest } from '../../blocks/tasks/request.js'
import type { DelOutcome } from '../../whereabouts/tasks/outcome.js'
import { NetworkTask } from './network-task.js'
import { type Place, placesOf } from './places.js'
import { assertInterface, type BlockInterfaceRequest } from './request.js'

/**
 * The task of a CNI DEL on blocks: releases the rows of the container and its interface. With
 * `podUid` three requests, if nothing is known: the pool, a list of blocks, and the row. Without
 * it, and for rows with another uid, it finds rows by the container, whether the Pod exists or not.
 *
 * @param known what the process knows of pools and blocks. Default: nothing
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockDel(request: BlockInterfaceRequest, known: KnownBlocks = new KnownBlocks()): Task<DelOutcome> {
  assertInterface('blockDel', request, known)
  return new DelTask(request, known)
}

class DelTask extends NetworkTask<DelOutcome> {
  readonly #request: BlockInterfaceRequest
  readonly #places: readonly Place[]
  readonly #pools: readonly string[]
  /** What is released next, and what a release has begun with. */
  #queue: ReleaseRequest[] | undefined
  readonly #seen = new Set<string>()
  readonly #addresses: Address[] = []

  constructor(request: BlockInterfaceRequest, known: KnownBlocks) {
    super(known)
    this.#request = request
    this.#places = placesOf(request.network)
    this.#pools = [...new Set(this.#places.map(({ pool }) => pool))]
  }

  step(time: TaskTime): Step<DelOutcome> {
    if (this.#places.length === 0) return nothing('the network has no range')
    if (this.#queue === undefined) {
      const { podUid } = this.#request
      this.#queue = podUid ? [this.#releaseOf(podUid)] : []
    }
    for (;;) {
      const [request] = this.#queue
      if (request !== undefined) {
        const step = this.delegate(() => release(request, this.known), time)
        if (step.kind !== 'done') return step
        const { outcome } = step
        if (outcome.kind === 'notReady') return notReady(outcome.message)
        if (outcome.kind === 'released') this.#addresses.push(...outcome.allocations.map(({ address }) => address))
        this.#queue.shift()
        continue
      }
      const list = this.readPools(this.#places) ?? this.listBlocks(this.#places, 'the rows of the container')
      if (list !== undefined) return list
      const found = this.#found()
      if (found === undefined) return this.#end()
      this.#queue.push(found)
    }
  }

  /** A row of the container that was not released yet. */
  #found(): ReleaseRequest | undefined {
    const { containerId, ifname } = this.#request
    for (const { parsed, entry } of this.rows(this.#places)) {
      const { row } = entry
      if (row.container !== containerId || row.interface !== ifname) continue
      const key = `${parsed.name} ${row.sequence}`
      if (this.#seen.has(key)) continue
      this.#seen.add(key)
      return { ...this.#releaseOf(row.uid), address: addressOf(parsed, entry), sequence: row.sequence }
    }
    return undefined
  }

  #releaseOf(uid: string): ReleaseRequest {
    const { containerId: container, ifname } = this.#request
    return { owner: { uid }, interface: ifname, container, pools: this.#pools }
  }

  #end(): Step<DelOutcome> {
    const addresses = this.#addresses
    if (addresses.length > 0) {
      return { kind: 'done', outcome: { kind: 'released', message: `released ${addresses.length} rows`, addresses } }
    }
    const obstacle = this.obstacle(this.#places)
    return obstacle === undefined ? nothing('the container has no row') : notReady(obstacle)
  }
}

function nothing(message: string): Step<DelOutcome> {
  return { kind: 'done', outcome: { kind: 'nothing', message } }
}

function notReady(message: string): Step<DelOutcome> {
  return { kind: 'done', outcome: { kind: 'poolNotReady', message } }
}
