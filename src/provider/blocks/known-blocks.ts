import type * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../crd/ipam-kit/block-name.js'
import { IPBlock, type IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import type { KindInfo, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import { type Change, Sightings, type Step, type TaskTime } from '../../plan/index.js'
import { BlockBook, type BlockEntry, isBound } from './book.js'
import { PoolView } from './pool-view.js'
import { type BlockReadings, readPool } from './readings.js'

/** What is known under a name: nothing, that there is nothing, why it can not be read, or what there is. */
export type Known<T> = T | { readonly unreadable: string } | 'absent' | undefined

/** A row, and the block that it is in. */
export interface Place {
  readonly book: BlockBook
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

/** A block that can not be read: what its name says of it. */
export interface UnreadableBlock {
  readonly name: string
  readonly domain: string
  readonly prefix: Prefix.Prefix
  /** Why it can not be read. */
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
   * Whether every pool and block that there is was shown, and is shown when it changes: by a controller that lists and watches. Without, what is not
   * known is asked for. Default false.
   */
  readonly isComplete?: boolean | undefined
  /** What others of this process have read is not read again: one {@link BlockReadings} for all of them. Left out: it reads all that it is shown. */
  readonly readings?: BlockReadings | undefined
}

/**
 * The pools and blocks that are known, and where to look for room and for owners. Fed by a watch, or by the steps of tasks; tasks of one process may share it.
 *
 * It decides nothing: what it holds may be old, and a write on the condition of the version that was seen tells.
 */
export class KnownBlocks {
  readonly isComplete: boolean
  /** The blocks that tasks have written, or have lost to somebody who was faster: nothing that was sent for them before this process began is done any more. */
  readonly written = new Set<string>()
  readonly #pools = new Map<string, Known<PoolView>>()
  readonly #books = new Map<string, Known<BlockBook>>()
  /** The blocks in which an owner has rows, by its uid; those that keep something for who comes again, by its key; those of a node. */
  readonly #byOwner = new Map<string, Set<string>>()
  readonly #byKey = new Map<string, Set<string>>()
  readonly #byNode = new Map<string, Set<string>>()
  readonly #listedNodes = new Set<string>()
  /** When pools were shown last, by those who are not shown all. */
  readonly #poolsAtMs = new Map<string, number>()
  readonly #sightings = new Sightings()
  #changes = 0
  /** After how many changes blocks came that are there. */
  readonly #cameAt = new Map<string, number>()
  readonly #readings: BlockReadings | undefined
  /** What tasks have sent for the version that a block has, as far as is known: for each owner and interface what was sent last. */
  #underWay = new Map<string, readonly (SentRow & { readonly atMs: number })[]>()
  /** The blocks that others were seen to write, and when, the last ones at the end. */
  readonly #others = new Map<string, OthersBlock & { readonly atMs: number; isLast: boolean }>()
  #nowMs = 0

  constructor({ isComplete = false, readings }: KnownBlocksOptions = {}) {
    this.isComplete = isComplete
    this.#readings = readings
  }

  /** How many changes were taken in. */
  get changes(): number {
    return this.#changes
  }

  /**
   * Takes a change of a pool or a block in; others are not looked at. What is older than what is known changes nothing.
   *
   * @returns false: it says of a block that there is none, and the block has come since that was asked for. It may well be there
   */
  observe(change: Change, { nowMs, since = this.#changes }: ObserveOptions): boolean {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const ref = change.kind === 'present' ? change.object : change.ref
    const isPool = IPPool.is(ref)
    if (!isPool && !IPBlock.is(ref)) return true
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'absent' && (this.#cameAt.get(name) ?? 0) > since) return false
    if (!this.#sightings.isNews(change)) return true
    this.#changes++
    if (change.kind === 'absent') this.#cameAt.delete(name)
    else if (!isPool && !(this.#books.get(name) instanceof BlockBook)) this.#cameAt.set(name, this.#changes)
    if (change.kind === 'absent' && change.uid !== undefined) this.#readings?.forget(change.uid)
    if (isPool) this.#observePool(change)
    else this.#observeBlock(change)
    return true
  }

  /** A pool by its name. */
  pool(name: string): Known<PoolView> {
    return this.#pools.get(name) ?? (this.isComplete ? 'absent' : undefined)
  }

  /** A block by its name. */
  book(name: string): Known<BlockBook> {
    return this.#books.get(name) ?? (this.isComplete ? 'absent' : undefined)
  }

  /** The rows that an owner has, in the order of their sequence. */
  rowsOf(uid: string): readonly Place[] {
    return this.#places(this.#byOwner.get(uid), (entry) => isBound(entry) && entry.row.uid === uid)
  }

  /** The rows that are kept for who comes again under a key. */
  keptFor(key: string): readonly Place[] {
    return this.#places(this.#byKey.get(key), ({ row }) => row.state === 'held' && stickyKeys(row).includes(key))
  }

  /** Whether all blocks of a node are known, so far as they were there when it was asked for them. */
  knowsNode(node: string): boolean {
    return this.isComplete || this.#listedNodes.has(node)
  }

  /** All blocks of a node were shown. */
  noteNode(node: string): void {
    this.#listedNodes.add(node)
  }

  /** The blocks that are bound to a node. */
  booksOfNode(node: string): readonly BlockBook[] {
    return this.#booksOf(this.#byNode.get(node))
  }

  /** Every block that is known. */
  *books(): IterableIterator<BlockBook> {
    for (const book of this.#books.values()) if (book instanceof BlockBook) yield book
  }

  /** The blocks that can not be read, as far as they have names of blocks, and why. */
  unreadableBlocks(): readonly UnreadableBlock[] {
    return [...this.#books].flatMap(([name, book]) => {
      if (!(typeof book === 'object' && 'unreadable' in book)) return []
      const place = parseBlockName(name)
      return place === undefined ? [] : [{ name, ...place, message: book.unreadable }]
    })
  }

  *pools(): IterableIterator<PoolView> {
    for (const pool of this.#pools.values()) if (pool instanceof PoolView) yield pool
  }

  /** How long ago a pool was shown, in milliseconds. */
  poolAgeMs(name: string, nowMs: number): number {
    return nowMs - (this.#poolsAtMs.get(name) ?? Number.NEGATIVE_INFINITY)
  }

  /**
   * The same without what may be old: knows no pools and blocks but those that are fresh. For a task that is not shown changes; what others know stays.
   *
   * @param isFresh whether what is known of the pool or block of a name is as it was shown to the task
   * @returns nothing where all of that is fresh, as far as the domains of these pools go
   */
  fresh(pools: readonly string[], isFresh: (kind: KindInfo, name: string) => boolean): KnownBlocks | undefined {
    const views = pools.map((name) => this.pool(name)).filter((pool) => pool instanceof PoolView)
    const domains = new Set(views.map(({ object }) => object.spec.domain))
    const isOld = (name: string) => !isFresh(IPBlock.info, name) && domains.has(parseBlockName(name)?.domain ?? '')
    const hasOld = [...this.#books.keys()].some(isOld) || views.some(({ name }) => !isFresh(IPPool.info, name))
    if (!hasOld) return undefined
    const known = new KnownBlocks({ readings: this.#readings })
    const show = (object: KubeObject) => known.observe({ kind: 'present', object }, { nowMs: this.#nowMs })
    // pools take in what is there already
    for (const [name, book] of this.#books) {
      const isKnown = book === 'absent' || (typeof book === 'object' && 'unreadable' in book)
      if (isKnown && isFresh(IPBlock.info, name)) known.#books.set(name, book)
    }
    for (const view of this.pools()) if (isFresh(IPPool.info, view.name)) show(view.object)
    for (const book of this.books()) if (isFresh(IPBlock.info, book.name)) show(book.object)
    for (const [name, sent] of this.#underWay) known.#underWay.set(name, sent)
    return known
  }

  /**
   * Another one that was shown nothing yet: after a `reset`. What tasks have sent that may still be done it knows all the same, also of tasks that go on with this
   * one. What was read before is read again.
   */
  anew(): KnownBlocks {
    this.#readings?.clear()
    const known = new KnownBlocks({ isComplete: this.isComplete, readings: this.#readings })
    known.#underWay = this.#underWay
    for (const name of this.written) known.written.add(name)
    return known
  }

  /** What was sent for an owner and may still be done, as far as is known: for which version of which block. */
  doubts(
    uid: string,
    interfaceName?: { readonly name: string | undefined },
  ): readonly { readonly name: string; readonly version: string | undefined }[] {
    return [...this.#underWay].flatMap(([name, sent]) =>
      sent
        .filter((each) => each.uid === uid && (interfaceName === undefined || each.interface === interfaceName.name))
        .map(({ version }) => ({ name, version })),
    )
  }

  /** A task is about to write a block. */
  noteSent(name: string, sent: SentRow, { nowMs }: { readonly nowMs: number }): void {
    const others = this.#underWay.get(name)?.filter((each) => !isOfSame(each, sent)) ?? []
    this.#underWay.set(name, [...others, { ...sent, atMs: nowMs }])
  }

  /** The store has not taken what was sent for an owner, and nothing of it comes later. */
  noteRefused(name: string, owner: Pick<SentRow, 'uid' | 'interface'>): void {
    this.#setUnderWay(name, (sent) => !isOfSame(sent, owner))
  }

  #setUnderWay(name: string, stays: (sent: SentRow) => boolean): void {
    const left = this.#underWay.get(name)?.filter(stays) ?? []
    if (left.length === 0) this.#underWay.delete(name)
    else this.#underWay.set(name, left)
  }

  /** The blocks that a task of this process is writing: whoever writes the same version too meets it. What took longer has failed. */
  underWayAt(nowMs: number): RangeSet.RangeSet {
    const lately = [...this.#underWay.values()].flat().filter(({ atMs }) => atMs + OTHERS_MS > nowMs)
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
   * Shows a block as a write will leave it, so that what is chosen next lies beside what the write gives. O(rows + pools).
   *
   * @returns takes that back: call it before anything else is shown
   */
  assume(assumed: BlockBook): () => void {
    const before = this.#books.get(assumed.name)
    const replace = (book: Known<BlockBook>, now: Known<BlockBook>) => {
      if (book instanceof BlockBook) this.#unindex(book)
      if (now === undefined) this.#books.delete(assumed.name)
      else this.#books.set(assumed.name, now)
      if (now instanceof BlockBook) {
        this.#index(now)
        for (const pool of this.pools()) this.#note(pool, now)
      } else this.#eachPoolAt(assumed.name, (pool, prefix) => pool.noteAbsent(prefix, assumed.name))
    }
    replace(before, assumed)
    return () => replace(assumed, before)
  }

  #observePool(change: Change): void {
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'absent') {
      // who knows all needs no word of what is not there
      if (this.isComplete) this.#pools.delete(name)
      else this.#pools.set(name, 'absent')
      return
    }
    this.#poolsAtMs.set(name, this.#nowMs)
    const read = this.#readings?.pool(change.object) ?? readPool(change.object)
    if (typeof read === 'string') {
      this.#pools.set(name, { unreadable: read })
      return
    }
    const known = this.#pools.get(name)
    let view = known instanceof PoolView ? known : undefined
    const isOther = view?.object.metadata.uid !== read.object.metadata.uid
    let hasChanged = true
    if (view === undefined || isOther) {
      view = new PoolView(read)
      this.#pools.set(name, view)
    } else hasChanged = view.update(read)
    // what the status said before of blocks that are not known is not so any more
    if (!this.isComplete) view.forget()
    else if (!hasChanged) return
    for (const [block, each] of this.#books) {
      if (each instanceof BlockBook) this.#note(view, each)
      else if (each !== 'absent') this.#markUnreadable(view, block)
    }
  }

  #observeBlock(change: Change): void {
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    const before = this.#books.get(name)
    // a watch tells what the answer to a write has told before
    if (before instanceof BlockBook && change.kind === 'present' && isSame(before.object, change.object)) return
    const version = change.kind === 'present' ? change.object.metadata.resourceVersion : undefined
    const sent = this.#underWay.get(name)
    if (sent !== undefined) this.#setUnderWay(name, (each) => each.version === version)
    if (before instanceof BlockBook) this.#unindex(before)
    if (change.kind === 'absent') {
      this.#others.delete(name)
      this.written.delete(name)
      if (this.isComplete) this.#books.delete(name)
      else this.#books.set(name, 'absent')
      this.#eachPoolAt(name, (pool, prefix) => pool.noteAbsent(prefix, name))
      return
    }
    const book = this.#readings?.block(change.object) ?? BlockBook.read(change.object)
    if (typeof book === 'string') {
      this.#books.set(name, { unreadable: book })
      for (const pool of this.pools()) this.#markUnreadable(pool, name)
      return
    }
    this.#books.set(name, book)
    const other = this.#others.get(name)
    if (sent?.some((each) => isDone(each, book))) {
      if (other !== undefined) other.isLast = false
      if (sent.some((each) => each.isBound && isDone(each, book))) this.written.add(name)
    } else if (this.#isNews(book, before)) {
      this.#others.delete(name)
      this.#others.set(name, { prefix: book.prefix, atMs: this.#nowMs, isLast: true })
    }
    this.#index(book)
    for (const pool of this.pools()) this.#note(pool, book)
  }

  /** Whether a block was written lately: what is seen for the first time may be old. */
  #isNews({ object }: BlockBook, before: Known<BlockBook>): boolean {
    if (before !== undefined) return true
    return this.isComplete && Date.parse(object.metadata.creationTimestamp ?? '') + OTHERS_MS > this.#nowMs
  }

  /** The pools of the domain of a block, which its name says whatever else of it can be read. */
  #eachPoolAt(name: string, action: (pool: PoolView, prefix: Prefix.Prefix) => void): void {
    const place = parseBlockName(name)
    if (place === undefined) return
    for (const pool of this.pools()) if (pool.object.spec.domain === place.domain) action(pool, place.prefix)
  }

  /** Whoever has what in a block that can not be read: nothing more is given there. */
  #markUnreadable(pool: PoolView, block: string): void {
    const place = parseBlockName(block)
    if (place?.domain === pool.object.spec.domain) pool.markEmpty(place.prefix, block)
  }

  #note(pool: PoolView, book: BlockBook): void {
    if (pool.object.spec.domain === book.object.spec.domain) pool.note(book, this.#nowMs)
  }

  #index(book: BlockBook): void {
    const { name, object, entries } = book
    for (const { row } of entries) {
      if (row.state === undefined) add(this.#byOwner, row.uid, name)
      else if (row.state === 'held') for (const key of stickyKeys(row)) add(this.#byKey, key, name)
    }
    if (object.spec.node !== undefined) add(this.#byNode, object.spec.node, name)
  }

  #unindex({ name, object, entries }: BlockBook): void {
    for (const { row } of entries) {
      remove(this.#byOwner, row.uid, name)
      for (const key of stickyKeys(row)) remove(this.#byKey, key, name)
    }
    if (object.spec.node !== undefined) remove(this.#byNode, object.spec.node, name)
  }

  #places(names: ReadonlySet<string> | undefined, isWanted: (entry: BlockEntry) => boolean): readonly Place[] {
    const places = this.#booksOf(names).flatMap((book) =>
      book.entries.filter(isWanted).map((entry) => ({ book, entry })),
    )
    return places.sort((left, right) => left.entry.row.sequence - right.entry.row.sequence)
  }

  #booksOf(names: ReadonlySet<string> | undefined): readonly BlockBook[] {
    const books: BlockBook[] = []
    for (const name of names ?? []) {
      const book = this.#books.get(name)
      if (book instanceof BlockBook) books.push(book)
    }
    return books
  }
}

/** The keys under which the owner of a row may come again. */
export function stickyKeys(row: Pick<IPBlockRow, 'mac' | 'owner' | 'kind' | 'interface'>): readonly string[] {
  const owner = `owner ${row.kind ?? 'Pod'} ${row.owner} ${row.interface ?? ''}`
  return row.mac === undefined ? [owner] : [`mac ${row.mac.toLowerCase()}`, owner]
}

/** The reference to a pool. */
export function poolRef(name: string): ObjectRef {
  return { apiVersion: IPPool.info.apiVersion, kind: IPPool.info.kind, name }
}

export function blockRef(name: string): ObjectRef {
  return { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name }
}

/** A turn, where another task of this process is writing a block. */
export function turnAt(block: string, { isBusy }: TaskTime): Extract<Step, { kind: 'turn' }> | undefined {
  const ref = blockRef(block)
  return isBusy?.(ref) === true ? { kind: 'turn', ref, why: 'another task writes it' } : undefined
}

/** Whether two are about one interface of one owner. */
function isOfSame(left: Pick<SentRow, 'uid' | 'interface'>, right: Pick<SentRow, 'uid' | 'interface'>): boolean {
  return left.uid === right.uid && left.interface === right.interface
}

/** Whether it was this that has changed a block, as far as can be seen. */
function isDone({ uid, sequence, isBound: isWanted }: SentRow, { entries }: BlockBook): boolean {
  return (
    entries.some((entry) => isBound(entry) && entry.row.uid === uid && entry.row.sequence === sequence) === isWanted
  )
}

function isSame({ metadata: before }: KubeObject, { metadata: now }: KubeObject): boolean {
  return now.resourceVersion !== undefined && before.resourceVersion === now.resourceVersion && before.uid === now.uid
}

function add(index: Map<string, Set<string>>, key: string, name: string): void {
  const names = index.get(key)
  if (names === undefined) index.set(key, new Set([name]))
  else names.add(name)
}

function remove(index: Map<string, Set<string>>, key: string, name: string): void {
  const names = index.get(key)
  if (names === undefined) return
  names.delete(name)
  if (names.size === 0) index.delete(key)
}
