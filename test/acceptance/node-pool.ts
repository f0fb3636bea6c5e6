import { type Owner, PrefixAllocator, type ReserveRule, reservedAddresses } from 'ipam-kit/allocator'
import { type Family, Prefix, RangeSet } from 'ipam-kit/cidr'

/** What a pool is made of. */
export interface NodePoolSpec {
  /** In the order in which they are used up. */
  readonly cidrs: readonly Prefix[]
  /** How long the prefixes of nodes are. */
  readonly lengths: { readonly 4: number; readonly 6: number }
  /** Space that no node may have. */
  readonly reserved?: RangeSet | undefined
}

/** An error in the words of upstream, and what is at the bottom of it. */
export interface Problem {
  readonly text: string
  readonly cause: string
}

/**
 * A CIDR of a pool. One that was taken from the pool is closed: nothing more is given of it, and
 * what was is not forgotten.
 */
interface Part {
  readonly cidr: Prefix
  readonly isOpen: boolean
  readonly allocator: PrefixAllocator
}

/** What somebody holds. */
interface Held {
  readonly prefix: Prefix
  readonly owner: Owner
}

/**
 * A pool of CIDRs of both families that gives prefixes to nodes, as many as they need: an allocator
 * for each CIDR. Owners have the name of the node as uid, and that of the pool as key.
 */
export class NodePool {
  readonly #usable: ReserveRule
  #parts: readonly Part[] = []
  #isDeleted = false
  #given = 0

  constructor(
    readonly name: string,
    spec: NodePoolSpec,
    usable: ReserveRule,
  ) {
    this.#usable = usable
    this.configure(spec)
  }

  /**
   * Changes the CIDRs of the pool under what nodes hold: what is outside of them now stays known,
   * and comes back with its CIDR.
   */
  configure({ cidrs, lengths, reserved = RangeSet.empty }: NodePoolSpec): void {
    this.#isDeleted = false
    const lengthOf = ({ address }: Prefix) => lengths[address.family]
    const isKept = ({ cidr, isOpen, allocator }: Part) =>
      isOpen && allocator.childLength === lengthOf(cidr) && cidrs.some((one) => Prefix.equals(one, cidr))
    const kept = this.#parts.filter(isKept)
    const others = this.#parts.filter((part) => !isKept(part))
    const added = cidrs
      .filter((cidr) => !kept.some((part) => Prefix.equals(part.cidr, cidr)))
      .map((cidr) => partOf(cidr, true, lengthOf(cidr), reserved, heldIn(cidr, others)))
    const isOutside = ({ prefix }: Held) => !cidrs.some((cidr) => Prefix.contains(cidr, prefix))
    const closed = others.map(({ cidr, allocator }) =>
      partOf(cidr, false, allocator.childLength, reserved, heldBy(allocator).filter(isOutside)),
    )
    this.#parts = [...kept, ...added, ...closed]
  }

  delete(): void {
    this.configure({ cidrs: [], lengths: { 4: 32, 6: 128 } })
    this.#isDeleted = true
  }

  /** What a node holds, in and out of the CIDRs of the pool. */
  heldBy(node: string): Prefix[] {
    return this.#parts.flatMap(({ allocator }) => allocator.prefixesOf(node))
  }

  /** What is held, but is not, or no longer, of the pool. */
  orphans(): Held[] {
    return this.#parts.flatMap(({ allocator }) =>
      heldBy(allocator).filter(({ prefix }) => !allocator.isAllocatable(prefix)),
    )
  }

  /** A node says that it holds a prefix. */
  claim(node: string, prefix: Prefix): Problem | undefined {
    if (this.heldBy(node).some((held) => Prefix.equals(held, prefix))) return undefined
    const part = this.#partWith(prefix)
    const cidr = `cidr ${Prefix.format(prefix)}`
    if (part === undefined) return this.#notReused(`${cidr} is not part of the requested pool`)
    const owner = this.#newOwner(node)
    const others = part.allocator.occupy(prefix, owner)
    if (others.length === 0) return undefined
    part.allocator.release(prefix, owner)
    return this.#notReused(`${cidr} has already been allocated`)
  }

  /** Takes over what is held outside of another pool, where that is this one under another name. */
  adopt({ prefix, owner }: Held): Problem | undefined {
    const part = this.#partWith(prefix)
    if (part === undefined) return undefined
    part.allocator.occupy(prefix, owner)
    const outcome = part.allocator.allocate({ owner: this.#newOwner(owner.uid), prefix })
    if (outcome.kind !== 'taken') return undefined
    const cause = `cannot reuse from non-existing pool: ${outcome.by.key}`
    const orphan = `orphaned CIDR ${Prefix.format(prefix)} still used by node ${owner.uid}`
    return { cause, text: `unable to mark ${orphan} as allocated: ${cause}` }
  }

  /** Takes back what a node has but for some prefixes. */
  retain(node: string, kept: readonly Prefix[]): void {
    for (const { allocator } of this.#parts) {
      for (const prefix of allocator.prefixesOf(node)) {
        if (kept.some((one) => Prefix.equals(one, prefix))) continue
        for (const owner of allocator.ownersOf(prefix)) if (owner.uid === node) allocator.release(prefix, owner)
      }
    }
  }

  /** Gives a node prefixes until it has so many usable addresses of a family. */
  supply(node: string, family: Family, needed: number): Problem | undefined {
    const mine = this.heldBy(node).filter(({ address }) => address.family === family)
    let usable = mine.reduce((sum, prefix) => sum + usableAddresses(prefix, this.#usable), 0n)
    while (usable < needed) {
      const prefix = this.#next(node, family)
      if (prefix === undefined) {
        const cause = this.#isDeleted ? nonExisting(this.name).cause : 'pool empty'
        return { cause, text: `${failedFor(node, family, this.name)}: ${cause}` }
      }
      usable += usableAddresses(prefix, this.#usable)
    }
    return undefined
  }

  #next(node: string, family: Family): Prefix | undefined {
    for (const { isOpen, cidr, allocator } of this.#parts) {
      if (!isOpen || cidr.address.family !== family) continue
      const outcome = allocator.allocate({ owner: this.#newOwner(node) })
      if (outcome.kind === 'allocated') return outcome.prefix
    }
    return undefined
  }

  #partWith(prefix: Prefix): Part | undefined {
    return this.#parts.find(({ isOpen, cidr }) => isOpen && Prefix.overlaps(cidr, prefix))
  }

  #notReused(cause: string): Problem {
    return { cause, text: `unable to reuse from pool ${this.name}: ${cause}` }
  }

  /** A node holds several prefixes of one length: each is told apart by a number. */
  #newOwner(node: string): Owner {
    return { uid: node, key: this.name, interface: `${this.name}/${this.#given++}` }
  }
}

/** Which addresses of the prefix of a node are not for hosts. */
export function edgesFor({ allowFirstIP = false, allowLastIP = false }): ReserveRule {
  const edges = { first: allowFirstIP ? 0 : 1, last: allowLastIP ? 0 : 1 }
  return { v4: edges, v6: edges, pointToPoint: 'usable' }
}

/** How many addresses of a prefix are for hosts. */
export function usableAddresses(prefix: Prefix, rule: ReserveRule): bigint {
  return Prefix.size(prefix) - RangeSet.size(reservedAddresses([prefix], rule))
}

/** What upstream says of a need that a pool is asked for that there is not. */
export function nonExisting(pool: string): Problem {
  const cause = `cannot allocate from non-existing pool: ${pool}`
  return { cause, text: cause }
}

export function failedFor(node: string, family: Family, pool: string): string {
  return `failed to allocate ipv${family} address for node ${JSON.stringify(node)} from pool ${JSON.stringify(pool)}`
}

function partOf(cidr: Prefix, isOpen: boolean, childLength: number, reserved: RangeSet, held: readonly Held[]): Part {
  const parents = RangeSet.fromPrefixes([cidr])
  const exclude = isOpen ? reserved : parents
  const allocator = new PrefixAllocator({ ranges: parents, exclude, childLength, strategy: { kind: 'next-fit' } })
  for (const { prefix, owner } of held) allocator.occupy(prefix, owner)
  return { cidr, isOpen, allocator }
}

function heldIn(cidr: Prefix, parts: readonly Part[]): Held[] {
  return parts.flatMap(({ allocator }) => heldBy(allocator)).filter(({ prefix }) => Prefix.contains(cidr, prefix))
}

function heldBy(allocator: PrefixAllocator): Held[] {
  return allocator.entries().flatMap(({ prefix, owners }) => owners.map((owner) => ({ prefix, owner })))
}
