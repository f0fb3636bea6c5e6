import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPDomain } from '../../../crd/ipam-kit/ip-domain.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { KindInfo } from '../../../crd/meta/object.js'
import { describe, ipamError } from '../../../errors/index.js'
import { type Change, type Plan, type Planner, type PlanTime, Sightings } from '../../../plan/index.js'
import { BlockBook } from '../book.js'
import { KnownBlocks } from '../known-blocks.js'
import { PoolView } from '../pool-view.js'
import { isEmpty, planBlock } from './block.js'
import { planDomain } from './domain.js'
import type { OperatorOutcome } from './outcome.js'
import { planPool } from './pool.js'
import { PoolTally } from './tally.js'

export interface BlocksOperatorOptions {
  /** How long a block may be empty before it is removed, in seconds, from 0 to 86,400. Default 60. */
  readonly emptySeconds?: number | undefined
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
  const { emptySeconds = 60 } = options
  if (!(emptySeconds >= 0 && emptySeconds <= 86_400)) {
    const got = String(emptySeconds)
    throw ipamError('INVALID_ARGUMENT', { argument: 'emptySeconds', expected: 'seconds, 0 to 86400', got })
  }
  return new BlocksOperator(emptySeconds)
}

class BlocksOperator implements Planner<OperatorOutcome> {
  readonly name = 'blocks'
  readonly watches: readonly KindInfo[] = [IPDomain.info, IPPool.info, IPBlock.info]
  readonly #emptySeconds: number
  #known = new KnownBlocks({ isComplete: true })
  readonly #sightings = new Sightings()
  readonly #domains = new Map<string, IPDomain | { readonly unreadable: string }>()
  readonly #tallies = new Map<string, PoolTally>()
  /** Since when blocks are seen empty, by name, and in which version. */
  readonly #empty = new Map<string, { readonly version: string | undefined; readonly sinceMs: number }>()

  constructor(emptySeconds: number) {
    this.#emptySeconds = emptySeconds
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (IPDomain.is(ref)) return this.#observeDomain(change)
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (IPPool.is(ref)) return this.#observePool(change, name)
    return IPBlock.is(ref) ? this.#observeBlock(change, name) : []
  }

  plan(key: string, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
    const [kind, name = ''] = key.split(' ')
    if (kind === 'IPPool') return this.#planPool(name, { nowMs })
    return kind === 'IPBlock' ? this.#planBlock(name, { nowMs }) : this.#planDomain(name, { nowMs })
  }

  isSummary(key: string): boolean {
    return !key.startsWith('IPBlock ')
  }

  reset(): void {
    this.#known = new KnownBlocks({ isComplete: true })
    this.#sightings.clear()
    this.#domains.clear()
    this.#tallies.clear()
    this.#empty.clear()
  }

  #observeDomain(change: Change): readonly string[] {
    if (!this.#sightings.isNews(change)) return []
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'absent') this.#domains.delete(name)
    else {
      const read = IPDomain.safeParse(change.object)
      this.#domains.set(name, read.ok ? read.value : { unreadable: describe(read.failure) })
    }
    return [`IPDomain ${name}`, ...this.#poolsOf(name).map((pool) => `IPPool ${pool.name}`)]
  }

  #observePool(change: Change, name: string): readonly string[] {
    const before = this.#known.pool(name)
    const beforeSpace = before instanceof PoolView ? before.space : undefined
    const domains = new Set(before instanceof PoolView ? [before.object.spec.domain] : [])
    // what is rewritten by the same object under the same name is read once
    this.#known.observe(change, { nowMs: 0 })
    const now = this.#known.pool(name)
    if (now instanceof PoolView) domains.add(now.object.spec.domain)
    const keys = [`IPPool ${name}`, ...[...domains].map((domain) => `IPDomain ${domain}`)]
    if (now instanceof PoolView && now === before && now.space === beforeSpace) return keys
    this.#tallies.delete(name)
    // whom it has addresses in common with
    for (const domain of domains) {
      for (const other of this.#poolsOf(domain)) if (other.name !== name) keys.push(`IPPool ${other.name}`)
      for (const book of this.#booksOf(domain))
        if (isEmpty(book, Number.POSITIVE_INFINITY)) keys.push(`IPBlock ${book.name}`)
    }
    return keys
  }

  #observeBlock(change: Change, name: string): readonly string[] {
    const before = this.#known.book(name)
    this.#known.observe(change, { nowMs: 0 })
    const now = this.#known.book(name)
    if (now === before) return []
    if (!(now instanceof BlockBook)) this.#empty.delete(name)
    const book = now instanceof BlockBook ? now : before
    const keys = [`IPBlock ${name}`]
    if (!(book instanceof BlockBook)) return keys
    const { domain } = book.object.spec
    keys.push(`IPDomain ${domain}`)
    for (const pool of this.#poolsOf(domain)) {
      this.#tallies.get(pool.name)?.forget(name)
      if (now instanceof BlockBook) this.#tallies.get(pool.name)?.note(now, 0)
      keys.push(`IPPool ${pool.name}`)
    }
    // an empty one that was the only one with room may not be any more
    for (const empty of this.#empty.keys()) if (empty !== name) keys.push(`IPBlock ${empty}`)
    return keys
  }

  #planDomain(name: string, time: PlanTime): Plan<OperatorOutcome> | undefined {
    const domain = this.#domains.get(name)
    if (domain === undefined) return undefined
    if ('unreadable' in domain) return { outcome: { kind: 'broken', message: domain.unreadable }, effects: [] }
    const pools = this.#poolsOf(name).map((pool) => pool.name)
    return planDomain({ domain, books: [...this.#booksOf(name)], pools }, time)
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
        books: () => this.#booksOf(domain),
        overlapping: this.#overlapping(view),
      },
      time,
    )
  }

  #planBlock(name: string, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
    const book = this.#known.book(name)
    if (book === undefined || book === 'absent') return undefined
    if (!(book instanceof BlockBook)) return { outcome: { kind: 'broken', message: book.unreadable }, effects: [] }
    let empty = this.#empty.get(name)
    if (!isEmpty(book, nowMs)) {
      this.#empty.delete(name)
      empty = undefined
    } else if (empty === undefined || empty.version !== book.version) {
      empty = { version: book.version, sinceMs: nowMs }
      this.#empty.set(name, empty)
    }
    const plan = { book, emptySinceMs: empty?.sinceMs, emptySeconds: this.#emptySeconds, nowMs }
    return planBlock({ ...plan, isNeeded: empty !== undefined && this.#isNeeded(book, nowMs) })
  }

  /** Whether an empty block is the only one of its pool and family that has room, of several such the first, and the pool still gives of it. */
  #isNeeded(book: BlockBook, nowMs: number): boolean {
    const { domain, pool: name, node } = book.object.spec
    // that of a node is for nobody else, and the node may never come back
    if (node !== undefined) return false
    const pool = this.#known.pool(name)
    if (!(pool instanceof PoolView) || pool.problem !== undefined || pool.object.spec.domain !== domain) return false
    if (!pool.hasRoomIn(book, nowMs)) return false
    for (const other of this.#booksOf(domain)) {
      if (other.name === book.name || other.object.spec.pool !== name || other.object.spec.node !== undefined) continue
      if (other.prefix.address.family !== book.prefix.address.family || !pool.hasRoomIn(other, nowMs)) continue
      // of two that are empty the first one stays, whoever looks first
      if (!isEmpty(other, nowMs) || other.name < book.name) return false
    }
    return true
  }

  #tallyOf(view: PoolView, { nowMs }: PlanTime): PoolTally {
    const known = this.#tallies.get(view.name)
    if (known !== undefined && known.space === view.space) return known
    const tally = new PoolTally(view)
    for (const book of this.#booksOf(view.object.spec.domain)) tally.note(book, nowMs)
    this.#tallies.set(view.name, tally)
    return tally
  }

  #overlapping(view: PoolView): readonly string[] {
    const own = view.space?.given
    if (own === undefined) return []
    const others = this.#poolsOf(view.object.spec.domain).filter(({ name, space }) => {
      return name !== view.name && space !== undefined && RangeSet.overlaps(own, space.given)
    })
    return others.map(({ name }) => name).sort()
  }

  #poolsOf(domain: string): readonly PoolView[] {
    return [...this.#known.pools()].filter(({ object }) => object.spec.domain === domain)
  }

  *#booksOf(domain: string): IterableIterator<BlockBook> {
    for (const book of this.#known.books()) if (book.object.spec.domain === domain) yield book
  }
}
