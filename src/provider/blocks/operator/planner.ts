import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPDomain } from '../../../crd/ipam-kit/ip-domain.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { PoolSpace } from '../../../crd/ipam-kit/space.js'
import type { KindInfo, KubeObject } from '../../../crd/meta/object.js'
import { describe } from '../../../errors/index.js'
import { refuse } from '../../../errors/refuse.js'
import { type Change, type Plan, type Planner, type PlanTime, Sightings } from '../../../plan/index.js'
import { BlockBook } from '../book.js'
import { type Known, KnownBlocks } from '../known-blocks.js'
import { PoolView } from '../pool-view.js'
import type { BlockReadings } from '../readings.js'
import { isEmpty, planBlock } from './block.js'
import { DomainCensus } from './census.js'
import { planDomain } from './domain.js'
import type { OperatorOutcome } from './outcome.js'
import { Overlaps } from './overlaps.js'
import { planPool } from './pool.js'
import { type Room, Rooms } from './rooms.js'
import { PoolTally } from './tally.js'

export interface BlocksOperatorOptions {
  /**
   * How long a block may be empty before it is removed, in seconds, from 0 to 86,400. Default 60. The operator remembers since when a block is empty, also over a
   * `reset`. An operator that is made for one `runUntilQuiet` remembers nothing: with 0 it removes empty blocks in that run, else none.
   */
  readonly emptySeconds?: number | undefined
  /**
   * How long a pool that is being deleted stays at least, in seconds, from 0 to 86,400: whoever is not shown changes of pools looks at one again after 30 s, and
   * may give something of it until then. Default 60.
   */
  readonly lingerSeconds?: number | undefined
  /** What others of this process have read is not read again: one {@link BlockReadings} for all of them. Left out: it reads all that it is shown. */
  readonly readings?: BlockReadings | undefined
}

/**
 * What looks after pools and blocks, beside those who give addresses: takes pools into their domains, keeps counts, conditions and hints in their
 * status, removes blocks that are empty, and lets pools, blocks and domains go when nothing needs them.
 *
 * Several of them may run at a time: they write the same. Without any nothing is given from a new pool, and counts are old; what is given stays right.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksOperator(options: BlocksOperatorOptions = {}): Planner<OperatorOutcome> {
  const { emptySeconds = 60, lingerSeconds = 60, readings } = options
  for (const [name, seconds] of Object.entries({ emptySeconds, lingerSeconds })) {
    if (!(seconds >= 0 && seconds <= 86_400)) refuse(name, 'seconds, 0 to 86400', seconds)
  }
  return new BlocksOperator({ emptySeconds, lingerSeconds }, readings)
}

class BlocksOperator implements Planner<OperatorOutcome> {
  readonly name = 'blocks'
  readonly watches: readonly KindInfo[] = [IPDomain.info, IPPool.info, IPBlock.info]
  readonly #waits: { readonly emptySeconds: number; readonly lingerSeconds: number }
  #known: KnownBlocks
  readonly #sightings = new Sightings()
  readonly #domains = new Map<string, IPDomain | { readonly unreadable: string }>()
  readonly #censuses = new Map<string, DomainCensus>()
  readonly #tallies = new Map<string, PoolTally>()
  readonly #overlaps = new Overlaps()
  readonly #rooms = new Rooms()
  /** Since when blocks are seen empty, by name, and in which version. A reset keeps it: a version that was seen empty stays empty. */
  readonly #empty = new Map<string, { readonly version: string | undefined; readonly sinceMs: number }>()
  /** The latest time of a plan. */
  #nowMs = 0

  constructor(
    waits: { readonly emptySeconds: number; readonly lingerSeconds: number },
    readings: BlockReadings | undefined,
  ) {
    this.#waits = waits
    this.#known = new KnownBlocks({ isComplete: true, readings })
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (IPDomain.is(ref)) return this.#observeDomain(change)
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (IPPool.is(ref)) return this.#observePool(change, name)
    return IPBlock.is(ref) ? this.#observeBlock(change, name) : []
  }

  plan(key: string, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const [kind, name = ''] = key.split(' ')
    if (kind === 'IPPool') return this.#planPool(name, { nowMs })
    return kind === 'IPBlock' ? this.#planBlock(name, { nowMs }) : this.#planDomain(name, { nowMs })
  }

  isSummary(key: string): boolean {
    return !key.startsWith('IPBlock ')
  }

  reset(): void {
    // blocks that were not seen since the last reset are gone
    for (const name of [...this.#empty.keys()])
      if (!(this.#known.book(name) instanceof BlockBook)) this.#empty.delete(name)
    this.#known = this.#known.anew()
    this.#sightings.clear()
    this.#domains.clear()
    this.#censuses.clear()
    this.#tallies.clear()
    this.#overlaps.clear()
    this.#rooms.clear()
  }

  #observeDomain(change: Change): readonly string[] {
    if (!this.#sightings.isNews(change)) return []
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'absent') this.#domains.delete(name)
    else if (!isSameVersion(this.#domains.get(name), change.object)) {
      const read = IPDomain.safeParse(change.object)
      this.#domains.set(name, read.ok ? read.value : { unreadable: describe(read.failure) })
    }
    return [`IPDomain ${name}`, ...this.#poolsOf(name).map((pool) => `IPPool ${pool.name}`)]
  }

  #observePool(change: Change, name: string): readonly string[] {
    const before = this.#known.pool(name)
    const had = before instanceof PoolView ? before : undefined
    const [space, problem, domain] = [had?.space, had?.problem, had?.object.spec.domain]
    // what is rewritten by the same object under the same name is read once
    this.#known.observe(change, { nowMs: 0 })
    const now = this.#known.pool(name)
    const has = now instanceof PoolView ? now : undefined
    const domains = new Set([domain, has?.object.spec.domain].filter((each) => each !== undefined))
    const keys = [`IPPool ${name}`, ...[...domains].map((each) => `IPDomain ${each}`)]
    if (has === had && has?.space === space && has?.problem === problem) return keys
    if (has !== had || has?.space !== space) {
      this.#tallies.delete(name)
      for (const block of this.#rooms.blocksOf(name)) this.#noteRoom(this.#known.book(block))
      for (const other of this.#overlaps.set(name, has === undefined ? [] : this.#overlapping(has)))
        keys.push(`IPPool ${other}`)
    }
    // an empty block that was kept may be no use to it
    for (const block of this.#rooms.takeKeptOf(name)) keys.push(`IPBlock ${block}`)
    return keys
  }

  #observeBlock(change: Change, name: string): readonly string[] {
    const before = this.#known.book(name)
    this.#known.observe(change, { nowMs: 0 })
    const now = this.#known.book(name)
    if (now === before) return []
    if (!(now instanceof BlockBook)) this.#empty.delete(name)
    const keys = [`IPBlock ${name}`]
    const [had, has] = [placeOf(name, before), placeOf(name, now)]
    if (had !== undefined && had.domain !== has?.domain) this.#forgetIn(had.domain, name)
    if (has !== undefined) this.#countIn(has, name, now)
    for (const domain of new Set([had?.domain, has?.domain])) if (domain !== undefined) keys.push(`IPDomain ${domain}`)
    for (const pool of this.#concerned(name, [before, now])) keys.push(`IPPool ${pool}`)
    // an empty one that was the only one with room may not be any more
    if (before instanceof BlockBook && !(now instanceof BlockBook && this.#rooms.areTogether(before, now)))
      this.#rooms.forget(before)
    this.#noteRoom(now)
    const kept = now instanceof BlockBook ? this.#rooms.takeKept(now) : []
    for (const empty of kept) if (empty !== name) keys.push(`IPBlock ${empty}`)
    return keys
  }

  #countIn({ domain, prefix }: Place, name: string, block: Known<BlockBook>): void {
    const census = this.#censuses.get(domain) ?? new DomainCensus()
    this.#censuses.set(domain, census)
    if (block instanceof BlockBook) census.note(block)
    else census.noteUnreadable(name, prefix)
  }

  #forgetIn(domain: string, name: string): void {
    const census = this.#censuses.get(domain)
    census?.forget(name)
    if (census?.isEmpty === true) this.#censuses.delete(domain)
  }

  /** The pools for which a change of a block means something. Their counts are brought up to date. */
  #concerned(name: string, [before, now]: readonly [Known<BlockBook>, Known<BlockBook>]): ReadonlySet<string> {
    const concerned = new Set([...poolsIn(before), ...poolsIn(now)])
    const places = [placeOf(name, before), placeOf(name, now)].filter((place) => place !== undefined)
    // none that is held for such a block goes before that can be read, or has gone
    const isForAll = isUnreadable(before) !== isUnreadable(now)
    for (const pool of this.#known.pools()) {
      const { domain } = pool.object.spec
      const isIn = places.some(
        (place) => place.domain === domain && (isForAll || pool.unitsOf(place.prefix, name).length > 0),
      )
      if (isIn) concerned.add(pool.name)
    }
    for (const pool of concerned) {
      const tally = this.#tallies.get(pool)
      tally?.forget(name)
      if (tally !== undefined) this.#tallyBlock(tally, pool, now, name)
    }
    return concerned
  }

  #tallyBlock(tally: PoolTally, poolName: string, block: Known<BlockBook>, name: string): void {
    const pool = this.#known.pool(poolName)
    const place = placeOf(name, block)
    if (!(pool instanceof PoolView) || place?.domain !== pool.object.spec.domain) return
    if (block instanceof BlockBook) tally.note(block, 0)
    else tally.noteUnreadable(name, place.prefix)
  }

  #planDomain(name: string, time: PlanTime): Plan<OperatorOutcome> | undefined {
    const domain = this.#domains.get(name)
    if (domain === undefined) return undefined
    if ('unreadable' in domain) return { outcome: { kind: 'broken', message: domain.unreadable }, effects: [] }
    const countPools = () => this.#poolsOf(name).length
    return planDomain({ domain, census: this.#censuses.get(name), countPools }, time)
  }

  #planPool(name: string, time: PlanTime): Plan<OperatorOutcome> | undefined {
    const view = this.#known.pool(name)
    if (view === undefined || view === 'absent') return undefined
    if (!(view instanceof PoolView)) return { outcome: { kind: 'broken', message: view.unreadable }, effects: [] }
    const { domain } = view.object.spec
    const found = this.#domains.get(domain)
    const isUnreadable = found !== undefined && 'unreadable' in found
    return planPool(
      {
        view,
        domain: isUnreadable ? undefined : found,
        unreadable: isUnreadable ? found.unreadable : undefined,
        tally: this.#tallyOf(view, time),
        census: this.#censuses.get(domain),
        overlapping: this.#overlaps.of(name),
        lingerSeconds: this.#waits.lingerSeconds,
      },
      time,
    )
  }

  #planBlock(name: string, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
    const book = this.#known.book(name)
    if (book === undefined || book === 'absent') return undefined
    if (!(book instanceof BlockBook)) return { outcome: { kind: 'broken', message: book.unreadable }, effects: [] }
    // what waited may be free by now
    this.#noteRoom(book)
    let empty = this.#empty.get(name)
    if (!isEmpty(book, nowMs)) {
      this.#empty.delete(name)
      empty = undefined
    } else if (empty === undefined || empty.version !== book.version) {
      empty = { version: book.version, sinceMs: nowMs }
      this.#empty.set(name, empty)
    }
    const plan = { book, emptySinceMs: empty?.sinceMs, emptySeconds: this.#waits.emptySeconds, nowMs }
    return planBlock({ ...plan, isNeeded: empty !== undefined && this.#isNeeded(book) })
  }

  /** Whether an empty block is the only one of its pool and family that has room, of several such the first, and the pool still gives of it. */
  #isNeeded(book: BlockBook): boolean {
    const pool = this.#known.pool(book.object.spec.pool)
    return pool instanceof PoolView && pool.problem === undefined && this.#rooms.isNeeded(book)
  }

  #noteRoom(book: Known<BlockBook>): void {
    if (book instanceof BlockBook) this.#rooms.note(book, this.#roomOf(book))
  }

  #roomOf(book: BlockBook): Room {
    const { domain, pool: name, node } = book.object.spec
    // that of a node is for nobody else, and the node may never come back
    if (node !== undefined) return 'none'
    const pool = this.#known.pool(name)
    if (!(pool instanceof PoolView) || pool.object.spec.domain !== domain) return 'none'
    if (!pool.hasRoomIn(book, this.#nowMs)) return 'none'
    return isEmpty(book, this.#nowMs) ? 'all' : 'some'
  }

  #tallyOf(view: PoolView, { nowMs }: PlanTime): PoolTally {
    const known = this.#tallies.get(view.name)
    if (known !== undefined && known.space === view.space) return known
    const tally = new PoolTally(view)
    const census = this.#censuses.get(view.object.spec.domain)
    for (const name of census?.names() ?? []) tally.note(this.#known.book(name) as BlockBook, nowMs)
    for (const [name, prefix] of census?.unreadable() ?? []) tally.noteUnreadable(name, prefix)
    this.#tallies.set(view.name, tally)
    return tally
  }

  #overlapping({ name, space, object }: PoolView): readonly string[] {
    if (space === undefined) return []
    const others = this.#poolsOf(object.spec.domain).filter((other) => {
      return other.name !== name && other.space !== undefined && haveInCommon(space, other.space)
    })
    return others.map((other) => other.name)
  }

  #poolsOf(domain: string): readonly PoolView[] {
    return [...this.#known.pools()].filter(({ object }) => object.spec.domain === domain)
  }
}

function isSameVersion(
  known: IPDomain | { readonly unreadable: string } | undefined,
  { metadata }: KubeObject,
): boolean {
  if (known === undefined || 'unreadable' in known) return false
  const { uid, resourceVersion } = known.metadata
  return uid === metadata.uid && resourceVersion !== undefined && resourceVersion === metadata.resourceVersion
}

/** Whether two pools have addresses in common, also such as one of them gives only to who asks. */
function haveInCommon(left: PoolSpace, right: PoolSpace): boolean {
  const parts = [left.given, left.reserved]
  return parts.some((part) => RangeSet.overlaps(part, right.given) || RangeSet.overlaps(part, right.reserved))
}

/** Where a block lies. */
interface Place {
  readonly domain: string
  readonly prefix: Prefix.Prefix
}

/** Where a block lies: of one that can not be read its name says so. `undefined`: it is not there, or has a name that no block has. */
function placeOf(name: string, block: Known<BlockBook>): Place | undefined {
  if (block instanceof BlockBook) return { domain: block.object.spec.domain, prefix: block.prefix }
  return isUnreadable(block) ? parseBlockName(name) : undefined
}

function isUnreadable(block: Known<BlockBook>): boolean {
  return block !== undefined && block !== 'absent' && !(block instanceof BlockBook)
}

/** The pools that have rows in a block. */
function poolsIn(block: Known<BlockBook>): ReadonlySet<string> {
  if (!(block instanceof BlockBook)) return new Set()
  return new Set(block.entries.map(({ row }) => row.pool ?? block.object.spec.pool))
}
