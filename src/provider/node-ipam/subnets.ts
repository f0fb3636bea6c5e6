import { Ledger, type LedgerHolder } from '../../allocator/index.js'
import { Address, Prefix, PrefixMap, RangeSet } from '../../cidr/index.js'
import type { NodeFacts } from './node.js'
import type { NodeRange } from './range.js'
import { inFixedOrder, type RangeOrder, rankFor } from './rank.js'

/** The holder of a subnet, or of a service range. */
export interface SubnetHolder extends LedgerHolder {
  readonly kind: 'Node' | 'ServiceCIDR'
  /** `key` is the kind and the name. Empty for the service ranges of the options. */
  readonly name: string
}

/** The subnets for a Node, and the name of their range. */
export interface SubnetChoice {
  readonly range: string
  readonly subnets: readonly Prefix[]
}

/** A prefix, and the kind and name of its holder. */
export interface HeldPrefix {
  readonly prefix: Prefix
  readonly key: string
}

/** A source of subnets: a ClusterCIDR, or the flags of kube-controller-manager. */
export interface RangeSource {
  /** `undefined`: it gives no subnets. */
  readonly range: NodeRange | undefined
  /** The prefixes that it names, also if it gives no subnets of them. */
  readonly prefixes: readonly Prefix[]
  readonly state: SourceState
}

/**
 * Whether a source gives subnets.
 *
 * - `open`: it does
 * - `opening`: soon, after the write of its finalizer; Nodes wait for it
 * - `refused`: the store has refused that write; Nodes get subnets of the next range
 */
export type SourceState = 'open' | 'opening' | 'refused'

/**
 * Where the search in each range begins: behind the last subnet that was given. By the name of the
 * range and the number of the space. A hint, never the truth.
 */
export type SubnetCursors = Map<string, Address>

const EVERYTHING = /* @__PURE__ */ RangeSet.parse(['0.0.0.0/0', '::/0'])

/**
 * The subnets in use, and the next free one. All ranges share one map: a subnet is free if it
 * overlaps no subnet of a Node, none that is about to be written, and no service range, whatever
 * range these came from. Memory does not depend on the size of a range.
 */
export class NodeSubnets {
  readonly ledger: Ledger<SubnetHolder>
  readonly cursors: SubnetCursors
  readonly #order: RangeOrder
  readonly #sources = new Map<string, RangeSource>()
  readonly #services = new Map<string, readonly Prefix[]>()
  #ordered: readonly NodeRange[] | undefined
  #owned: PrefixMap<string> | undefined
  #open: ReadonlySet<string> | undefined
  /** The Nodes whose conflicts with other Nodes have begun or ended. */
  readonly #changed = new Set<string>()

  constructor(order: RangeOrder, cursors: SubnetCursors = new Map()) {
    this.ledger = new Ledger({ space: EVERYTHING }, { onConflict: ({ holder }) => this.#changed.add(holder.name) })
    this.#order = order
    this.cursors = cursors
  }

  /**
   * Records the subnets of a Node, and replaces those of the same reason. `pending`: a plan is
   * about to write them. O(extents that overlap them).
   *
   * @returns the names of the Nodes whose conflicts with other Nodes have begun or ended
   */
  setNode(name: string, subnets: readonly Prefix[], reason: 'held' | 'pending' = 'held'): readonly string[] {
    this.#changed.clear()
    // a Node is in no conflict with itself
    this.#setAll(`${reason} Node ${name}`, withoutNested(subnets), reason, { key: `Node ${name}`, kind: 'Node', name })
    return [...this.#changed]
  }

  /** The subnets of other Nodes that overlap a subnet of a Node, one by one. */
  *othersAt(subnet: Prefix, name: string): IterableIterator<HeldPrefix> {
    for (const { prefix, reason, holder } of this.ledger.overlapping(subnet)) {
      if (reason === 'held' && holder.kind === 'Node' && holder.name !== name) yield { prefix, key: holder.key }
    }
  }

  /** The service ranges that overlap a subnet. O(service ranges). */
  serviceRangesAt(subnet: Prefix): readonly HeldPrefix[] {
    return [...this.#services].flatMap(([key, prefixes]) =>
      prefixes.filter((prefix) => Prefix.overlaps(prefix, subnet)).map((prefix) => ({ prefix, key })),
    )
  }

  /**
   * Only ranges whose prefixes are all among these texts give subnets; `undefined`: all ranges do.
   */
  setOpen(cidrs: ReadonlySet<string> | undefined): void {
    this.#open = cidrs
  }

  /** Whether Nodes may get subnets of a range now. */
  isOpen({ spaces }: NodeRange): boolean {
    return spaces.every(({ prefix }) => this.#open?.has(Prefix.format(prefix)) ?? true)
  }

  /**
   * Records the service ranges of a ServiceCIDR, or of the options under the name `''`. Without
   * prefixes: they do not exist any more.
   */
  setServiceRange(name: string, prefixes: readonly Prefix[]): void {
    const key = name === '' ? 'the service ranges' : `ServiceCIDR ${name}`
    this.#setAll(key, prefixes, 'foreign', { key, kind: 'ServiceCIDR', name })
    this.#services.set(key, prefixes)
  }

  /** A service range that contains all of a prefix. O(service ranges). */
  serviceRangeOver(prefix: Prefix): Prefix | undefined {
    return [...this.#services.values()].flat().find((range) => Prefix.contains(range, prefix))
  }

  /** Sets the source of a name; `undefined`: it does not exist. */
  setRange(name: string, source: RangeSource | undefined): void {
    if (source === undefined) this.#sources.delete(name)
    else this.#sources.set(name, source)
    this.#ordered = undefined
    this.#owned = undefined
  }

  stateOf({ name }: Pick<NodeRange, 'name'>): SourceState {
    return this.#sources.get(name)?.state ?? 'open'
  }

  /**
   * Notes that the store has refused the finalizer of a source, until the source is set again.
   *
   * @returns whether Nodes have waited for it
   */
  refuse(name: string): boolean {
    const source = this.#sources.get(name)
    if (source?.state !== 'opening') return false
    this.#sources.set(name, { ...source, state: 'refused' })
    return true
  }

  /** The ranges that give subnets. */
  ranges(): readonly NodeRange[] {
    return [...this.#sources.values()].flatMap(({ range }) => range ?? [])
  }

  /** Whether a source names a prefix that contains this subnet. */
  isOwned(subnet: Prefix): boolean {
    this.#owned ??= new PrefixMap(
      [...this.#sources].flatMap(([name, { prefixes }]) => prefixes.map((prefix) => [prefix, name] as const)),
    )
    return this.#owned.longestMatch(subnet) !== undefined
  }

  /**
   * The subnets for a Node. `undefined` if no range has a free one of each of its spaces, or if the
   * first that has is `opening`. Changes nothing. O(ranges x log ranges).
   */
  choose(node: Pick<NodeFacts, 'metadata'>): SubnetChoice | undefined {
    for (const range of this.rangesFor(node)) {
      const state = this.stateOf(range)
      const subnets = this.isOpen(range) && state !== 'refused' ? this.#next(range) : undefined
      if (subnets !== undefined) return state === 'opening' ? undefined : { range: range.name, subnets }
    }
    return undefined
  }

  /** The ranges that a Node may get subnets from, in the order to try. */
  rangesFor(node: Pick<NodeFacts, 'metadata'>): readonly NodeRange[] {
    this.#ordered ??= inFixedOrder(this.ranges(), this.#order)
    return rankFor(node, this.#ordered)
  }

  /** Continues the next search after the subnets that are being given. */
  advance({ range, subnets }: SubnetChoice): void {
    subnets.forEach((subnet, index) => {
      const next = Address.next(Prefix.last(subnet))
      if (next === undefined) this.cursors.delete(`${range} ${index}`)
      else this.cursors.set(`${range} ${index}`, next)
    })
  }

  /**
   * The names of the Nodes whose subnets overlap one of these prefixes: for each prefix in the
   * order of their subnets.
   */
  nodesIn(prefixes: readonly Prefix[]): readonly string[] {
    const names = new Set<string>()
    for (const prefix of prefixes) {
      for (const { holder } of this.ledger.holders(prefix)) if (holder.kind === 'Node') names.add(holder.name)
    }
    return [...names]
  }

  /** One of each space, or nothing. */
  #next({ name, spaces }: NodeRange): readonly Prefix[] | undefined {
    const subnets: Prefix[] = []
    for (const [index, { prefix, within, length }] of spaces.entries()) {
      const from = this.cursors.get(`${name} ${index}`)
      const { family } = prefix.address
      const next = this.ledger.next({
        family,
        length,
        within,
        order: 'around',
        from: from?.family === family ? from : undefined,
      })
      if (next === undefined) return undefined
      subnets.push(next)
    }
    return subnets
  }

  #setAll(id: string, prefixes: readonly Prefix[], reason: 'held' | 'pending' | 'foreign', holder: SubnetHolder): void {
    for (let index = prefixes.length; this.ledger.delete(`${id} ${index}`); index++);
    for (const [index, prefix] of prefixes.entries()) this.ledger.set(`${id} ${index}`, { prefix, reason, holder })
  }
}

/** Prefixes without those that lie in another one of them. O(n). */
function withoutNested(prefixes: readonly Prefix[]): readonly Prefix[] {
  if (prefixes.length < 2) return prefixes
  const all = new PrefixMap(prefixes.map((prefix) => [prefix, true] as const))
  return [...all.keys()].filter((prefix) => all.covering(prefix).length === 1)
}
