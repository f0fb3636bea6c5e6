import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { refuse } from '../../../errors/refuse.js'
import type { Change, Effect, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { allocationOf } from '../block/allocation.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import { changeRow, fence, nextSequence, undoGiving } from '../block/rows.js'
import { PoolView } from '../pool/pool-view.js'
import type { BlockChoice } from './choice.js'
import { chooseBlock } from './choose-block.js'
import { interfaceKey, OwnerHandle } from './handle.js'
import { assertKnown, type KnownBlocks, type PlacedRow } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import { differingFrom, ownRow, unseenBlocks } from './owner-rows.js'
import { type AdoptionRequest, type AllocationRequest, assertRequest, isAdoption, type TaskRequest } from './request.js'
import { SentWrites } from './sent-writes.js'
import { blockRef, listStep, lockStep, writeStep } from './steps.js'
import { TaskView } from './task-view.js'

type Family = 4 | 6

const NODE_FIELD = 'spec.node'
/**
 * At most this number of blocks that the status of a pool lists as full is read again, before the
 * status is trusted.
 */
const MOST_RECHECKED = 8
/** Outcomes that may be stale when the task has no watch. */
const PASSING: readonly AllocationOutcome['kind'][] = ['exhausted', 'taken', 'notReady']

/**
 * Gives an owner what it requests: of every family, or nothing.
 *
 * Known pools and blocks are in `known`, which other tasks may share; reading others costs a
 * request. Each write requires the version of the block, so that independent writers never give one
 * address twice: the slower writer reads again.
 *
 * Run tasks for one owner and interface one after the other, as a container runtime and a queue of
 * keys do.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function allocate(request: AllocationRequest, known: KnownBlocks): Task<AllocationOutcome> {
  assertRequest('allocate', request)
  assertKnown('allocate', known)
  const { outOfRange } = request as AdoptionRequest
  if (outOfRange !== undefined)
    refuse('allocate', 'outOfRange', 'nothing in a request of `allocate`: it is for `adopt`', outOfRange)
  return new AllocateTask(request, known)
}

/**
 * Writes rows for addresses that an owner has already: as {@link allocate} of these addresses.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function adopt(request: AdoptionRequest, known: KnownBlocks): Task<AllocationOutcome> {
  assertRequest('adopt', request)
  assertKnown('adopt', known)
  const { outOfRange, addresses, families, prefixLengths } = request as AdoptionRequest & { prefixLengths?: unknown }
  if (addresses.length !== families.length)
    refuse('allocate', 'addresses', 'one of each family', addresses.map(Address.format).join(', '))
  if (prefixLengths !== undefined) refuse('allocate', 'prefixLengths', 'nothing in a request of `adopt`', prefixLengths)
  if (outOfRange !== 'record' && outOfRange !== 'refuse')
    refuse('allocate', 'outOfRange', 'record or refuse', outOfRange)
  return new AllocateTask(request, known)
}

/** The block that the tasks of a group are about to write together. */
export interface SharedWrite {
  prefix: Prefix | undefined
}

/** A task whose writes are sent together with those of other tasks. */
export interface GroupedTask extends Task<AllocationOutcome> {
  /** Called when the effect that the task planned last was not sent. */
  notSent(effect: Effect): void
}

/** As {@link allocate} or {@link adopt}, for a group of tasks that write together. */
export function allocateBeside(request: TaskRequest, known: KnownBlocks, shared: SharedWrite): GroupedTask {
  return new AllocateTask(request, known, shared)
}

class AllocateTask implements GroupedTask {
  readonly #request: TaskRequest
  readonly #view: TaskView
  readonly #shared: SharedWrite | undefined
  /**
   * Names the blocks of the owner for tasks that do not know all blocks, if the request wants a
   * handle.
   */
  readonly #handle: OwnerHandle | undefined
  readonly #writes: SentWrites
  #failed: AllocationOutcome | undefined
  /** The families for which blocks that a status lists as full were read again. */
  readonly #rechecked = new Set<Family>()
  #usesLocks = false
  #conflicts = 0

  constructor(request: TaskRequest, known: KnownBlocks, shared?: SharedWrite) {
    this.#request = request
    this.#shared = shared
    this.#view = new TaskView(known)
    this.#writes = new SentWrites({ uid: request.owner.uid, interface: request.interface }, this.#view)
    this.#handle = request.handle === true ? new OwnerHandle(request.owner.uid, this.#view) : undefined
  }

  observe(change: Change): void {
    if (this.#view.observe(change)) this.#handle?.observe(change)
  }

  listed({ fields }: TaskQuery): void {
    const node = fields[NODE_FIELD]
    if (node !== undefined) for (const known of this.#view.both) known.noteNode(node)
  }

  refused(refusal: TaskRefusal): boolean {
    return this.#writes.refused(refusal)
  }

  notSent(effect: Effect): void {
    this.#writes.forget(effect)
  }

  next(time: TaskTime): Step<AllocationOutcome> {
    this.#usesLocks = time.isLocked !== undefined
    this.#conflicts = time.conflicts
    this.#view.begin(time)
    const { pools, families } = this.#request
    const unknown = this.#view.oldPools(pools)
    if (unknown.length > 0) return { kind: 'get', refs: unknown, why: 'to find blocks with free addresses' }
    const node = this.#nodeToList()
    if (node !== undefined) return listStep({ [NODE_FIELD]: node }, 'the blocks of its node')
    const left = this.#reviewHandle()
    if (left !== undefined) return left
    const unconfirmed = this.#writes.review()
    const places = families.map((family) => ownRow(this.#request, family, this.#known))
    if (this.#failed !== undefined) return this.#undo(places, this.#failed, unconfirmed)
    // a row that another owner may have got since is read again before it is reported
    const names = places.flatMap((place) => place?.parsed.name ?? [])
    const old = this.#view.unseen(IPBlock.info, names)
    if (old.length > 0) return { kind: 'get', refs: old, why: 'to check that the owner still has it' }
    const differing = differingFrom(this.#request, places, this.#known)
    const unasked = differing === undefined ? [] : unseenBlocks(this.#request, this.#view)
    if (unasked.length > 0)
      return { kind: 'get', refs: unasked, why: 'to check whether the owner has the requested addresses' }
    const missing = families.filter((_, index) => places[index] === undefined)
    if (differing !== undefined || missing.length === 0) {
      if (unconfirmed !== undefined) return writeStep(fence(unconfirmed))
      if (differing !== undefined) return this.#end(places, differing)
      const given = places as PlacedRow[]
      return this.#renew(given) ?? this.#settle(given) ?? this.#end(given, this.#success(given))
    }
    // nothing is written before every family has free units
    const choices = missing.map((family) => this.#choose(family, unconfirmed))
    const failed = choices.find((choice) => choice.kind === 'fails')
    if (failed !== undefined) {
      // the handle may name blocks with rows of the owner
      if (this.#handle?.isKnown === false) return this.#handle.reading
      // a claim whose IPAddress is not adopted gets another address: an old block is no reason
      const denied = isAdoption(this.#request) ? unseenBlocks(this.#request, this.#view) : []
      if (denied.length > 0) return { kind: 'get', refs: denied, why: 'to check that another owner has the address' }
      const again = this.#lookAgain(failed.outcome)
      if (again !== undefined) return again
      this.#failed = this.#writes.reasonOf(failed.outcome, missing[choices.indexOf(failed)])
      return this.#undo(places, this.#failed, unconfirmed)
    }
    const unread = choices.filter((choice) => choice.kind === 'read').map(({ block }) => blockRef(block))
    if (unread.length > 0) return { kind: 'get', refs: unread, why: 'blocks may have free addresses' }
    const writes = choices.filter((choice) => choice.kind === 'write')
    const choice = writes.find(({ block }) => block === unconfirmed?.name) ?? (writes[0] as (typeof writes)[number])
    if (unconfirmed !== undefined && unconfirmed.name !== choice.block) return writeStep(fence(unconfirmed))
    const note = this.#noteIn(writes.map(({ block }) => block))
    if (note !== undefined) return writeStep(note)
    const lock = lockStep(choice.block, time)
    if (lock !== undefined) return lock
    this.#writes.adds(choice)
    return writeStep(choice.effect)
  }

  get #known(): KnownBlocks {
    return this.#view.known
  }

  /**
   * Before a task without a watch reports that nothing is free, it reads once more what it was not
   * shown itself.
   */
  #lookAgain(outcome: AllocationOutcome): Step<AllocationOutcome> | undefined {
    if (this.#known.isComplete || !PASSING.includes(outcome.kind)) return undefined
    const { pools } = this.#request
    if (this.#view.lookAgain(pools)) {
      // blocks with writes in flight are read too: the write may have happened, or may happen later
      const sent = this.#view.unseen(IPBlock.info, this.#writes.blocks())
      const refs = [...this.#view.unseen(IPPool.info, pools), ...sent]
      return { kind: 'get', refs, why: 'pools and blocks may have changed' }
    }
    if (outcome.kind !== 'exhausted' || this.#rechecked.has(outcome.family)) return undefined
    this.#rechecked.add(outcome.family)
    // without an operator the status of a pool may be old
    const full = this.#view.pools(pools).flatMap((pool) => pool.fullBlocks(outcome.family, MOST_RECHECKED))
    const refs = full.filter((name) => this.#known.block(name) === undefined).map(blockRef)
    return refs.length === 0 ? undefined : { kind: 'get', refs, why: 'blocks may have free addresses since' }
  }

  /**
   * Writes what has changed of an owner that has its addresses already. A late release of the
   * container before then does not match the row.
   */
  #renew(places: readonly PlacedRow[]): Step<AllocationOutcome> | undefined {
    const { container, mac, owner } = this.#request
    const wanted = {
      ...(container === undefined ? {} : { container }),
      ...(mac === undefined ? {} : { mac: mac.toLowerCase() }),
    }
    const place = places.find(({ entry: { row } }) =>
      (['container', 'mac'] as const).some((field) => wanted[field] !== undefined && wanted[field] !== row[field]),
    )
    if (place === undefined) return undefined
    const { nowMs } = this.#view
    const why = `${owner.name} has another container or MAC`
    const effect = changeRow(place, wanted, { nowMs, why })
    this.#writes.changes(effect, place.parsed, nextSequence(place.parsed.object, nowMs))
    return writeStep(effect)
  }

  /**
   * A release by a process that has ended may still be in flight. Until this process has written
   * the block, the task does not report that the owner has the row. With containers that release
   * was for an earlier one, and `#renew` has made it fail.
   */
  #settle(places: readonly PlacedRow[]): Step<AllocationOutcome> | undefined {
    const place = places.find(({ parsed }) => !this.#view.common.written.has(parsed.name))
    if (place === undefined || this.#request.container !== undefined) return undefined
    this.#writes.fences(place.parsed)
    return writeStep(fence(place.parsed))
  }

  /**
   * The node whose blocks have to be listed, where the blocks of a pool belong to nodes;
   * `undefined`: none.
   */
  #nodeToList(): string | undefined {
    const { pools, node } = this.#request
    if (node === undefined || this.#known.knowsNode(node.name)) return undefined
    const isOfNodes = this.#view.pools(pools).some(({ object }) => object.spec.affinity !== undefined)
    return isOfNodes ? node.name : undefined
  }

  #success(places: readonly PlacedRow[]): AllocationOutcome {
    const allocations = places.map((place) => allocationOf(place, this.#known))
    const texts = allocations.map(({ address }) => Address.format(address)).join(' and ')
    const { name } = this.#request.owner
    if (this.#writes.added.size === 0) return { kind: 'already', message: `${name} has ${texts} already`, allocations }
    return { kind: 'allocated', message: `${name} has ${texts}`, allocations }
  }

  /** Removes the rows that this task has added, and then reports why. */
  #undo(
    places: readonly (PlacedRow | undefined)[],
    outcome: AllocationOutcome,
    unconfirmed: ParsedBlock | undefined,
  ): Step<AllocationOutcome> {
    for (const place of places) {
      const replaced = place && this.#writes.replacedBy(place)
      if (place === undefined || replaced === undefined) continue
      const effect = undoGiving(place, replaced, `not all of it can be given: ${outcome.message}`)
      this.#writes.removes(effect, place)
      return writeStep(effect)
    }
    return unconfirmed === undefined ? this.#end(places, outcome) : writeStep(fence(unconfirmed))
  }

  /**
   * Blocks that the handle names and the task has not read, and the failure if one of them cannot
   * be read.
   */
  #reviewHandle(): Step<AllocationOutcome> | undefined {
    const handle = this.#handle
    if (handle === undefined) return undefined
    handle.review(this.#conflicts)
    if (handle.problem !== undefined) return { kind: 'done', outcome: { kind: 'notReady', message: handle.problem } }
    const names = [interfaceKey(this.#request.interface)]
    const refs = handle.unread(names)
    if (refs.length > 0) return { kind: 'get', refs, why: 'the owner may have something there' }
    for (const { name, version } of handle.takeInFlight(names, this.#known)) this.#writes.suspects(name, version)
    return undefined
  }

  /**
   * Adds the block of a row to the handle before the row is written: after a crash the next task
   * finds it there.
   */
  #noteIn(blocks: readonly string[]): ReturnType<OwnerHandle['write']> {
    const handle = this.#handle
    if (handle === undefined || blocks.every((block) => handle.isOwn(block))) return undefined
    return this.#writeHandle(handle, blocks, { isFence: true })
  }

  /** Ends the task, once the handle names only blocks with rows of the owner. */
  #end(places: readonly (PlacedRow | undefined)[], outcome: AllocationOutcome): Step<AllocationOutcome> {
    const handle = this.#handle
    if (handle === undefined) return { kind: 'done', outcome }
    if (!handle.isKnown) return handle.reading
    const blocks = places.flatMap((place) => place?.parsed.name ?? [])
    const note = this.#writeHandle(handle, blocks, { isFence: false })
    return note === undefined ? { kind: 'done', outcome } : writeStep(note)
  }

  /** Writes to the handle which blocks have rows of the owner: the present ones, and these. */
  #writeHandle(handle: OwnerHandle, blocks: readonly string[], { isFence }: { readonly isFence: boolean }) {
    const name = interfaceKey(this.#request.interface)
    const wanted = new Map([[name, new Set([...handle.blocksWith(name, this.#known), ...blocks])]])
    return handle.write(wanted, this.#request.owner, { conflicts: this.#conflicts, isFence })
  }

  /** Blocks that a write of this task, or of one before it, may still create. */
  #leftIn(domain: string): readonly Prefix[] {
    const named = this.#handle?.places(interfaceKey(this.#request.interface), domain) ?? []
    return [...named, ...this.#writes.creating(domain)]
  }

  #choose(family: Family, unconfirmed: ParsedBlock | undefined): BlockChoice {
    const pools: PoolView[] = []
    const problems: string[] = []
    for (const name of this.#request.pools) {
      const pool = this.#known.pool(name)
      if (pool instanceof PoolView) pools.push(pool)
      else problems.push(typeof pool === 'object' ? `pool ${name}: ${pool.unreadable}` : `there is no pool ${name}`)
    }
    return chooseBlock({
      request: this.#request,
      family,
      pools,
      problems,
      known: this.#known,
      unconfirmed,
      left: (domain) => this.#leftIn(domain),
      beside: this.#shared?.prefix,
      contended: this.#writes.contended,
      refused: this.#writes.refusing,
      nowMs: this.#view.nowMs,
      usesLocks: this.#usesLocks,
    })
  }
}
