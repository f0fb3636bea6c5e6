import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { refuse } from '../../../errors/refuse.js'
import type { Change, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'
import { allocationOf } from '../block/allocation.js'
import { unitOf } from '../block/grid.js'
import { isBound, ParsedBlock } from '../block/parsed-block.js'
import { fence, takeBack } from '../block/rows.js'
import { OwnerHandle } from './handle.js'
import { assertKnown, type KnownBlocks, type PlacedRow } from './known-blocks.js'
import type { ReleaseRequest } from './request.js'
import { type Allocation, assertRelease } from './request.js'
import { listStep, lockStep, poolRef, writeStep } from './steps.js'
import { TaskView } from './task-view.js'

export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** The owner has no matching address. */
  | { readonly kind: 'nothing'; readonly message: string }
  /** It is not known what the owner has: its handle, or a block, cannot be read. */
  | { readonly kind: 'notReady'; readonly message: string }
  /** Another owner has the address. */
  | { readonly kind: 'notYours'; readonly message: string; readonly by: string }

/**
 * Releases the addresses of an owner. Addresses that it no longer has are no failure, and addresses
 * of other owners are not touched.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function release(request: ReleaseRequest, known: KnownBlocks): Task<ReleaseOutcome> {
  assertRelease(request)
  assertKnown('release', known)
  if (!known.isComplete && request.handle !== true && (request.pools ?? []).length === 0) {
    const expected = 'the pools that it may be of, or a handle, where not all blocks are known'
    refuse('release', 'pools', expected, 'none')
  }
  return new ReleaseTask(request, known)
}

const DOMAIN_FIELD = 'spec.domain'
/** Means all domains, as a key of the listed domains. */
const EVERYWHERE = ''

class ReleaseTask implements Task<ReleaseOutcome> {
  readonly #request: ReleaseRequest
  readonly #known: KnownBlocks
  readonly #view: TaskView
  readonly #listed = new Set<string>()
  /** The rows to release, as they were found: by block and number. */
  readonly #found = new Map<string, Allocation>()
  readonly #handle: OwnerHandle | undefined
  /** The blocks that this task writes. */
  readonly #sent = new Set<string>()
  /** Whether a handle existed when it was first read. */
  #hasHandle = false
  /** Blocks in which an earlier attempt may still write, with the version that they had. */
  readonly #inFlight = new Map<string, string | undefined>()

  constructor(request: ReleaseRequest, known: KnownBlocks) {
    this.#request = request
    this.#known = known
    this.#view = new TaskView(known)
    this.#handle = request.handle === true ? new OwnerHandle(request.owner.uid, this.#view) : undefined
  }

  observe(change: Change): void {
    if (this.#view.observe(change)) this.#handle?.observe(change)
  }

  listed({ fields }: TaskQuery): void {
    this.#listed.add(fields[DOMAIN_FIELD] ?? EVERYWHERE)
  }

  next(time: TaskTime): Step<ReleaseOutcome> {
    const { nowMs, conflicts } = time
    this.#view.begin(time)
    // writes for this owner by a task that has ended, whose results are unknown
    const { owner, interface: named } = this.#request
    const unconfirmed = this.#known.unconfirmed(owner.uid, named === undefined ? undefined : { name: named })
    for (const { name, version } of unconfirmed) if (!this.#sent.has(name)) this.#inFlight.set(name, version)
    const left = this.#reviewHandle(conflicts)
    if (left !== undefined) return left
    const reads = this.#known.isComplete || this.#hasHandle ? undefined : this.#reads()
    if (reads !== undefined) return reads
    const [place] = this.#places()
    if (place === undefined) return this.#end(conflicts)
    const allocation = allocationOf(place, this.#known)
    const old = this.#view.oldPools([allocation.pool])
    if (old.length > 0) {
      return { kind: 'get', refs: old, why: 'how long its pool waits before it gives an address again' }
    }
    const [pool] = this.#view.pools([allocation.pool])
    const { name, prefix, version } = place.parsed
    const { uid, sequence, interface: interfaceName } = place.entry.row
    const lock = lockStep(name, time)
    if (lock !== undefined) return lock
    const sent = { prefix, version, uid, interface: interfaceName, sequence, isBound: false }
    this.#found.set(`${name} ${sequence}`, allocation)
    this.#sent.add(name)
    this.#known.noteSent(name, sent, { nowMs })
    const effect = takeBack(place, pool?.object.spec, {
      nowMs,
      why: `its owner ${place.entry.row.owner} gives it back`,
    })
    return writeStep(effect)
  }

  /** Blocks that the handle names and the task has not read. */
  #reviewHandle(conflicts: number): Step<ReleaseOutcome> | undefined {
    const handle = this.#handle
    if (handle === undefined) return undefined
    handle.review(conflicts)
    if (!handle.isKnown) return handle.reading
    if (handle.isThere) this.#hasHandle = true
    const { problem } = handle
    if (problem !== undefined && !this.#known.isComplete && (this.#request.pools ?? []).length === 0) {
      return { kind: 'done', outcome: { kind: 'notReady', message: problem } }
    }
    const refs = handle.unread(this.#interfaces(handle))
    if (refs.length > 0) return { kind: 'get', refs, why: 'the owner may have rows there' }
    for (const { name, version } of handle.takeInFlight(this.#interfaces(handle), this.#known)) {
      this.#inFlight.set(name, version)
    }
    return undefined
  }

  /** The interfaces to release, under their names in the handle. */
  #interfaces(handle: OwnerHandle): readonly string[] {
    const { interface: name } = this.#request
    return name === undefined ? handle.interfaces : [name]
  }

  /**
   * Ends the task, once no write is in flight and the handle names only blocks with rows of the
   * owner.
   */
  #end(conflicts: number): Step<ReleaseOutcome> {
    for (const [name, version] of this.#inFlight) {
      const parsed = this.#known.block(name)
      if (parsed instanceof ParsedBlock && parsed.version === version) return writeStep(fence(parsed))
      this.#inFlight.delete(name)
    }
    const note = this.#handle && this.#noteIn(this.#handle, conflicts)
    if (note !== undefined) return writeStep(note)
    return { kind: 'done', outcome: this.#outcome() }
  }

  /** The write of the handle: it names only blocks with rows of the owner. */
  #noteIn(handle: OwnerHandle, conflicts: number): ReturnType<OwnerHandle['write']> {
    if (!handle.isThere) return undefined
    const { uid } = this.#request.owner
    const wanted = this.#interfaces(handle).map((name) => [name, handle.blocksWith(name, this.#known)] as const)
    return handle.write(new Map(wanted), { uid, name: uid }, { conflicts })
  }

  /** The objects to read first, if not all blocks are known. */
  #reads(): Step<ReleaseOutcome> | undefined {
    const { pools = [], address } = this.#request
    const unknown = pools.filter((name) => this.#known.pool(name) === undefined)
    if (unknown.length > 0) return { kind: 'get', refs: unknown.map(poolRef), why: 'to find the blocks of the owner' }
    const views = this.#view.pools(pools)
    // the domain of a pool that does not exist or cannot be read is not known
    if (views.length < pools.length) return this.#list(EVERYWHERE)
    const blocks = address === undefined ? [] : views.map((pool) => pool.blockAt(address))
    if (address === undefined || blocks.includes(undefined)) {
      const domain = views.map(({ object }) => object.spec.domain).find((name) => !this.#listed.has(name))
      return domain === undefined ? undefined : this.#list(domain)
    }
    const refs = this.#view.unseen(IPBlock.info, blocks as string[])
    return refs.length === 0 ? undefined : { kind: 'get', refs, why: 'the block of the address' }
  }

  #list(domain: string): Step<ReleaseOutcome> | undefined {
    if (this.#listed.has(domain)) return undefined
    return listStep(domain === EVERYWHERE ? {} : { [DOMAIN_FIELD]: domain }, 'all blocks with rows of the owner')
  }

  /** Why more may be found later: a block that may have rows of the owner cannot be read. */
  #obstacle(): string | undefined {
    const { pools = [], address } = this.#request
    const named = this.#handle?.unreadable(this.#interfaces(this.#handle), this.#known)
    if (named !== undefined || this.#hasHandle) return named
    const views = this.#view.pools(pools)
    const isEverywhere = pools.length === 0 || views.length < pools.length
    const domains = new Set(views.map((pool) => pool.object.spec.domain))
    return this.#known.unreadableBlocks().find(({ domain, prefix }) => {
      if (!isEverywhere && !domains.has(domain)) return false
      return address === undefined || containsAddress(prefix, address)
    })?.message
  }

  #places(): readonly PlacedRow[] {
    const { owner, interface: name, container, address, sequence, pools } = this.#request
    return this.#known.rowsOf(owner.uid).filter(({ parsed, entry }) => {
      const { row } = entry
      if (name !== undefined && row.interface !== name) return false
      if (container !== undefined && row.container !== container) return false
      if (sequence !== undefined && row.sequence !== sequence) return false
      if (pools !== undefined && !pools.includes(row.pool ?? parsed.object.spec.pool)) return false
      return address === undefined || entryHas(parsed, entry, address)
    })
  }

  #outcome(): ReleaseOutcome {
    // a row that another task has taken over meanwhile was not released
    const kept = new Set(
      this.#known.rowsOf(this.#request.owner.uid).map((place) => keyOf(allocationOf(place, this.#known))),
    )
    const allocations = [...this.#found.values()].filter((allocation) => !kept.has(keyOf(allocation)))
    if (allocations.length > 0) {
      const texts = allocations.map(({ address }) => Address.format(address)).join(' and ')
      return { kind: 'released', message: `${texts} released`, allocations }
    }
    const obstacle = this.#obstacle()
    if (obstacle !== undefined) return { kind: 'notReady', message: obstacle }
    const by = this.#other()
    if (by === undefined) return { kind: 'nothing', message: 'owner holds no matching address' }
    return { kind: 'notYours', message: `${by} has it`, by }
  }

  /** Another owner that has the address. */
  #other(): string | undefined {
    const { owner, address, pools } = this.#request
    if (address === undefined) return undefined
    for (const pool of this.#known.pools()) {
      if (pools !== undefined && !pools.includes(pool.name)) continue
      const parsed = this.#known.block(pool.blockAt(address) ?? '')
      if (!(parsed instanceof ParsedBlock)) continue
      const entry = parsed.at(unitOf(parsed.prefix, parsed.object.spec.allocationPrefixLength, address))
      if (entry !== undefined && isBound(entry) && entry.row.uid !== owner.uid) return entry.row.owner
    }
    return undefined
  }
}

function keyOf({ block, address }: Allocation): string {
  return `${block} ${Address.format(address)}`
}

function entryHas(
  { prefix, object }: ParsedBlock,
  { unit, count }: PlacedRow['entry'],
  address: Address.Address,
): boolean {
  if (!containsAddress(prefix, address)) return false
  const at = unitOf(prefix, object.spec.allocationPrefixLength, address)
  return at >= unit && at < unit + count
}

function containsAddress(prefix: ParsedBlock['prefix'], address: Address.Address): boolean {
  return prefix.address.family === address.family && Prefix.contains(prefix, address)
}
