import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { refuse } from '../../../errors/refuse.js'
import type { Change, Effect, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { addressOf, allocationOf } from '../block/allocation.js'
import { type BlockEntry, ParsedBlock } from '../block/parsed-block.js'
import { changeRow, fence, isRowOf, nextSequence, undoGiving } from '../block/rows.js'
import { PoolView } from '../pool/pool-view.js'
import type { BlockChoice } from './choice.js'
import { chooseBlock, unitsWanted } from './choose-block.js'
import { interfaceKey, OwnerHandle } from './handle.js'
import {
  assertKnown,
  blockRef,
  type KnownBlocks,
  lockStep,
  type PlacedRow,
  poolRef,
  type SentRow,
} from './known-blocks.js'
import { isOldPool, ObservedObjects } from './observed-objects.js'
import type { AllocationOutcome } from './outcome.js'
import { type AdoptionRequest, type AllocationRequest, assertRequest, type TaskRequest } from './request.js'

type Family = 4 | 6

const NODE_FIELD = 'spec.node'
/** After this number of blocks in which the store refuses a row, no further block is tried. */
const MOST_REFUSED = 4
/** Reasons that may concern one block only. */
const OF_ONE_BLOCK: ReadonlySet<string> = new Set(['STORE_INVALID', 'STORE_OBJECT_TOO_LARGE'])
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
    refuse('outOfRange', 'nothing in a request of `allocate`: it is for `adopt`', outOfRange)
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
    refuse('addresses', 'one of each family', addresses.map(Address.format).join(', '))
  if (prefixLengths !== undefined) refuse('prefixLengths', 'nothing in a request of `adopt`', prefixLengths)
  if (outOfRange !== 'record' && outOfRange !== 'refuse') refuse('outOfRange', 'record or refuse', outOfRange)
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

/** A write that was sent for a block. */
interface Sent {
  /** The version that it requires; `undefined`: the block is created. */
  readonly version: string | undefined
  /** The number of its row, if this task sent it. */
  readonly sequence?: number
  /** The kept rows that the new row replaced; left out: it changes an existing row. */
  readonly replaced?: readonly BlockEntry[]
  /**
   * Whether the task was shown the version that the write requires. Then no earlier write can
   * succeed after it.
   */
  readonly isFence?: boolean
}

class AllocateTask implements GroupedTask {
  readonly #request: TaskRequest
  /** What the tasks of this process know together. */
  readonly #common: KnownBlocks
  /** What this task relies on: the same, or only what it was shown itself. */
  #known: KnownBlocks
  readonly #shared: SharedWrite | undefined
  /**
   * Names the blocks of the owner for tasks that do not know all blocks, if the request wants a
   * handle.
   */
  readonly #handle: OwnerHandle | undefined
  /**
   * The writes that were sent, by block: the version that each requires, and the number of its row
   * if this task sent it.
   */
  readonly #sent = new Map<string, Sent>()
  /**
   * The rows that this task has added, by block and number, with the kept rows that they replaced.
   */
  readonly #added = new Map<string, readonly BlockEntry[]>()
  readonly #observed = new ObservedObjects()
  /** The blocks in which another writer was faster. */
  #contended: RangeSet.RangeSet = RangeSet.empty
  /**
   * The blocks in which the store takes no row: a webhook denies it, or the object is too large.
   */
  #refused: RangeSet.RangeSet = RangeSet.empty
  #refusals = 0
  /** The reason that the store gave last. */
  #refusal: { readonly family: 4 | 6; readonly outcome: AllocationOutcome } | undefined
  #failed: AllocationOutcome | undefined
  /**
   * The last write, and whether an earlier one to its block was in flight. `prefix`: that of the
   * block, if a row is added.
   */
  #last:
    | {
        readonly effect: Effect
        readonly block: string
        readonly prefix: Prefix | undefined
        readonly wasUnconfirmed: boolean
      }
    | undefined
  #hasLookedAgain = false
  /** The families for which blocks that a status lists as full were read again. */
  readonly #rechecked = new Set<Family>()
  #usesLocks = false
  #nowMs = 0
  /** The clock of the known blocks when the last step began. */
  #since = 0
  #conflicts = 0

  constructor(request: TaskRequest, known: KnownBlocks, shared?: SharedWrite) {
    this.#request = request
    this.#shared = shared
    this.#common = known
    this.#known = known
    this.#handle = request.handle === true ? new OwnerHandle(request.owner.uid, this.#observed) : undefined
  }

  observe(change: Change): void {
    const isSo = this.#common.observe(change, { nowMs: this.#nowMs, since: this.#since })
    // another task of this process has written the block since
    if (!isSo) return
    this.#observed.note(change)
    this.#handle?.observe(change)
    if (this.#known !== this.#common) this.#known.observe(change, { nowMs: this.#nowMs })
  }

  listed({ fields }: TaskQuery): void {
    const node = fields[NODE_FIELD]
    if (node !== undefined) for (const known of this.#bothKnown) known.noteNode(node)
  }

  refused({ effect, code, message }: TaskRefusal): boolean {
    if (!this.#forget(effect)) return false
    const prefix = this.#last?.prefix
    if (prefix === undefined || !OF_ONE_BLOCK.has(code) || ++this.#refusals > MOST_REFUSED) return false
    this.#refused = RangeSet.union(this.#refused, RangeSet.fromPrefixes([prefix]))
    this.#refusal = { family: prefix.address.family, outcome: { kind: 'denied', message } }
    return true
  }

  /**
   * Why a family gets nothing: where the store refused blocks and no other block has free units,
   * that is the reason.
   */
  #reasonOf(outcome: AllocationOutcome, family: 4 | 6 | undefined): AllocationOutcome {
    const isOf = outcome.kind === 'denied' || outcome.kind === 'exhausted'
    return isOf && this.#refusal?.family === family ? (this.#refusal?.outcome ?? outcome) : outcome
  }

  notSent(effect: Effect): void {
    this.#forget(effect)
  }

  /**
   * The last write did not happen, and cannot happen later. @returns false: an earlier write to
   * that block may still be in flight
   */
  #forget(effect: Effect): boolean {
    const last = this.#last
    // the result of an earlier write for the same version is still unknown
    if (last?.effect !== effect || last.wasUnconfirmed) return false
    this.#sent.delete(last.block)
    for (const known of this.#bothKnown) known.noteRefused(last.block, this.#identity)
    return true
  }

  next(time: TaskTime): Step<AllocationOutcome> {
    const { nowMs, conflicts } = time
    this.#usesLocks = time.isLocked !== undefined
    this.#nowMs = nowMs
    this.#conflicts = conflicts
    this.#since = this.#common.clock
    const { pools: names, families } = this.#request
    const unknown = names.filter((name) => isOldPool(name, this.#known, this.#observed, nowMs))
    if (unknown.length > 0)
      return { kind: 'get', refs: unknown.map(poolRef), why: 'to find blocks with free addresses' }
    const node = this.#nodeToList()
    if (node !== undefined) {
      const { apiVersion, kind } = IPBlock.info
      return {
        kind: 'list',
        query: { apiVersion, kind, fields: { [NODE_FIELD]: node } },
        why: 'the blocks of its node',
      }
    }
    const left = this.#reviewHandle()
    if (left !== undefined) return left
    // writes for this owner by a task that has ended, whose results are unknown
    for (const { name, version } of this.#known.unconfirmed(this.#request.owner.uid, {
      name: this.#request.interface,
    })) {
      if (!this.#sent.has(name)) this.#sent.set(name, { version })
    }
    const unconfirmed = this.#review()
    const places = families.map((family) => this.#placeOf(family))
    if (this.#failed !== undefined) return this.#undo(places, this.#failed, unconfirmed)
    // a row that another owner may have got since is read again before it is reported
    const old = places.flatMap((place) =>
      place === undefined || this.#wasShown(place.parsed.name) ? [] : [place.parsed],
    )
    if (old.length > 0) {
      return { kind: 'get', refs: old.map(({ name }) => blockRef(name)), why: 'to check that the owner still has it' }
    }
    const differing = this.#differing(places)
    const unasked = differing === undefined ? [] : this.#askedBlocks()
    if (unasked.length > 0)
      return { kind: 'get', refs: unasked, why: 'to check whether the owner has the requested addresses' }
    const missing = families.filter((_, index) => places[index] === undefined)
    if (differing !== undefined || missing.length === 0) {
      if (unconfirmed !== undefined) return write(fence(unconfirmed))
      if (differing !== undefined) return this.#end(places, differing)
      const given = places as PlacedRow[]
      return this.#renew(given) ?? this.#settle(given) ?? this.#end(given, this.#success(given))
    }
    // nothing is written before every family has free units
    const choices = missing.map((family) => this.#choose(family, unconfirmed))
    const failed = choices.find((choice) => choice.kind === 'fails')
    if (failed !== undefined) {
      // the handle may name blocks with rows of the owner
      if (this.#handle?.isKnown === false) return readHandle(this.#handle)
      const again = this.#lookAgain(failed.outcome)
      if (again !== undefined) return again
      this.#failed = this.#reasonOf(failed.outcome, missing[choices.indexOf(failed)])
      return this.#undo(places, this.#failed, unconfirmed)
    }
    const unread = choices.filter((choice) => choice.kind === 'read').map(({ block }) => blockRef(block))
    if (unread.length > 0) return { kind: 'get', refs: unread, why: 'blocks may have free addresses' }
    const writes = choices.filter((choice) => choice.kind === 'write')
    const choice = writes.find(({ block }) => block === unconfirmed?.name) ?? (writes[0] as (typeof writes)[number])
    if (unconfirmed !== undefined && unconfirmed.name !== choice.block) return write(fence(unconfirmed))
    const note = this.#noteIn(this.#handle, writes)
    if (note !== undefined) return write(note)
    const { block, prefix, version, sequence, replaced } = choice
    const lock = lockStep(block, time)
    if (lock !== undefined) return lock
    this.#noteLast(choice.effect, block, prefix)
    this.#sent.set(block, { version, sequence, replaced })
    this.#noteSent(block, { prefix, version, sequence })
    return write(choice.effect)
  }

  /** What the process knows, and what this task relies on. */
  get #bothKnown(): ReadonlySet<KnownBlocks> {
    return new Set([this.#common, this.#known])
  }

  #noteLast(effect: Effect, block: string, prefix?: Prefix): void {
    this.#last = { effect, block, prefix, wasUnconfirmed: this.#sent.has(block) }
  }

  #noteSent(block: string, sent: Pick<SentRow, 'prefix' | 'version' | 'sequence'>, isBound = true): void {
    const row = { ...sent, ...this.#identity, isBound }
    for (const known of this.#bothKnown) known.noteSent(block, row, { nowMs: this.#nowMs })
  }

  /** The owner and interface of the request. */
  get #identity(): { readonly uid: string; readonly interface: string | undefined } {
    return { uid: this.#request.owner.uid, interface: this.#request.interface }
  }

  #wasShown(block: string): boolean {
    return this.#observed.has(IPBlock.info, block)
  }

  /**
   * Before a task without a watch reports that nothing is free, it reads once more what it was not
   * shown itself.
   */
  #lookAgain(outcome: AllocationOutcome): Step<AllocationOutcome> | undefined {
    if (this.#known.isComplete || !PASSING.includes(outcome.kind)) return undefined
    const { pools } = this.#request
    const fresh = this.#hasLookedAgain
      ? undefined
      : this.#known.fresh(pools, (kind, name) => this.#observed.has(kind, name))
    this.#hasLookedAgain = true
    if (fresh !== undefined) {
      this.#known = fresh
      // blocks with writes in flight are read too: the write may have happened, or may happen later
      const sent = [...this.#sent.keys()].filter((name) => !this.#wasShown(name))
      const old = pools.filter((name) => !this.#observed.has(IPPool.info, name))
      return {
        kind: 'get',
        refs: [...old.map(poolRef), ...sent.map(blockRef)],
        why: 'pools and blocks may have changed',
      }
    }
    if (outcome.kind !== 'exhausted' || this.#rechecked.has(outcome.family)) return undefined
    this.#rechecked.add(outcome.family)
    // without an operator the status of a pool may be old
    const full = pools.flatMap((name) => {
      const pool = this.#known.pool(name)
      return pool instanceof PoolView ? pool.fullBlocks(outcome.family, MOST_RECHECKED) : []
    })
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
    const { name, prefix, version, object } = place.parsed
    const sequence = nextSequence(object, this.#nowMs)
    const why = `${owner.name} has another container or MAC`
    const effect = changeRow(place, wanted, { nowMs: this.#nowMs, why })
    this.#noteLast(effect, name)
    this.#sent.set(name, { version, sequence })
    this.#noteSent(name, { prefix, version, sequence })
    return write(effect)
  }

  /**
   * A release by a process that has ended may still be in flight. Until this process has written
   * the block, the task does not report that the owner has the row. With containers that release
   * was for an earlier one, and `#renew` has made it fail.
   */
  #settle(places: readonly PlacedRow[]): Step<AllocationOutcome> | undefined {
    const place = places.find(({ parsed }) => !this.#common.written.has(parsed.name))
    if (place === undefined || this.#request.container !== undefined) return undefined
    const { parsed } = place
    this.#sent.set(parsed.name, { version: parsed.version, isFence: true })
    return write(fence(parsed))
  }

  /**
   * The node whose blocks have to be listed, where the blocks of a pool belong to nodes;
   * `undefined`: none.
   */
  #nodeToList(): string | undefined {
    const { pools, node } = this.#request
    if (node === undefined || this.#known.knowsNode(node.name)) return undefined
    const views = pools.map((name) => this.#known.pool(name))
    return views.some((pool) => pool instanceof PoolView && pool.object.spec.affinity !== undefined)
      ? node.name
      : undefined
  }

  /**
   * Reads the results of the writes that were sent.
   *
   * @returns a block with an unconfirmed write: while it has the version that the write requires,
   * the write may still happen
   */
  #review(): ParsedBlock | undefined {
    let unconfirmed: ParsedBlock | undefined
    for (const [name, { version, sequence, replaced, isFence }] of this.#sent) {
      const parsed = this.#known.block(name)
      if (!(parsed instanceof ParsedBlock)) continue
      const isOwn = parsed.entries.some(({ row }) => row.sequence === sequence && row.uid === this.#request.owner.uid)
      if (isOwn) {
        if (replaced !== undefined) this.#added.set(`${name} ${sequence}`, replaced)
      } else if (version !== undefined && parsed.version === version) {
        unconfirmed ??= parsed
        continue
      } else if (isFence === true) this.#common.written.add(name)
      else this.#contended = RangeSet.union(this.#contended, RangeSet.fromPrefixes([parsed.prefix]))
      this.#sent.delete(name)
    }
    return unconfirmed
  }

  /** The row that the owner has of a family, whichever pool of the request it is of. */
  #placeOf(family: Family): PlacedRow | undefined {
    const { owner, interface: name, pools } = this.#request
    const asked = this.#request.addresses?.find((address) => address.family === family)
    const places = this.#known.rowsOf(owner.uid).filter(({ parsed, entry }) => {
      if (parsed.prefix.address.family !== family || !isRowOf(entry, owner.uid, name)) return false
      const pool = entry.row.pool ?? parsed.object.spec.pool
      if (!pools.includes(pool)) return false
      // the row is of an earlier pool of that name, in another domain
      const view = this.#known.pool(pool)
      return !(view instanceof PoolView) || view.object.spec.domain === parsed.object.spec.domain
    })
    // a row that an earlier attempt has left beside it is not the requested one
    const wanted = asked && places.find(({ parsed, entry }) => Address.equals(addressOf(parsed, entry), asked))
    return wanted ?? places[0]
  }

  /**
   * The failure if the owner has something else than it requests: another address, or another
   * number of them.
   */
  #differing(places: readonly (PlacedRow | undefined)[]): AllocationOutcome | undefined {
    const found = places.filter((place) => place !== undefined)
    const allocations = found.map((place) => allocationOf(place, this.#known))
    const wrong = allocations.find(({ family, address, count }, nth) => {
      const asked = this.#request.addresses?.find((each) => each.family === family)
      if (asked !== undefined && !Address.equals(asked, address)) return true
      const length = (found[nth] as PlacedRow).parsed.object.spec.allocationPrefixLength
      return count !== unitsWanted(this.#request, family, length)
    })
    if (wrong === undefined) return undefined
    const size = wrong.count === 1 ? '' : `${wrong.count} from `
    const message = `${this.#request.owner.name} has ${size}${Address.format(wrong.address)} of pool ${wrong.pool}`
    return { kind: 'different', message, allocations }
  }

  /**
   * The blocks of the requested addresses that this task was not shown: of two rows the second may
   * be there.
   */
  #askedBlocks(): readonly ObjectRef[] {
    const { addresses = [], pools } = this.#request
    const names = addresses.flatMap((address) =>
      pools.map((pool) => {
        const view = this.#known.pool(pool)
        return view instanceof PoolView ? view.blockAt(address) : undefined
      }),
    )
    return [...new Set(names)].flatMap((name) => (name === undefined || this.#wasShown(name) ? [] : [blockRef(name)]))
  }

  #success(places: readonly PlacedRow[]): AllocationOutcome {
    const allocations = places.map((place) => allocationOf(place, this.#known))
    const texts = allocations.map(({ address }) => Address.format(address)).join(' and ')
    const { name } = this.#request.owner
    if (this.#added.size === 0) return { kind: 'already', message: `${name} has ${texts} already`, allocations }
    return { kind: 'allocated', message: `${name} has ${texts}`, allocations }
  }

  /** Removes the rows that this task has added, and then reports why. */
  #undo(
    places: readonly (PlacedRow | undefined)[],
    outcome: AllocationOutcome,
    unconfirmed: ParsedBlock | undefined,
  ): Step<AllocationOutcome> {
    for (const place of places) {
      const replaced = place && this.#added.get(`${place.parsed.name} ${place.entry.row.sequence}`)
      if (place === undefined || replaced === undefined) continue
      const { name, prefix, version } = place.parsed
      const effect = undoGiving(place, replaced, `not all of it can be given: ${outcome.message}`)
      this.#noteLast(effect, name)
      // a late success of this write must not remove the row of the next owner
      this.#noteSent(name, { prefix, version, sequence: place.entry.row.sequence }, false)
      return write(effect)
    }
    return unconfirmed === undefined ? this.#end(places, outcome) : write(fence(unconfirmed))
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
    for (const { name, version } of handle.takeInFlight(names, this.#known)) this.#sent.set(name, { version })
    return undefined
  }

  /**
   * Adds the block of a row to the handle before the row is written: after a crash the next task
   * finds it there.
   */
  #noteIn(
    handle: OwnerHandle | undefined,
    choices: readonly { readonly block: string }[],
  ): (Effect & { readonly why: string }) | undefined {
    if (handle === undefined || choices.every(({ block }) => handle.isOwn(block))) return undefined
    const name = interfaceKey(this.#request.interface)
    const blocks = handle.blocksWith(name, this.#known)
    for (const { block } of choices) blocks.add(block)
    return handle.write(new Map([[name, blocks]]), this.#request.owner, { conflicts: this.#conflicts, isFence: true })
  }

  /** Ends the task, once the handle names only blocks with rows of the owner. */
  #end(places: readonly (PlacedRow | undefined)[], outcome: AllocationOutcome): Step<AllocationOutcome> {
    const handle = this.#handle
    if (handle === undefined) return { kind: 'done', outcome }
    if (!handle.isKnown) return readHandle(handle)
    const name = interfaceKey(this.#request.interface)
    const blocks = handle.blocksWith(name, this.#known)
    for (const place of places) if (place !== undefined) blocks.add(place.parsed.name)
    const note = handle.write(new Map([[name, blocks]]), this.#request.owner, { conflicts: this.#conflicts })
    return note === undefined ? { kind: 'done', outcome } : write(note)
  }

  /** Blocks that a write of this task, or of one before it, may still create. */
  #leftIn(domain: string): readonly Prefix[] {
    const named = this.#handle?.places(interfaceKey(this.#request.interface), domain) ?? []
    const sent = [...this.#sent].flatMap(([name, { version }]) => {
      const place = version === undefined ? parseBlockName(name) : undefined
      return place?.domain === domain ? [place.prefix] : []
    })
    return [...named, ...sent]
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
      contended: this.#contended,
      refused: this.#refused,
      nowMs: this.#nowMs,
      usesLocks: this.#usesLocks,
    })
  }
}

function readHandle({ ref }: OwnerHandle): Step<AllocationOutcome> {
  return { kind: 'get', refs: [ref], why: 'to find the blocks of the owner' }
}

function write(effect: Effect & { readonly why: string }): Step<AllocationOutcome> {
  return { kind: 'write', plan: { outcome: { kind: 'writes', message: effect.why }, effects: [effect] } }
}
