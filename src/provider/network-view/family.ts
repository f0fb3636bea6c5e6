import type { Ledger, LedgerEntry } from '../../allocator/index.js'
import type { Family } from '../../cidr/index.js'
import { type Cover, frozenPrefix, frozenSet } from '../../cidr/internal.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { compareText } from '../../plan/cached-objects.js'
import type { Extent, Holder } from '../../plan/index.js'
import { DELETED, NODES, type RangeRole } from './read.js'
import type { ConflictParty, FamilyView, NetworkConflict, NetworkRange, NodeSubnet, RangePhase } from './view.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet
type Entry = LedgerEntry<Holder>

/** How many conflicts a view lists at most. */
const MAX_CONFLICTS = 1000

/** What a view is made of. */
export interface ViewFacts {
  /**
   * Which Node uses which subnet, and which object configures which range: a ledger for each role,
   * and one for deleted ranges.
   */
  readonly ledger: (pool: typeof NODES | RangeRole | typeof DELETED) => Ledger<Holder>
  /** How many Nodes have a subnet of a family. */
  readonly nodesOf: (family: Family) => number
  /**
   * As canonical CIDR; `undefined`: all. A proposed range is known as an active one is, so nothing
   * else depends on it.
   */
  accepted: ReadonlySet<string> | undefined
}

/**
 * The view of one family, read from ledgers. What a change of a ledger cannot have changed is read
 * once: call {@link touch} for each extent that has changed.
 */
export class LedgerFamilyView implements FamilyView {
  readonly family: Family
  readonly #facts: ViewFacts
  /** Subnets that no range contains: to find them among all subnets is O(n). */
  readonly #orphans = new Map<string, Prefix>()
  #known: RangeSet = RangeSet.empty
  #isKnown = false
  #conflicts: { readonly listed: readonly NetworkConflict[]; readonly hasMore: boolean } | undefined

  constructor(family: Family, facts: ViewFacts) {
    this.family = family
    this.#facts = facts
  }

  get active(): readonly NetworkRange[] {
    return this.#inPhase('active').map((range) => this.#counted(range))
  }

  get proposed(): readonly NetworkRange[] {
    return this.#inPhase('proposed').map((range) => this.#counted(range))
  }

  get terminating(): readonly NetworkRange[] {
    return this.#inPhase('terminating').map((range) => this.#counted(range))
  }

  get drained(): readonly NetworkRange[] {
    return this.#inPhase('drained').map((range) => this.#counted(range))
  }

  /** The configured ranges, with deleted ones that are in use. O(ranges). */
  get current(): readonly CurrentRange[] {
    return (['active', 'proposed', 'terminating'] as const).flatMap((phase) => this.#inPhase(phase))
  }

  get inUse(): readonly NodeSubnet[] {
    return this.#entries(NODES).map(({ prefix, holder }) => {
      const around = [...this.#over('pods', prefix), ...this.#over(DELETED, prefix)]
      const owners = around.sort(inOrder).map((range) => range.holder.key)
      return { node: holder.key, prefix, owners }
    })
  }

  get nodes(): number {
    return this.#facts.nodesOf(this.family)
  }

  get orphans(): readonly NodeSubnet[] {
    return [...this.#orphans.values()].sort(Prefix.compare).flatMap((orphan) =>
      this.#over(NODES, orphan)
        .filter(({ prefix }) => prefix.length === orphan.length)
        .map(({ prefix, holder }) => ({ node: holder.key, prefix, owners: [] })),
    )
  }

  get conflicts(): readonly NetworkConflict[] {
    this.#conflicts ??= this.#findConflicts()
    return this.#conflicts.listed
  }

  get hasMoreConflicts(): boolean {
    this.#conflicts ??= this.#findConflicts()
    return this.#conflicts.hasMore
  }

  get known(): RangeSet {
    if (!this.#isKnown) {
      const set = RangeSet.fromPrefixes([...this.current.map(({ prefix }) => prefix), ...this.#orphans.values()])
      // the same object until the addresses change
      if (!RangeSet.equals(set, this.#known)) this.#known = frozenSet(set)
      this.#isKnown = true
    }
    return this.#known
  }

  summary(max: number): Cover {
    return RangeSet.cover(this.known, { maxPrefixes: max })
  }

  /**
   * Takes in that the holders of an extent have changed. For a subnet O(length of its prefix), for
   * a range also the subnets in it.
   */
  touch({ pool, prefix }: Extent): void {
    this.#conflicts = undefined
    if (pool === 'services' || pool === 'pools') return
    const subnets = pool === NODES ? [prefix] : Array.from(this.#subnetsIn(prefix), (entry) => entry.prefix)
    const isRange = pool !== NODES || startsAround(this.#facts.ledger(DELETED), prefix)
    for (const subnet of subnets) this.#isKnown = !this.#isMoved(subnet) && this.#isKnown
    // a deleted range is known while a Node has a subnet of it
    if (isRange) this.#isKnown = false
  }

  /** Updates whether a subnet is an orphan. Returns whether that has changed. */
  #isMoved(subnet: Prefix): boolean {
    const { ledger } = this.#facts
    const [inUse] = this.#subnetsIn(subnet)
    const isOrphan =
      inUse?.prefix.length === subnet.length &&
      ![ledger('pods'), ledger(DELETED)].some((of) => startsAround(of, subnet))
    const id = Prefix.format(subnet)
    if (this.#orphans.has(id) === isOrphan) return false
    if (isOrphan) this.#orphans.set(id, subnet)
    else this.#orphans.delete(id)
    return true
  }

  #entries(pool: RangeRole | typeof NODES | typeof DELETED): Entry[] {
    return this.#facts
      .ledger(pool)
      .entries()
      .filter(({ prefix }) => prefix.address.family === this.family)
  }

  #inPhase(phase: RangePhase): CurrentRange[] {
    const isDeleted = phase === 'terminating' || phase === 'drained'
    return this.#entries(isDeleted ? DELETED : 'pods').flatMap(({ prefix, holder: { key: name, object } }) => {
      const isUsed = this.#subnetsIn(prefix).next().done !== true
      const isAccepted = this.#facts.accepted?.has(Prefix.format(prefix)) !== false
      const deleted = isUsed ? 'terminating' : 'drained'
      const is = isDeleted ? deleted : isAccepted ? 'active' : 'proposed'
      return is === phase ? [{ name, source: object && { ...object }, prefix, phase, isUsed }] : []
    })
  }

  #counted({ isUsed, ...range }: CurrentRange): NetworkRange {
    return { ...range, users: isUsed ? [...this.#subnetsIn(range.prefix)].length : 0 }
  }

  *#subnetsIn(prefix: Prefix): IterableIterator<Entry> {
    for (const entry of this.#facts.ledger(NODES).overlapping(prefix)) {
      if (entry.prefix.length >= prefix.length) yield entry
    }
  }

  /** The entries that contain a prefix, the widest first. */
  #over(pool: 'pods' | typeof NODES | typeof DELETED, prefix: Prefix): Entry[] {
    return this.#facts
      .ledger(pool)
      .holders(prefix)
      .filter((entry) => entry.prefix.length <= prefix.length)
  }

  #findConflicts() {
    const listed: NetworkConflict[] = []
    for (const conflict of this.#eachConflict()) {
      if (listed.length === MAX_CONFLICTS) return { listed: Object.freeze(listed), hasMore: true }
      const [one, other] = conflict.between
      const between = Object.freeze([frozenParty(one), frozenParty(other)] as const)
      listed.push(Object.freeze({ ...conflict, between }))
    }
    return { listed: Object.freeze(listed), hasMore: false }
  }

  *#eachConflict(): IterableIterator<NetworkConflict> {
    const subnets = this.#facts.ledger(NODES)
    for (const { prefix, holder } of subnets.conflicts()) {
      if (prefix.address.family !== this.family) continue
      for (const other of subnets.holders(prefix)) {
        // each pair once, from the one with the lower name
        if (compareText(holder.key, other.holder.key) >= 0) continue
        const between = [partyOf('node', { prefix, holder }), partyOf('node', other)] as const
        yield { kind: 'node-node', between }
      }
    }
    const reserved = [...this.#entries('services'), ...this.#entries('pools')]
    if (reserved.length === 0) return
    const clashes = new Set(reserved.flatMap(({ prefix }) => subnets.holders(prefix)))
    for (const entry of [...clashes].sort(inOrder)) yield* this.#withReserved(partyOf('node', entry))
    const ranges = this.current.map(({ prefix, name: key }) => ({ prefix, holder: { key } }))
    for (const range of ranges.sort(inOrder)) yield* this.#withReserved(partyOf('range', range))
  }

  *#withReserved<K extends 'node' | 'range'>(party: ConflictParty & { readonly kind: K }) {
    const others = (['service', 'pool'] as const).flatMap((kind) =>
      this.#facts
        .ledger(`${kind}s`)
        .holders(party.prefix)
        .map((entry) => ({ kind, entry })),
    )
    others.sort((left, right) => inOrder(left.entry, right.entry))
    for (const { kind, entry } of others) {
      yield { kind: `${party.kind}-${kind}`, between: [party, partyOf(kind, entry)] } as const
    }
  }
}

/** A range of Pods, without the number of its subnets, which are O(n) to count. */
export type CurrentRange = Omit<NetworkRange, 'users'> & {
  /** Whether it contains the subnet of a Node. */
  readonly isUsed: boolean
}

type PartyEntry = Pick<Entry, 'prefix'> & { readonly holder: Pick<Holder, 'key'> }

function partyOf<K extends ConflictParty['kind']>(kind: K, { prefix, holder }: PartyEntry) {
  return { kind, name: holder.key, prefix }
}

function frozenParty(party: ConflictParty): ConflictParty {
  return Object.freeze({ ...party, prefix: frozenPrefix(party.prefix) })
}

/** Whether an entry contains a prefix. */
function startsAround(ledger: Ledger<Holder>, prefix: Prefix): boolean {
  const [widest] = ledger.overlapping(prefix)
  return widest !== undefined && widest.prefix.length <= prefix.length
}

function inOrder(left: PartyEntry, right: PartyEntry): number {
  return Prefix.compare(left.prefix, right.prefix) || compareText(left.holder.key, right.holder.key)
}
