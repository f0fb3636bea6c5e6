import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { KindInfo, ObjectRef } from '../../../crd/meta/object.js'
import { assertObject } from '../../../errors/checks.js'
import { refuseIn } from '../../../errors/refuse.js'
import {
  type CachedObjects,
  type Change,
  type Delta,
  ObjectCache,
  type Step,
  type TaskTime,
} from '../../../plan/index.js'
import { type BlockEntry, isBound, ParsedBlock } from '../block/parsed-block.js'
import { stickyKeys } from '../block/sticky-keys.js'
import type { PoolReading } from '../pool/pool-reading.js'
import { PoolView } from '../pool/pool-view.js'
import { blockWatch, poolWatch } from './watches.js'

/**
 * What is known under a name: nothing, that there is nothing, why it cannot be read, or what there
 * is.
 */
export type Known<T> = T | { readonly unreadable: string } | 'absent' | undefined

/** A row, and the block that it is in. */
export interface Place {
  readonly parsed: ParsedBlock
  readonly entry: BlockEntry
}

/** What a task writes: a row of an owner that is bound by it, or not any more. */
export interface SentRow {
  readonly prefix: Prefix.Prefix
  /** The version of the block that it is for; `undefined`: the block is made. */
  readonly version: string | undefined
  readonly uid: string
  readonly interface: string | undefined
  readonly sequence: number
  readonly isBound: boolean
}

/** A block that somebody else has written. */
export interface OthersBlock {
  readonly prefix: Prefix.Prefix
  /** Whether this process has not written it since. */
  readonly isLast: boolean
}

/** A block that cannot be read: what its name says of it. */
export interface UnreadableBlock {
  readonly name: string
  readonly domain: string
  readonly prefix: Prefix.Prefix
  /** Why it cannot be read. */
  readonly message: string
}

/** Who has written a block in this time may well be about to write it again. */
const OTHERS_MS = 10_000

export interface ObserveOptions {
  readonly nowMs: number
  /** How many changes were taken in when this one was asked for. Left out: all of them. */
  readonly since?: number | undefined
}

export interface KnownBlocksOptions {
  /**
   * Whether every pool and block that there is was shown, and is shown when it changes: by a
   * controller that lists and watches. Without, what is not known is asked for. Default false.
   */
  readonly isComplete?: boolean | undefined
}

/**
 * The pools and blocks that are known, and where to look for room and for owners. Fed by a watch,
 * or by the steps of tasks; tasks of one process may share it.
 *
 * It decides nothing: what it holds may be old, and a write on the condition of the version that
 * was seen tells.
 */
export class KnownBlocks {
  readonly isComplete: boolean
  /**
   * The blocks that tasks have written, or have lost to somebody who was faster: nothing that was
   * sent for them before this process began is done any more.
   */
  readonly written = new Set<string>()
  readonly #cache: ObjectCache
  readonly #pools: CachedObjects<PoolReading>
  readonly #blocks: CachedObjects<ParsedBlock>
  readonly #views = new Map<string, PoolView>()
  /** Blocks as a write that is being prepared will leave them. */
  readonly #assumed = new Map<string, ParsedBlock>()
  readonly #listedNodes = new Set<string>()
  /** When pools were shown last, by those who are not shown all. */
  readonly #poolsAtMs = new Map<string, number>()
  /**
   * What tasks have sent for the version that a block has, as far as is known: for each owner and
   * interface what was sent last.
   */
  #inFlight = new Map<string, readonly (SentRow & { readonly atMs: number })[]>()
  /** The blocks that others were seen to write, and when, the last ones at the end. */
  readonly #others = new Map<string, OthersBlock & { readonly atMs: number; isLast: boolean }>()
  #nowMs = 0
  #followed: Delta<ParsedBlock> | undefined

  /**
   * @param cache where pools and blocks are: with the cache of a host, {@link followPool} and
   * {@link followBlock} are called for each change of it
   */
  constructor(options: KnownBlocksOptions = {}, cache: ObjectCache = new ObjectCache()) {
    assertObject('KnownBlocks', 'options', options)
    const { isComplete = false } = options
    if (!(cache instanceof ObjectCache)) refuseIn('KnownBlocks', 'cache', 'an ObjectCache', cache)

    this.isComplete = isComplete
    this.#cache = cache
    this.#pools = cache.open(poolWatch)
    this.#blocks = cache.open(blockWatch)
    for (const reading of this.#pools) this.#see(reading)
  }

  /** A moment: what is asked for from here on is asked for after all that was taken in. */
  get clock(): number {
    return this.#cache.clock
  }

  /**
   * Takes a change of a pool or a block in; others are not looked at. What is older than what is
   * known changes nothing.
   *
   * @returns false: it says of a block that there is none, and the block has come since that was
   * asked for. It may well be there
   */
  observe(change: Change, { nowMs, since }: ObserveOptions): boolean {
    const applied = this.#cache.apply(change, { since })
    const [pool, block] = [applied.deltaFor(poolWatch), applied.deltaFor(blockWatch)]
    if (pool !== undefined) this.followPool(pool, nowMs)
    if (block !== undefined) this.followBlock(block, nowMs)
    if (applied.isNewer) this.#cache.announce(applied)
    return !applied.isStale
  }

  /** A pool by its name. */
  pool(name: string): Known<PoolView> {
    return this.#views.get(name) ?? this.#lack(this.#pools, name)
  }

  /** A block by its name. */
  block(name: string): Known<ParsedBlock> {
    return this.#assumed.get(name) ?? this.#blocks.get(name) ?? this.#lack(this.#blocks, name)
  }

  /** The rows that an owner has, in the order of their sequence. */
  rowsOf(uid: string): readonly Place[] {
    return this.#places('owner', uid, (entry) => isBound(entry) && entry.row.uid === uid)
  }

  /** The rows that are kept for who comes again under a key. */
  keptFor(key: string): readonly Place[] {
    return this.#places('stickyKey', key, ({ row }) => row.state === 'held' && stickyKeys(row).includes(key))
  }

  /**
   * Whether all blocks of a node are known, so far as they were there when it was asked for them.
   */
  knowsNode(node: string): boolean {
    return this.isComplete || this.#listedNodes.has(node)
  }

  /** All blocks of a node were shown. */
  noteNode(node: string): void {
    this.#listedNodes.add(node)
  }

  /** The blocks that are bound to a node. */
  blocksOfNode(node: string): readonly ParsedBlock[] {
    return this.#blocksBy('node', node).filter(({ object }) => object.spec.node === node)
  }

  /** Every block that is known. */
  *blocks(): IterableIterator<ParsedBlock> {
    for (const parsed of this.#blocks) if (!this.#assumed.has(parsed.name)) yield parsed
    yield* this.#assumed.values()
  }

  /** The blocks that cannot be read, as far as they have names of blocks, and why. */
  unreadableBlocks(): readonly UnreadableBlock[] {
    return this.#blocks.unreadable().flatMap(({ object, problem: message }) => {
      const { name } = object.metadata
      const place = parseBlockName(name)
      return place === undefined ? [] : [{ name, ...place, message }]
    })
  }

  pools(): IterableIterator<PoolView> {
    return this.#views.values()
  }

  /** How long ago a pool was shown, in milliseconds. */
  poolAgeMs(name: string, nowMs: number): number {
    return nowMs - (this.#poolsAtMs.get(name) ?? Number.NEGATIVE_INFINITY)
  }

  /**
   * The same without what may be old: knows no pools and blocks but those that are fresh. For a
   * task that is not shown changes; what others know stays.
   *
   * @param isFresh whether what is known of the pool or block of a name is as it was shown to the
   * task
   * @returns nothing where all of that is fresh, as far as the domains of these pools go
   */
  fresh(pools: readonly string[], isFresh: (kind: KindInfo, name: string) => boolean): KnownBlocks | undefined {
    const views = pools.map((name) => this.pool(name)).filter((pool) => pool instanceof PoolView)
    const domains = new Set(views.map(({ object }) => object.spec.domain))
    const isOld = (name: string) => !isFresh(IPBlock.info, name) && domains.has(parseBlockName(name)?.domain ?? '')
    const hasOld = this.#blockNames().some(isOld) || views.some(({ name }) => !isFresh(IPPool.info, name))
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
    // pools take in what is there already
    for (const name of this.#blockNames()) copy(IPBlock.info, this.#blocks, name)
    for (const name of this.#views.keys()) copy(IPPool.info, this.#pools, name)
    for (const [name, sent] of this.#inFlight) known.#inFlight.set(name, sent)
    return known
  }

  /**
   * Another one that was shown nothing yet: after a `reset`. What tasks have sent that may still be
   * done it knows all the same, also of tasks that go on with this one. What was read before is
   * read again.
   */
  anew(cache = new ObjectCache()): KnownBlocks {
    const known = new KnownBlocks({ isComplete: this.isComplete }, cache)
    known.#inFlight = this.#inFlight
    for (const name of this.written) known.written.add(name)
    return known
  }

  /**
   * What was sent for an owner and may still be done, as far as is known: for which version of
   * which block.
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

  /** A task is about to write a block. */
  noteSent(name: string, sent: SentRow, { nowMs }: { readonly nowMs: number }): void {
    const others = this.#inFlight.get(name)?.filter((each) => !isOfSame(each, sent)) ?? []
    this.#inFlight.set(name, [...others, { ...sent, atMs: nowMs }])
  }

  /** The store has not taken what was sent for an owner, and nothing of it comes later. */
  noteRefused(name: string, owner: Pick<SentRow, 'uid' | 'interface'>): void {
    this.#setInFlight(name, (sent) => !isOfSame(sent, owner))
  }

  #setInFlight(name: string, stays: (sent: SentRow) => boolean): void {
    const left = this.#inFlight.get(name)?.filter(stays) ?? []
    if (left.length === 0) this.#inFlight.delete(name)
    else this.#inFlight.set(name, left)
  }

  /**
   * The blocks that a task of this process is writing: whoever writes the same version too meets
   * it. What took longer has failed.
   */
  inFlightAt(nowMs: number): RangeSet.RangeSet {
    const lately = [...this.#inFlight.values()].flat().filter(({ atMs }) => atMs + OTHERS_MS > nowMs)
    return RangeSet.fromPrefixes(lately.map(({ prefix }) => prefix))
  }

  /** The blocks that others have written lately, and may write again: the last one at the end. */
  othersAt(nowMs: number): readonly OthersBlock[] {
    for (const [name, { atMs }] of this.#others) {
      if (atMs + OTHERS_MS > nowMs) break
      this.#others.delete(name)
    }
    return [...this.#others.values()]
  }

  /**
   * Shows a block as a write will leave it, so that what is chosen next lies beside what the write
   * gives. O(rows + pools).
   *
   * @returns takes that back: call it before anything else is shown
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

  /** Why there is no pool or block of a name, as far as is known. */
  #lack(objects: CachedObjects<unknown>, name: string): { readonly unreadable: string } | 'absent' | undefined {
    const entry = objects.entry(name)
    if (entry?.ok === false) return { unreadable: entry.problem }
    return this.isComplete || objects.presence(name) === 'absent' ? 'absent' : undefined
  }

  /** Takes a change in that the cache has taken in. */
  followPool({ ref: { name }, now }: Delta<PoolReading>, nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    if (now === undefined) {
      this.#views.delete(name)
      return
    }
    this.#poolsAtMs.set(name, this.#nowMs)
    if (now.ok) this.#see(now.value)
    else this.#views.delete(name)
  }

  /** Takes a version of a pool in. */
  #see(reading: PoolReading): void {
    const { name, uid } = reading.object.metadata
    let view = this.#views.get(name)
    let hasChanged = true
    if (view === undefined || view.object.metadata.uid !== uid) {
      view = new PoolView(reading)
      this.#views.set(name, view)
    } else hasChanged = view.update(reading)
    // what the status said before of blocks that are not known is not so any more
    if (!this.isComplete) view.forget()
    else if (!hasChanged) return
    for (const parsed of this.blocks()) this.#note(view, parsed)
    for (const { object } of this.#blocks.unreadable()) this.#markUnreadable(view, object.metadata.name)
  }

  /**
   * Takes a change in that the cache has taken in. @returns false: it was taken in before, as that
   * of a task
   */
  followBlock(delta: Delta<ParsedBlock>, nowMs: number): boolean {
    const { ref, before, now, wasKnown } = delta
    const { name } = ref
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    // a watch tells what the answer to a write has told before
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

  /** Notes whether this process has written a block last, or another one. */
  #noteWriter(parsed: ParsedBlock, wasKnown: boolean, sent: readonly SentRow[] | undefined): void {
    const { name } = parsed
    const other = this.#others.get(name)
    if (sent?.some((each) => isDone(each, parsed))) {
      if (other !== undefined) other.isLast = false
      if (sent.some((each) => each.isBound && isDone(each, parsed))) this.written.add(name)
    } else if (this.#isNews(parsed, wasKnown)) {
      this.#others.delete(name)
      this.#others.set(name, { prefix: parsed.prefix, atMs: this.#nowMs, isLast: true })
    }
  }

  /** Brings the pools up to date with what is known of a block. */
  #noteAll(name: string): void {
    const parsed = this.block(name)
    if (parsed instanceof ParsedBlock) for (const pool of this.pools()) this.#note(pool, parsed)
    else if (typeof parsed === 'object') for (const pool of this.pools()) this.#markUnreadable(pool, name)
    else this.#eachPoolAt(name, (pool, prefix) => pool.noteAbsent(prefix, name))
  }

  /** Whether a block was written lately: what is seen for the first time may be old. */
  #isNews({ object }: ParsedBlock, wasKnown: boolean): boolean {
    if (wasKnown) return true
    return this.isComplete && Date.parse(object.metadata.creationTimestamp ?? '') + OTHERS_MS > this.#nowMs
  }

  /** The pools of the domain of a block, which its name says whatever else of it can be read. */
  #eachPoolAt(name: string, action: (pool: PoolView, prefix: Prefix.Prefix) => void): void {
    const place = parseBlockName(name)
    if (place === undefined) return
    for (const pool of this.pools()) if (pool.object.spec.domain === place.domain) action(pool, place.prefix)
  }

  /** Whoever has what in a block that cannot be read: nothing more is given there. */
  #markUnreadable(pool: PoolView, block: string): void {
    const place = parseBlockName(block)
    if (place?.domain === pool.object.spec.domain) pool.markEmpty(place.prefix, block)
  }

  #note(pool: PoolView, parsed: ParsedBlock): void {
    if (pool.object.spec.domain === parsed.object.spec.domain) pool.note(parsed, this.#nowMs)
  }

  /**
   * The blocks under a key of an index; a block that is assumed may have nothing to do with the
   * key.
   */
  #blocksBy(index: string, key: string): readonly ParsedBlock[] {
    const known = this.#blocks.by(index, key)
    if (this.#assumed.size === 0) return known
    return [...known.filter(({ name }) => !this.#assumed.has(name)), ...this.#assumed.values()]
  }

  #places(index: string, key: string, isWanted: (entry: BlockEntry) => boolean): readonly Place[] {
    const places = this.#blocksBy(index, key).flatMap((parsed) =>
      parsed.entries.filter(isWanted).map((entry) => ({ parsed, entry })),
    )
    return places.sort((left, right) => left.entry.row.sequence - right.entry.row.sequence)
  }

  /** The blocks of which something is known, also that there is none. */
  #blockNames(): string[] {
    return [...this.#blocks.names()]
  }
}

/** The reference to a pool. */
export function poolRef(name: string): ObjectRef {
  return { apiVersion: IPPool.info.apiVersion, kind: IPPool.info.kind, name }
}

export function blockRef(name: string): ObjectRef {
  return { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name }
}

/** Waits for the lock of a block that another task of this process is writing. */
export function lockStep(block: string, { isLocked }: TaskTime): Extract<Step, { kind: 'lock' }> | undefined {
  const ref = blockRef(block)
  return isLocked?.(ref) === true ? { kind: 'lock', ref, why: 'another task writes it' } : undefined
}

/** Whether two are about one interface of one owner. */
function isOfSame(left: Pick<SentRow, 'uid' | 'interface'>, right: Pick<SentRow, 'uid' | 'interface'>): boolean {
  return left.uid === right.uid && left.interface === right.interface
}

/** Whether it was this that has changed a block, as far as can be seen. */
function isDone({ uid, sequence, isBound: isWanted }: SentRow, { entries }: ParsedBlock): boolean {
  return (
    entries.some((entry) => isBound(entry) && entry.row.uid === uid && entry.row.sequence === sequence) === isWanted
  )
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertKnown(of: string, known: unknown): void {
  if (!(known instanceof KnownBlocks)) refuseIn(of, 'known', 'KnownBlocks', known)
}
