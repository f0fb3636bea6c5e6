import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { KindInfo } from '../../../crd/meta/object.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuseIn } from '../../../errors/refuse.js'
import { type CachedObjects, type Change, type Delta, ObjectCache } from '../../../plan/index.js'
import { type BlockEntry, isBound, ParsedBlock } from '../block/parsed-block.js'
import { stickyKeys } from '../block/sticky-keys.js'
import type { ParsedPool } from '../pool/parsed-pool.js'
import { PoolView } from '../pool/pool-view.js'
import { blockWatch, poolWatch } from './watches.js'

/**
 * What is known of a name: nothing, that the object does not exist, why it cannot be read, or the
 * object.
 */
export type Known<T> = T | { readonly unreadable: string } | 'absent' | undefined

/** A row, and the block that has it. */
export interface PlacedRow {
  readonly parsed: ParsedBlock
  readonly entry: BlockEntry
}

/** A row that a task writes: it binds an owner, or releases it. */
export interface SentRow {
  readonly prefix: Prefix.Prefix
  /** The version of the block that the write requires; `undefined`: the block is created. */
  readonly version: string | undefined
  readonly uid: string
  readonly interface: string | undefined
  readonly sequence: number
  readonly isBound: boolean
}

/** A block that another writer has written. */
export interface OthersBlock {
  readonly prefix: Prefix.Prefix
  /** Whether this process has not written it since. */
  readonly isLast: boolean
}

/** A block that cannot be read, with what its name says. */
export interface UnreadableBlock {
  readonly name: string
  readonly domain: string
  readonly prefix: Prefix.Prefix
  /** Why it cannot be read. */
  readonly message: string
}

/** A writer that has written a block within this time is likely to write it again. */
const OTHERS_MS = 10_000

export interface ObserveOptions {
  readonly nowMs: number
  /** The `clock` when this change was requested. Left out: after all changes that were observed. */
  readonly since?: number | undefined
}

export interface KnownBlocksOptions {
  /**
   * Whether all pools and blocks are known, with every change: by a controller that lists and
   * watches. Without, unknown objects are read. Default false.
   */
  readonly isComplete?: boolean | undefined
}

const KNOWN_BLOCKS_OPTIONS: KindOf<KnownBlocksOptions> = { isComplete: 'flag?' }

/**
 * The known pools and blocks, with the places to look for free units and for owners. Fed by a
 * watch, or by the steps of tasks; tasks of one process may share it.
 *
 * It decides nothing: its objects may be old, and every write requires the version that was read.
 */
export class KnownBlocks {
  readonly isComplete: boolean
  /**
   * The blocks that tasks have written, or in which they met a conflict. Writes that were sent for
   * them before this process began can no longer succeed.
   *
   * @internal
   */
  readonly written = new Set<string>()
  readonly #cache: ObjectCache
  readonly #pools: CachedObjects<ParsedPool>
  readonly #blocks: CachedObjects<ParsedBlock>
  readonly #views = new Map<string, PoolView>()
  /** Blocks as a write in preparation will leave them. */
  readonly #assumed = new Map<string, ParsedBlock>()
  readonly #listedNodes = new Set<string>()
  /** When pools were read last, by tasks without a watch. */
  readonly #poolsAtMs = new Map<string, number>()
  /**
   * Writes that may still happen, by block: for each owner and interface the last one that requires
   * the present version.
   */
  #inFlight = new Map<string, readonly (SentRow & { readonly atMs: number })[]>()
  /** The blocks that other writers have written, and when; the latest at the end. */
  readonly #others = new Map<string, OthersBlock & { readonly atMs: number; isLast: boolean }>()
  #nowMs = 0
  #followed: Delta<ParsedBlock> | undefined

  /**
   * @param cache the pools and blocks. A cache of a host has to be followed, as `blocksWatch` does
   */
  constructor(options: KnownBlocksOptions = {}, cache: ObjectCache = new ObjectCache()) {
    check('KnownBlocks', 'options', options, KNOWN_BLOCKS_OPTIONS)
    const { isComplete = false } = options
    if (!(cache instanceof ObjectCache)) refuseIn('KnownBlocks', 'cache', 'an ObjectCache', cache)

    this.isComplete = isComplete
    this.#cache = cache
    this.#pools = cache.open(poolWatch)
    this.#blocks = cache.open(blockWatch)
    for (const reading of this.#pools) this.#see(reading)
  }

  /**
   * The number of observed changes. A result that is requested from now on is newer than all of
   * them.
   */
  get clock(): number {
    return this.#cache.clock
  }

  /**
   * Observes a change of a pool or a block; other kinds are ignored, and so are versions older than
   * the known one.
   *
   * @returns false: the change says that a block does not exist, and the block has appeared since
   * the request. It may exist
   */
  observe(change: Change, { nowMs, since }: ObserveOptions): boolean {
    const applied = this.#cache.apply(change, { since })
    const [pool, block] = [applied.deltaFor(poolWatch), applied.deltaFor(blockWatch)]
    if (pool !== undefined) this.followPool(pool, nowMs)
    if (block !== undefined) this.followBlock(block, nowMs)
    if (applied.isNewer) this.#cache.announce(applied)
    return !applied.isStale
  }

  /**
   * A pool by its name.
   *
   * @internal
   */
  pool(name: string): Known<PoolView> {
    return this.#views.get(name) ?? this.#lack(this.#pools, name)
  }

  /**
   * A block by its name.
   *
   * @internal
   */
  block(name: string): Known<ParsedBlock> {
    return this.#assumed.get(name) ?? this.#blocks.get(name) ?? this.#lack(this.#blocks, name)
  }

  /**
   * The rows that an owner has, in the order of their sequence.
   *
   * @internal
   */
  rowsOf(uid: string): readonly PlacedRow[] {
    return this.#places('owner', uid, (entry) => isBound(entry) && entry.row.uid === uid)
  }

  /**
   * The rows that are kept for a returning owner, by a key of it.
   *
   * @internal
   */
  keptFor(key: string): readonly PlacedRow[] {
    return this.#places('stickyKey', key, ({ row }) => row.state === 'held' && stickyKeys(row).includes(key))
  }

  /**
   * Whether all blocks of a node are known that existed when they were listed.
   *
   * @internal
   */
  knowsNode(node: string): boolean {
    return this.isComplete || this.#listedNodes.has(node)
  }

  /**
   * Called when all blocks of a node were shown.
   *
   * @internal
   */
  noteNode(node: string): void {
    this.#listedNodes.add(node)
  }

  /**
   * The blocks that are bound to a node.
   *
   * @internal
   */
  blocksOfNode(node: string): readonly ParsedBlock[] {
    return this.#blocksBy('node', node).filter(({ object }) => object.spec.node === node)
  }

  /**
   * Every known block.
   *
   * @internal
   */
  *blocks(): IterableIterator<ParsedBlock> {
    for (const parsed of this.#blocks) if (!this.#assumed.has(parsed.name)) yield parsed
    yield* this.#assumed.values()
  }

  /**
   * The unreadable blocks that have names of blocks, and why they cannot be read.
   *
   * @internal
   */
  unreadableBlocks(): readonly UnreadableBlock[] {
    return this.#blocks.unreadable().flatMap(({ object, problem: message }) => {
      const { name } = object.metadata
      const place = parseBlockName(name)
      return place === undefined ? [] : [{ name, ...place, message }]
    })
  }

  /** @internal */
  pools(): IterableIterator<PoolView> {
    return this.#views.values()
  }

  /**
   * How long ago a pool was shown, in milliseconds.
   *
   * @internal
   */
  poolAgeMs(name: string, nowMs: number): number {
    return nowMs - (this.#poolsAtMs.get(name) ?? Number.NEGATIVE_INFINITY)
  }

  /**
   * The same without objects that may be old: it knows only fresh pools and blocks. For a task
   * without a watch; the knowledge of others stays.
   *
   * @param isFresh whether the pool or block of a name was shown to the task in its present state
   * @returns nothing if all objects in the domains of these pools are fresh
   *
   * @internal
   */
  fresh(pools: readonly string[], isFresh: (kind: KindInfo, name: string) => boolean): KnownBlocks | undefined {
    const views = pools.map((name) => this.pool(name)).filter((pool) => pool instanceof PoolView)
    const domains = new Set(views.map(({ object }) => object.spec.domain))
    const isOld = (name: string) => !isFresh(IPBlock.info, name) && domains.has(parseBlockName(name)?.domain ?? '')
    // of the known blocks, and of those known to be absent
    const blocks = [...this.#blocks.names()]
    const hasOld = blocks.some(isOld) || views.some(({ name }) => !isFresh(IPPool.info, name))
    if (!hasOld) return undefined
    const known = new KnownBlocks()
    const copy = (kind: KindInfo, objects: CachedObjects<unknown>, name: string) => {
      if (!isFresh(kind, name)) return
      const { apiVersion } = kind
      const object = objects.entry(name)?.object
      known.observe(
        object === undefined
          ? { kind: 'absent', ref: { apiVersion, kind: kind.kind, name } }
          : { kind: 'present', object },
        { nowMs: this.#nowMs },
      )
    }
    // pools read the existing blocks
    for (const name of blocks) copy(IPBlock.info, this.#blocks, name)
    for (const name of this.#views.keys()) copy(IPPool.info, this.#pools, name)
    for (const [name, sent] of this.#inFlight) known.#inFlight.set(name, sent)
    return known
  }

  /**
   * An empty copy for the time after a `reset`. It keeps the writes of tasks that may still happen,
   * also of tasks that continue with this one. Versions that were parsed before are parsed again.
   *
   * @internal
   */
  anew(cache = new ObjectCache()): KnownBlocks {
    const known = new KnownBlocks({ isComplete: this.isComplete }, cache)
    known.#inFlight = this.#inFlight
    for (const name of this.written) known.written.add(name)
    return known
  }

  /**
   * The writes for an owner that may still happen, as far as known: the version that each requires,
   * by block.
   *
   * @internal
   */
  unconfirmed(
    uid: string,
    interfaceName?: { readonly name: string | undefined },
  ): readonly { readonly name: string; readonly version: string | undefined }[] {
    return [...this.#inFlight].flatMap(([name, sent]) =>
      sent
        .filter((each) => each.uid === uid && (interfaceName === undefined || each.interface === interfaceName.name))
        .map(({ version }) => ({ name, version })),
    )
  }

  /**
   * Called when a task is about to write a block.
   *
   * @internal
   */
  noteSent(name: string, sent: SentRow, { nowMs }: { readonly nowMs: number }): void {
    const others = this.#inFlight.get(name)?.filter((each) => !isOfSame(each, sent)) ?? []
    this.#inFlight.set(name, [...others, { ...sent, atMs: nowMs }])
  }

  /**
   * Called when the store has refused a write for an owner, and it cannot happen later.
   *
   * @internal
   */
  noteRefused(name: string, owner: Pick<SentRow, 'uid' | 'interface'>): void {
    this.#setInFlight(name, (sent) => !isOfSame(sent, owner))
  }

  #setInFlight(name: string, stays: (sent: SentRow) => boolean): void {
    const left = this.#inFlight.get(name)?.filter(stays) ?? []
    if (left.length === 0) this.#inFlight.delete(name)
    else this.#inFlight.set(name, left)
  }

  /**
   * The blocks that a task of this process is writing: another write of the same version meets a
   * conflict. A write that takes too long counts as failed.
   *
   * @internal
   */
  inFlightAt(nowMs: number): RangeSet.RangeSet {
    const lately = [...this.#inFlight.values()].flat().filter(({ atMs }) => atMs + OTHERS_MS > nowMs)
    return RangeSet.fromPrefixes(lately.map(({ prefix }) => prefix))
  }

  /**
   * The blocks that other writers have written lately, and may write again: the latest at the end.
   *
   * @internal
   */
  othersAt(nowMs: number): readonly OthersBlock[] {
    for (const [name, { atMs }] of this.#others) {
      if (atMs + OTHERS_MS > nowMs) break
      this.#others.delete(name)
    }
    return [...this.#others.values()]
  }

  /**
   * Shows a block as a write will leave it, so that the next choice prefers it. O(rows + pools).
   *
   * @returns removes it again: call it before anything else is observed
   *
   * @internal
   */
  assume(assumed: ParsedBlock): () => void {
    const { name } = assumed
    const before = this.#assumed.get(name)
    const replace = (parsed: ParsedBlock | undefined) => {
      if (parsed === undefined) this.#assumed.delete(name)
      else this.#assumed.set(name, parsed)
      this.#noteAll(name)
    }
    replace(assumed)
    return () => replace(before)
  }

  /** Why a pool or block is not known under a name. */
  #lack(objects: CachedObjects<unknown>, name: string): { readonly unreadable: string } | 'absent' | undefined {
    const entry = objects.entry(name)
    if (entry?.ok === false) return { unreadable: entry.problem }
    return this.isComplete || objects.presence(name) === 'absent' ? 'absent' : undefined
  }

  /**
   * Observes a change that the cache has stored.
   *
   * @internal
   */
  followPool({ ref: { name }, now }: Delta<ParsedPool>, nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    if (now === undefined) {
      this.#views.delete(name)
      return
    }
    this.#poolsAtMs.set(name, this.#nowMs)
    if (now.ok) this.#see(now.value)
    else this.#views.delete(name)
  }

  /** Observes a version of a pool. */
  #see(reading: ParsedPool): void {
    const { name, uid } = reading.object.metadata
    let view = this.#views.get(name)
    let hasChanged = true
    if (view === undefined || view.object.metadata.uid !== uid) {
      view = new PoolView(reading)
      this.#views.set(name, view)
    } else hasChanged = view.update(reading)
    // hints of an earlier status do not apply any more
    if (!this.isComplete) view.forget()
    else if (!hasChanged) return
    for (const parsed of this.blocks()) this.#note(view, parsed)
    // the owners of an unreadable block are not known, and no pool gives more of it
    for (const { name: block, domain, prefix } of this.unreadableBlocks()) {
      if (domain === view.object.spec.domain) view.markEmpty(prefix, block)
    }
  }

  /**
   * Observes a change that the cache has stored. @returns false: it was observed before, as that of
   * a task
   *
   * @internal
   */
  followBlock(delta: Delta<ParsedBlock>, nowMs: number): boolean {
    const { ref, before, now, wasKnown } = delta
    const { name } = ref
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    // the watch repeats a version that the result of a write has shown
    if (this.#followed === delta || (now !== undefined && now === before)) return false
    this.#followed = delta
    const version = now?.object.metadata.resourceVersion
    const sent = this.#inFlight.get(name)
    if (sent !== undefined) this.#setInFlight(name, (each) => each.version === version)
    if (now === undefined) {
      this.#others.delete(name)
      this.written.delete(name)
    } else if (now.ok) this.#noteWriter(now.value, before !== undefined || (wasKnown && !this.isComplete), sent)
    this.#noteAll(name)
    return true
  }

  /** Records whether this process has written a block last, or another one. */
  #noteWriter(parsed: ParsedBlock, wasKnown: boolean, sent: readonly SentRow[] | undefined): void {
    const { name } = parsed
    const other = this.#others.get(name)
    if (sent?.some((each) => isDone(each, parsed))) {
      if (other !== undefined) other.isLast = false
      if (sent.some((each) => each.isBound && isDone(each, parsed))) this.written.add(name)
    } else if (this.#isRecent(parsed, wasKnown)) {
      this.#others.delete(name)
      this.#others.set(name, { prefix: parsed.prefix, atMs: this.#nowMs, isLast: true })
    }
  }

  /** Updates the pools with the state of a block. */
  #noteAll(name: string): void {
    const parsed = this.block(name)
    if (parsed instanceof ParsedBlock) for (const pool of this.pools()) this.#note(pool, parsed)
    else if (typeof parsed === 'object') this.#eachPoolAt(name, (pool, prefix) => pool.markEmpty(prefix, name))
    else this.#eachPoolAt(name, (pool, prefix) => pool.noteAbsent(prefix, name))
  }

  /** Whether a block was written lately: a block that is seen for the first time may be old. */
  #isRecent({ object }: ParsedBlock, wasKnown: boolean): boolean {
    if (wasKnown) return true
    return this.isComplete && Date.parse(object.metadata.creationTimestamp ?? '') + OTHERS_MS > this.#nowMs
  }

  /**
   * The pools of the domain of a block. The name of the block says the domain, even if the block
   * cannot be read.
   */
  #eachPoolAt(name: string, action: (pool: PoolView, prefix: Prefix.Prefix) => void): void {
    const place = parseBlockName(name)
    if (place === undefined) return
    for (const pool of this.pools()) if (pool.object.spec.domain === place.domain) action(pool, place.prefix)
  }

  #note(pool: PoolView, parsed: ParsedBlock): void {
    if (pool.object.spec.domain === parsed.object.spec.domain) pool.note(parsed, this.#nowMs)
  }

  /** The blocks under a key of an index. An assumed block may no longer belong to the key. */
  #blocksBy(index: string, key: string): readonly ParsedBlock[] {
    const known = this.#blocks.by(index, key)
    if (this.#assumed.size === 0) return known
    return [...known.filter(({ name }) => !this.#assumed.has(name)), ...this.#assumed.values()]
  }

  #places(index: string, key: string, isWanted: (entry: BlockEntry) => boolean): readonly PlacedRow[] {
    const places = this.#blocksBy(index, key).flatMap((parsed) =>
      parsed.entries.filter(isWanted).map((entry) => ({ parsed, entry })),
    )
    return places.sort((left, right) => left.entry.row.sequence - right.entry.row.sequence)
  }
}

/** Whether two rows are for the same owner and interface. */
function isOfSame(left: Pick<SentRow, 'uid' | 'interface'>, right: Pick<SentRow, 'uid' | 'interface'>): boolean {
  return left.uid === right.uid && left.interface === right.interface
}

/** Whether a block shows that this write has happened. */
function isDone({ uid, sequence, isBound: isWanted }: SentRow, { entries }: ParsedBlock): boolean {
  return (
    entries.some((entry) => isBound(entry) && entry.row.uid === uid && entry.row.sequence === sequence) === isWanted
  )
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertKnown(of: string, known: unknown): void {
  if (!(known instanceof KnownBlocks)) refuseIn(of, 'known', 'KnownBlocks', known)
}
