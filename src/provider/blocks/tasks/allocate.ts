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
import type { Choice } from './choice.js'
import { chooseBlock, unitsWanted } from './choose-block.js'
import { interfaceKey, OwnerHandle } from './handle.js'
import { assertKnown, blockRef, type KnownBlocks, lockStep, type Place, poolRef, type SentRow } from './known-blocks.js'
import { isOldPool, ObservedObjects } from './observed-objects.js'
import type { AllocationOutcome } from './outcome.js'
import { type AdoptionRequest, type AllocationRequest, assertRequest, type TaskRequest } from './request.js'

type Family = 4 | 6

const NODE_FIELD = 'spec.node'
/**
 * After so many blocks that the store does not take it is no longer believed that it would take
 * another one.
 */
const MOST_REFUSED = 4
/** What may be wrong with one block, and not with another. */
const OF_ONE_BLOCK: ReadonlySet<string> = new Set(['STORE_INVALID', 'STORE_OBJECT_TOO_LARGE'])
/**
 * So many of the blocks that the status of a pool says are full are looked into before it is
 * believed.
 */
const MOST_RECHECKED = 8
/** What may be so no longer, where who says it is not shown changes. */
const PASSING: readonly AllocationOutcome['kind'][] = ['exhausted', 'taken', 'notReady']

/**
 * Gives an owner what it asks for: of every family, or nothing.
 *
 * What is known of pools and blocks comes from `known`, which other tasks may share; what is not
 * known is asked for, and then costs a read. Each write has the version of the block as its
 * condition, so that writers that do not know of each other never give one address twice: who was
 * slower looks again.
 *
 * Tasks for one owner and interface run one after the other, as a container runtime and a queue of
 * keys have them.
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

/** The block that tasks of one group are about to write together, while they choose. */
export interface SharedWrite {
  prefix: Prefix | undefined
}

/** A task whose writes others send together with their own. */
export interface GroupedTask extends Task<AllocationOutcome> {
  /** The effect that it has planned last was not sent. */
  notSent(effect: Effect): void
}

/** As {@link allocate} or {@link adopt}, for a group whose tasks write together. */
export function allocateBeside(request: TaskRequest, known: KnownBlocks, shared: SharedWrite): GroupedTask {
  return new AllocateTask(request, known, shared)
}

/** Something that was sent for a block. */
interface Sent {
  /** For which version; `undefined`: the block is made. */
  readonly version: string | undefined
  /** The number of its row, if it was this task that sent it. */
  readonly sequence?: number
  /** What was remembered where the row goes; left out: it changes a row that was there. */
  readonly replaced?: readonly BlockEntry[]
  /**
   * Whether it was sent for a version that this task was shown, so that nothing from before is done
   * when there is another one.
   */
  readonly isFence?: boolean
}

class AllocateTask implements GroupedTask {
  readonly #request: TaskRequest
  /** What the tasks of this process know together. */
  readonly #common: KnownBlocks
  /** What this one goes by: the same, or only what it was shown itself, where that has to be so. */
  #known: KnownBlocks
  readonly #shared: SharedWrite | undefined
  /** Where who knows nothing finds what the owner has, if that is wanted. */
  readonly #handle: OwnerHandle | undefined
  /**
   * What was sent: for which version of which block, and which number its row has, if it was this
   * task.
   */
  readonly #sent = new Map<string, Sent>()
  /**
   * The rows that this task has added, as block and number, and what was remembered there before.
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
  /** What the store has said of the last of them. */
  #refusal: { readonly family: 4 | 6; readonly outcome: AllocationOutcome } | undefined
  #failed: AllocationOutcome | undefined
  /**
   * What was sent last, and whether something was in flight to its block already. `prefix`: that of
   * the block, if a row is added.
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
  /** The families for which some of the blocks were looked into that a status says are full. */
  readonly #rechecked = new Set<Family>()
  #usesLocks = false
  #nowMs = 0
  /** How much was known when the last step began. */
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
    // another task of this process has met it since
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
   * Why there is nothing of a family: where blocks were refused and no other one has room, it is
   * that.
   */
  #reasonOf(outcome: AllocationOutcome, family: 4 | 6 | undefined): AllocationOutcome {
    const isOf = outcome.kind === 'denied' || outcome.kind === 'exhausted'
    return isOf && this.#refusal?.family === family ? (this.#refusal?.outcome ?? outcome) : outcome
  }

  notSent(effect: Effect): void {
    this.#forget(effect)
  }

  /**
   * Nothing of what was sent last was done, nor comes later. @returns false: something else may
   * still be in flight to that block
   */
  #forget(effect: Effect): boolean {
    const last = this.#last
    // of what was sent before for the same version it is still not known what has become
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
    if (unknown.length > 0) return { kind: 'get', refs: unknown.map(poolRef), why: 'where to look' }
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
    // what was sent for this owner by a task that has ended since, and of which nobody knows what
    // has become
    for (const { name, version } of this.#known.unconfirmed(this.#request.owner.uid, {
      name: this.#request.interface,
    })) {
      if (!this.#sent.has(name)) this.#sent.set(name, { version })
    }
    const unconfirmed = this.#review()
    const places = families.map((family) => this.#placeOf(family))
    if (this.#failed !== undefined) return this.#undo(places, this.#failed, unconfirmed)
    // nobody is told that he has what somebody else may have been given since
    const old = places.flatMap((place) =>
      place === undefined || this.#wasShown(place.parsed.name) ? [] : [place.parsed],
    )
    if (old.length > 0) {
      return { kind: 'get', refs: old.map(({ name }) => blockRef(name)), why: 'whether the owner still has it' }
    }
    const differing = this.#differing(places)
    const unasked = differing === undefined ? [] : this.#askedBlocks()
    if (unasked.length > 0) return { kind: 'get', refs: unasked, why: 'whether the owner has what it asks for' }
    const missing = families.filter((_, index) => places[index] === undefined)
    if (differing !== undefined || missing.length === 0) {
      if (unconfirmed !== undefined) return write(fence(unconfirmed))
      if (differing !== undefined) return this.#end(places, differing)
      const given = places as Place[]
      return this.#renew(given) ?? this.#settle(given) ?? this.#end(given, this.#success(given))
    }
    // nothing is written before there is room for all
    const choices = missing.map((family) => this.#choose(family, unconfirmed))
    const failed = choices.find((choice) => choice.kind === 'fails')
    if (failed !== undefined) {
      // what the owner has already may be where only its handle says
      if (this.#handle?.isKnown === false) return readHandle(this.#handle)
      const again = this.#lookAgain(failed.outcome)
      if (again !== undefined) return again
      this.#failed = this.#reasonOf(failed.outcome, missing[choices.indexOf(failed)])
      return this.#undo(places, this.#failed, unconfirmed)
    }
    const unread = choices.filter((choice) => choice.kind === 'read').map(({ block }) => blockRef(block))
    if (unread.length > 0) return { kind: 'get', refs: unread, why: 'they may have room' }
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

  /** What tells others, and this task, what there is. */
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

  /** Whose it is. */
  get #identity(): { readonly uid: string; readonly interface: string | undefined } {
    return { uid: this.#request.owner.uid, interface: this.#request.interface }
  }

  #wasShown(block: string): boolean {
    return this.#observed.has(IPBlock.info, block)
  }

  /**
   * Before who does not know all says that there is no room, it looks once more, and goes by
   * nothing that it was not shown itself.
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
      // where something was sent to is looked at too: it may have been done, or may yet be
      const sent = [...this.#sent.keys()].filter((name) => !this.#wasShown(name))
      const old = pools.filter((name) => !this.#observed.has(IPPool.info, name))
      return { kind: 'get', refs: [...old.map(poolRef), ...sent.map(blockRef)], why: 'that may have changed' }
    }
    if (outcome.kind !== 'exhausted' || this.#rechecked.has(outcome.family)) return undefined
    this.#rechecked.add(outcome.family)
    // where no operator runs, what the status of a pool says may be of long ago
    const doubted = pools.flatMap((name) => {
      const pool = this.#known.pool(name)
      return pool instanceof PoolView ? pool.fullBlocks(outcome.family, MOST_RECHECKED) : []
    })
    const refs = doubted.filter((name) => this.#known.block(name) === undefined).map(blockRef)
    return refs.length === 0 ? undefined : { kind: 'get', refs, why: 'they may have room by now' }
  }

  /**
   * Writes what has changed of an owner that has what it asks for: a late release of the container
   * before is then none of this row.
   */
  #renew(places: readonly Place[]): Step<AllocationOutcome> | undefined {
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
   * What somebody who has died has sent to give it back may still be in flight: until this process
   * has written the block it is not said that the owner has it. Where there are containers that was
   * for one before, and `#renew` has kept it off.
   */
  #settle(places: readonly Place[]): Step<AllocationOutcome> | undefined {
    const place = places.find(({ parsed }) => !this.#common.written.has(parsed.name))
    if (place === undefined || this.#request.container !== undefined) return undefined
    const { parsed } = place
    this.#sent.set(parsed.name, { version: parsed.version, isFence: true })
    return write(fence(parsed))
  }

  /**
   * The node whose blocks have to be known, and are not: where the blocks of a pool belong to
   * nodes.
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
   * Looks at what has become of what was sent.
   *
   * @returns a block of which that is not known: it has the version for which it was sent, and
   * while it has, it may still be done
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

  /** The row that the owner has of a family, whichever of the pools it is of. */
  #placeOf(family: Family): Place | undefined {
    const { owner, interface: name, pools } = this.#request
    const asked = this.#request.addresses?.find((address) => address.family === family)
    const places = this.#known.rowsOf(owner.uid).filter(({ parsed, entry }) => {
      if (parsed.prefix.address.family !== family || !isRowOf(entry, owner.uid, name)) return false
      const pool = entry.row.pool ?? parsed.object.spec.pool
      if (!pools.includes(pool)) return false
      // of one of that name that was there before, in another domain
      const view = this.#known.pool(pool)
      return !(view instanceof PoolView) || view.object.spec.domain === parsed.object.spec.domain
    })
    // one that an attempt has left beside it is not what is asked for
    const wanted = asked && places.find(({ parsed, entry }) => Address.equals(addressOf(parsed, entry), asked))
    return wanted ?? places[0]
  }

  /**
   * What the owner has, if it is not what it asks for: another address, or more of them, or less.
   */
  #differing(places: readonly (Place | undefined)[]): AllocationOutcome | undefined {
    const found = places.filter((place) => place !== undefined)
    const allocations = found.map((place) => allocationOf(place, this.#known))
    const wrong = allocations.find(({ family, address, count }, nth) => {
      const asked = this.#request.addresses?.find((each) => each.family === family)
      if (asked !== undefined && !Address.equals(asked, address)) return true
      const length = (found[nth] as Place).parsed.object.spec.allocationPrefixLength
      return count !== unitsWanted(this.#request, family, length)
    })
    if (wrong === undefined) return undefined
    const size = wrong.count === 1 ? '' : `${wrong.count} from `
    const message = `${this.#request.owner.name} has ${size}${Address.format(wrong.address)} of pool ${wrong.pool}`
    return { kind: 'different', message, allocations }
  }

  /**
   * The blocks of the addresses that are asked for, as far as this task was not shown them: of two
   * rows the other one may be there.
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

  #success(places: readonly Place[]): AllocationOutcome {
    const allocations = places.map((place) => allocationOf(place, this.#known))
    const texts = allocations.map(({ address }) => Address.format(address)).join(' and ')
    const { name } = this.#request.owner
    if (this.#added.size === 0) return { kind: 'already', message: `${name} has ${texts} already`, allocations }
    return { kind: 'allocated', message: `${name} has ${texts}`, allocations }
  }

  /** Takes back what this task has given, and then says why. */
  #undo(
    places: readonly (Place | undefined)[],
    outcome: AllocationOutcome,
    unconfirmed: ParsedBlock | undefined,
  ): Step<AllocationOutcome> {
    for (const place of places) {
      const replaced = place && this.#added.get(`${place.parsed.name} ${place.entry.row.sequence}`)
      if (place === undefined || replaced === undefined) continue
      const { name, prefix, version } = place.parsed
      const effect = undoGiving(place, replaced, `not all of it can be given: ${outcome.message}`)
      this.#noteLast(effect, name)
      // whoever is given the same next is not to lose it to this, should it come late
      this.#noteSent(name, { prefix, version, sequence: place.entry.row.sequence }, false)
      return write(effect)
    }
    return unconfirmed === undefined ? this.#end(places, outcome) : write(fence(unconfirmed))
  }

  /** What the handle names that was not looked at yet, and what cannot be told without it. */
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
   * Before a row is written its block stands in the handle: whoever comes after a death looks
   * there.
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

  /** The end, when the handle says no more than what the owner has. */
  #end(places: readonly (Place | undefined)[], outcome: AllocationOutcome): Step<AllocationOutcome> {
    const handle = this.#handle
    if (handle === undefined) return { kind: 'done', outcome }
    if (!handle.isKnown) return readHandle(handle)
    const name = interfaceKey(this.#request.interface)
    const blocks = handle.blocksWith(name, this.#known)
    for (const place of places) if (place !== undefined) blocks.add(place.parsed.name)
    const note = handle.write(new Map([[name, blocks]]), this.#request.owner, { conflicts: this.#conflicts })
    return note === undefined ? { kind: 'done', outcome } : write(note)
  }

  /** Where something that was sent by this task, or one before it, may still make a block. */
  #leftIn(domain: string): readonly Prefix[] {
    const named = this.#handle?.places(interfaceKey(this.#request.interface), domain) ?? []
    const sent = [...this.#sent].flatMap(([name, { version }]) => {
      const place = version === undefined ? parseBlockName(name) : undefined
      return place?.domain === domain ? [place.prefix] : []
    })
    return [...named, ...sent]
  }

  #choose(family: Family, unconfirmed: ParsedBlock | undefined): Choice {
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
  return { kind: 'get', refs: [ref], why: 'where the owner has something' }
}

function write(effect: Effect & { readonly why: string }): Step<AllocationOutcome> {
  return { kind: 'write', plan: { outcome: { kind: 'writes', message: effect.why }, effects: [effect] } }
}
