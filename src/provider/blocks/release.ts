import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { blockName } from '../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../crd/ipam-kit/ip-block.js'
import { ipamError } from '../../errors/index.js'
import type { Change, Step, Task, TaskQuery, TaskTime } from '../../plan/index.js'
import { allocationOf } from './allocation.js'
import { BlockBook, isBound } from './book.js'
import { blockAround, unitOf } from './grid.js'
import { blockRef, type KnownBlocks, type Place, poolRef } from './known-blocks.js'
import { PoolView } from './pool-view.js'
import type { Allocation } from './request.js'
import { takeBack } from './rows.js'

/** Gives back what an owner has: all of it, or the part that all of what is given says. */
export interface ReleaseRequest {
  readonly owner: { readonly uid: string }
  readonly interface?: string | undefined
  readonly container?: string | undefined
  readonly address?: Address.Address | undefined
  /** That of the allocation: what the owner has been given since stays. */
  readonly sequence?: number | undefined
  /**
   * The pools that it may be of. Who knows all blocks need not say; who does not asks for the block of the address, or without an address for all blocks
   * of the domains of these pools.
   */
  readonly pools?: readonly string[] | undefined
}

export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** It has nothing of the kind, or not any more. */
  | { readonly kind: 'nothing'; readonly message: string }
  /** Somebody else has the address. */
  | { readonly kind: 'notYours'; readonly message: string; readonly by: string }

/**
 * Gives back what an owner has. What it has no more is fine, and what belongs to others is not touched.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function release(request: ReleaseRequest, known: KnownBlocks): Task<ReleaseOutcome> {
  const uid = request?.owner?.uid
  if (typeof uid !== 'string' || uid === '') {
    throw ipamError('INVALID_ARGUMENT', { argument: 'owner.uid', expected: 'a text', got: String(uid) })
  }
  if (!known.isComplete && (request.pools ?? []).length === 0) {
    const expected = 'the pools that it may be of, where not all blocks are known'
    throw ipamError('INVALID_ARGUMENT', { argument: 'pools', expected, got: 'none' })
  }
  return new ReleaseTask(request, known)
}

class ReleaseTask implements Task<ReleaseOutcome> {
  readonly #request: ReleaseRequest
  readonly #known: KnownBlocks
  readonly #listed = new Set<string>()
  /** What is to be given back, as it was when it was found: by block and number. */
  readonly #found = new Map<string, Allocation>()
  #nowMs = 0

  constructor(request: ReleaseRequest, known: KnownBlocks) {
    this.#request = request
    this.#known = known
  }

  observe(change: Change): void {
    this.#known.observe(change, { nowMs: this.#nowMs })
  }

  listed({ fields }: TaskQuery): void {
    this.#listed.add(fields['spec.domain'] as string)
  }

  next({ nowMs }: TaskTime): Step<ReleaseOutcome> {
    this.#nowMs = nowMs
    const reads = this.#known.isComplete ? undefined : this.#reads()
    if (reads !== undefined) return reads
    const [place] = this.#places()
    if (place === undefined) return { kind: 'done', outcome: this.#outcome() }
    const allocation = allocationOf(place, this.#known)
    const { name, prefix, version } = place.book
    const { uid, sequence } = place.entry.row
    this.#found.set(`${name} ${sequence}`, allocation)
    this.#known.noteSent(name, { prefix, version, uid, sequence, isBound: false })
    const pool = this.#known.pool(allocation.pool)
    const rules = pool instanceof PoolView ? pool.object.spec : undefined
    const effect = takeBack(place, rules, { nowMs, why: `its owner ${place.entry.row.owner} gives it back` })
    return { kind: 'write', plan: { outcome: { kind: 'writes', message: effect.why }, effects: [effect] } }
  }

  /** What has to be read first, by who does not know all blocks. */
  #reads(): Step<ReleaseOutcome> | undefined {
    const { pools = [], address } = this.#request
    const unknown = pools.filter((name) => this.#known.pool(name) === undefined)
    if (unknown.length > 0) return { kind: 'get', refs: unknown.map(poolRef), why: 'where to look' }
    const views = pools.map((name) => this.#known.pool(name)).filter((pool) => pool instanceof PoolView)
    if (address !== undefined) {
      const names = views.flatMap((pool) => blockAt(pool, address) ?? [])
      const missing = [...new Set(names)].filter((name) => this.#known.book(name) === undefined)
      return missing.length === 0
        ? undefined
        : { kind: 'get', refs: missing.map(blockRef), why: 'the block of the address' }
    }
    const domain = views.map(({ object }) => object.spec.domain).find((name) => !this.#listed.has(name))
    if (domain === undefined) return undefined
    const { apiVersion, kind } = IPBlock.info
    const query = { apiVersion, kind, fields: { 'spec.domain': domain } }
    return { kind: 'list', query, why: 'all that the owner has' }
  }

  #places(): readonly Place[] {
    const { owner, interface: name, container, address, sequence, pools } = this.#request
    return this.#known.rowsOf(owner.uid).filter(({ book, entry }) => {
      const { row } = entry
      if (name !== undefined && row.interface !== name) return false
      if (container !== undefined && row.container !== container) return false
      if (sequence !== undefined && row.sequence !== sequence) return false
      if (pools !== undefined && !pools.includes(row.pool ?? book.object.spec.pool)) return false
      return address === undefined || entryHas(book, entry, address)
    })
  }

  #outcome(): ReleaseOutcome {
    const allocations = [...this.#found.values()]
    if (allocations.length > 0) {
      const texts = allocations.map(({ address }) => Address.format(address)).join(' and ')
      return { kind: 'released', message: `${texts} given back`, allocations }
    }
    const by = this.#other()
    if (by === undefined) return { kind: 'nothing', message: 'it has nothing of that' }
    return { kind: 'notYours', message: `${by} has it`, by }
  }

  /** Who else has the address. */
  #other(): string | undefined {
    const { owner, address, pools } = this.#request
    if (address === undefined) return undefined
    for (const pool of this.#known.pools()) {
      if (pools !== undefined && !pools.includes(pool.name)) continue
      const book = this.#known.book(blockAt(pool, address) ?? '')
      if (!(book instanceof BlockBook)) continue
      const entry = book.at(unitOf(book.prefix, book.object.spec.allocationPrefixLength, address))
      if (entry !== undefined && isBound(entry) && entry.row.uid !== owner.uid) return entry.row.owner
    }
    return undefined
  }
}

/** The block of a pool's domain in which an address lies. */
function blockAt(pool: PoolView, address: Address.Address): string | undefined {
  const grid = pool.grid(address.family)
  return grid && blockName(pool.object.spec.domain, blockAround(grid, address))
}

function entryHas({ prefix, object }: BlockBook, { unit, count }: Place['entry'], address: Address.Address): boolean {
  if (!containsAddress(prefix, address)) return false
  const at = unitOf(prefix, object.spec.allocationPrefixLength, address)
  return at >= unit && at < unit + count
}

function containsAddress(prefix: BlockBook['prefix'], address: Address.Address): boolean {
  return prefix.address.family === address.family && Prefix.contains(prefix, address)
}
