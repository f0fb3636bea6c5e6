import { Address, Prefix } from '../../cidr/index.js'
import { IPBlock, type IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import type { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import type { Change } from '../../plan/index.js'
import { type Span, spansGivenBy } from './naive-space.js'
import type { ObservedWrite } from './simulate.js'

/** What the rules ask of the world. */
export interface BlockWorld {
  readonly now: () => number
  /**
   * Whether what an owner has may be taken from it now: it gives it back, or was not told of it
   * yet.
   */
  readonly mayLose: (uid: string, interfaceName: string | undefined) => boolean
  /** Whether an interface of an owner gives back what it was told that it has. */
  readonly isReturning: (uid: string, interfaceName: string | undefined) => boolean
  /** Every version that a pool ever had. */
  readonly versionsOf: (pool: string) => readonly IPPool[]
}

interface Held {
  readonly row: IPBlockRow
  readonly block: string
  readonly first: bigint
  readonly last: bigint
}

/** A block as it is stored, and where its rows lie. */
export interface SeenBlock {
  readonly block: IPBlock
  readonly rows: readonly Held[]
  readonly family: 4 | 6
  /** The first and the last address of the block. */
  readonly from: bigint
  readonly to: bigint
}

/** For whom there has to be room. */
export interface Seeker {
  readonly family: 4 | 6
  /** Set if the pool gives its blocks to nodes and does not borrow. */
  readonly node?: { readonly name: string; readonly maxBlocks: number; readonly blockPrefixLength: number } | undefined
}

/**
 * What always has to hold of blocks, checked after every write, by ways that are obviously right
 * and share no code with what is checked: a list of all rows, and loops.
 */
export class BlockRules {
  readonly #world: BlockWorld
  readonly #blocks = new Map<string, SeenBlock>()
  /** What versions of pools give: they are immutable. */
  readonly #given = new Map<IPPool, readonly Span[]>()
  /** The highest number ever seen at a place. */
  readonly #sequences = new Map<string, number>()
  /** The owners and numbers of the rows ever seen at a place. */
  readonly #used = new Map<string, Set<string>>()

  constructor(world: BlockWorld) {
    this.#world = world
  }

  /** @returns what is wrong, if anything is */
  observe(change: Change, { isHeldBack }: ObservedWrite): string | undefined {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (!IPBlock.is(ref)) return undefined
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    const before = this.#blocks.get(name)
    if (change.kind === 'absent') {
      this.#blocks.delete(name)
      const left = before?.rows.find(({ row }) => row.state === undefined || this.#isKept(row))
      return left && `${name} went with the row of ${left.row.owner}`
    }
    const now = seen(IPBlock.parse(change.object))
    this.#blocks.set(name, now)
    const problem =
      this.#shape(now) ?? this.#overlaps(now) ?? this.#changes(before, now) ?? this.#numbers(before, now, isHeldBack)
    this.#sequences.set(name, Math.max(now.block.spec.sequence, this.#sequences.get(name) ?? 0))
    return problem
  }

  /** The blocks as they are stored. */
  get blocks(): readonly SeenBlock[] {
    return [...this.#blocks.values()]
  }

  /** The addresses that an interface of an owner has, by what is stored. */
  addressesOf(uid: string, interfaceName: string | undefined): readonly string[] {
    return this.#rowsOf(uid)
      .filter(({ row }) => row.interface === interfaceName)
      .map((each) => this.#text(each))
      .sort()
  }

  /** The blocks in which an owner has something. */
  blocksOf(uid: string): readonly string[] {
    return this.#rowsOf(uid).map(({ block }) => block)
  }

  /** The owners that a block names, whether they have something in it or had. */
  ownersIn(block: string): readonly string[] {
    return this.#blocks.get(block)?.rows.map(({ row }) => row.uid) ?? []
  }

  /** Whether a pool has an address that no owner has or waits for. */
  hasRoom(pool: IPPool, { family, node }: Seeker): boolean {
    const blocks = this.blocks.filter((seen) => seen.block.spec.domain === pool.spec.domain && seen.family === family)
    const held = blocks.flatMap(({ block, rows, from, to }) => {
      // of one that goes nothing is given
      if (block.metadata.deletionTimestamp !== undefined) return [{ first: from, last: to }]
      return rows.filter(({ row }) => row.state === undefined || this.#isKept(row))
    })
    for (const span of spansGivenBy(pool.spec)) {
      if (span.family !== family) continue
      for (let at = span.first; at <= span.last; at++) {
        const closedTo = node && this.#closedTo(at, pool, { family, node })
        // nothing of that block
        if (closedTo !== undefined) at = closedTo
        else if (!held.some((each) => each.first <= at && each.last >= at)) return true
      }
    }
    return false
  }

  /** The last address of the block that one lies in, if the node may have nothing of that. */
  #closedTo(at: bigint, pool: IPPool, { family, node }: Required<Seeker>): bigint | undefined {
    if (node === undefined) return undefined
    const { name, maxBlocks, blockPrefixLength } = node
    const size = 1n << BigInt(Address.bitsOf(family) - blockPrefixLength)
    const last = at - (at % size) + size - 1n
    const ofDomain = [...this.#blocks.values()].filter(
      (seen) => seen.family === family && seen.block.spec.domain === pool.spec.domain,
    )
    const there = ofDomain.find(({ from, to }) => from <= at && to >= at)?.block.spec
    if (there?.node !== undefined) return there.node === name && there.pool === pool.metadata.name ? undefined : last
    const own = ofDomain.filter(({ block: { spec } }) => spec.node === name && spec.pool === pool.metadata.name)
    return own.length < maxBlocks ? undefined : last
  }

  /** What an owner has. */
  #rowsOf(uid: string): readonly Held[] {
    return [...this.#blocks.values()].flatMap(({ rows }) =>
      rows.filter(({ row }) => row.state === undefined && row.uid === uid),
    )
  }

  #shape({ block, rows, from, to }: SeenBlock): string | undefined {
    for (const { row, first, last } of rows) {
      if (first < from || last > to) return `a row of ${row.owner} lies outside of ${block.spec.cidr}`
      if (row.sequence > block.spec.sequence) return `a row of ${row.owner} has a number above that of its block`
    }
    const numbers = new Set(rows.map(({ row }) => row.sequence))
    return numbers.size === rows.length ? undefined : `two rows of ${block.metadata.name} have one number`
  }

  /** No address is in two rows of a domain, whichever blocks they are in. */
  #overlaps(now: SeenBlock): string | undefined {
    for (const other of this.#blocks.values()) {
      if (other.block.spec.domain !== now.block.spec.domain) continue
      // no row lies outside of its block: that was found before
      if (other.from > now.to || other.to < now.from) continue
      for (const right of other.rows) {
        for (const left of now.rows) {
          if (left.row === right.row || (other === now && left.first === right.first)) continue
          if (left.first <= right.last && right.first <= left.last) {
            return `${this.#text(left)} is in two rows: of ${left.row.owner} and of ${right.row.owner}`
          }
        }
      }
    }
    return undefined
  }

  /** What was bound stays, unless its owner gives it back; what is new was to be had. */
  #changes(before: SeenBlock | undefined, { block: now, rows }: SeenBlock): string | undefined {
    const old = before?.rows ?? []
    for (const one of old) {
      const { row } = one
      if (row.state !== undefined) continue
      const isKept = rows.some((each) => isSameGift(one, each) && each.row.sequence >= row.sequence)
      if (!isKept && !this.#world.mayLose(row.uid, row.interface))
        return `${row.owner} lost what it had in ${now.metadata.name}`
      if (!isKept && this.#world.isReturning(row.uid, row.interface) && !this.#rests(one, { block: now, rows }))
        return `${this.#text(one)} does not rest as ${row.pool ?? now.spec.pool} says`
    }
    for (const each of rows) {
      const { row } = each
      if (row.state !== undefined || old.some((other) => other.row.sequence === row.sequence)) continue
      const blocker = old.find(
        (other) => other.first <= each.last && other.last >= each.first && !this.#mayFollow(other, each),
      )
      if (blocker !== undefined) return `${this.#text(each)} was given while it was ${blocker.row.state ?? 'bound'}`
      const pool = row.pool ?? now.spec.pool
      if (!this.#isGiven(pool, each)) return `${this.#text(each)} is none that ${pool} ever gave`
    }
    return undefined
  }

  /**
   * A row that is new has a number above all that were ever used at its place, so that a release
   * that comes late does not find it. A create that was held back has the number of the time of its
   * plan, by which another writer may have made the block and the operator removed it: then its own
   * rows are to have numbers that their owners never had there. What is added to it afterwards is
   * above all again.
   */
  #numbers(before: SeenBlock | undefined, { block, rows }: SeenBlock, isHeldBack: boolean): string | undefined {
    const { name } = block.metadata
    const highest = this.#sequences.get(name) ?? -1
    const isLateCreate = isHeldBack && before === undefined
    const used = this.#used.get(name) ?? new Set<string>()
    this.#used.set(name, used)
    for (const { row } of rows) {
      if (row.state !== undefined || before?.rows.some((other) => other.row.sequence === row.sequence)) continue
      const text = `${row.uid} ${row.sequence}`
      if (isLateCreate ? used.has(text) : row.sequence <= highest)
        return `the number ${row.sequence} was used before in ${name}`
      used.add(text)
    }
    return undefined
  }

  /** Whether what was given back waits for as long, and for whom, as its pool says. */
  #rests({ row, first, last }: Held, { block, rows }: Pick<SeenBlock, 'block' | 'rows'>): boolean {
    const { reuseAfterSeconds = 0, sticky } = this.#world.versionsOf(row.pool ?? block.spec.pool).at(-1)?.spec ?? {}
    const seconds = Math.max(reuseAfterSeconds, sticky?.forSeconds ?? 0)
    if (seconds === 0) return true
    return rows.some(({ row: left, ...place }) => {
      const isThere = place.first === first && place.last === last && left.uid === row.uid
      const waitMs = Date.parse(left.until ?? '') - Date.parse(left.released ?? '')
      const state = sticky === undefined ? 'cooldown' : 'held'
      return isThere && left.state === state && waitMs >= seconds * 1000
    })
  }

  /** Whether something that was given back waits still. */
  #isKept({ state, until }: IPBlockRow): boolean {
    return state !== undefined && Date.parse(until as string) > this.#world.now()
  }

  #mayFollow(before: Held, now: Held): boolean {
    const [old, row] = [before.row, now.row]
    if (old.state === undefined) return isRenewed(before, now)
    if (Date.parse(old.until as string) <= this.#world.now()) return true
    const isOfSame = old.owner === row.owner && old.interface === row.interface
    return old.state === 'held' && (isOfSame || (old.mac !== undefined && old.mac === row.mac))
  }

  #isGiven(pool: string, { first, last, row }: Held): boolean {
    const family = this.#familyOf(first)
    return this.#world
      .versionsOf(pool)
      .some((version) =>
        this.#givenBy(version).some(
          (range) => range.first <= first && range.last >= last && row.uid !== '' && range.family === family,
        ),
      )
  }

  #givenBy(pool: IPPool): readonly Span[] {
    const known = this.#given.get(pool)
    if (known !== undefined) return known
    const given = spansGivenBy(pool.spec)
    this.#given.set(pool, given)
    return given
  }

  #familyOf(address: bigint): 4 | 6 {
    return address < 2n ** 32n ? 4 : 6
  }

  #text({ first }: Held): string {
    return Address.format(Address.fromBigInt(this.#familyOf(first), first))
  }
}

/** Whether two rows give the same to the same. */
function isSameGift(left: Held, right: Held): boolean {
  const isOfSame = left.row.uid === right.row.uid && left.row.interface === right.row.interface
  return isOfSame && left.first === right.first && left.last === right.last && left.row.state === right.row.state
}

/** Whether a row is one before it under a new number: its owner has it in another container. */
function isRenewed(before: Held, now: Held): boolean {
  return isSameGift(before, now) && now.row.sequence > before.row.sequence
}

function seen(block: IPBlock): SeenBlock {
  const prefix = Prefix.parse(block.spec.cidr)
  const { family } = prefix.address
  const shift = BigInt(Address.bitsOf(family) - block.spec.allocationPrefixLength)
  const start = Address.toBigInt(prefix.address)
  const rows = Object.entries(block.spec.rows).map(([unit, row]) => {
    const first = start + (BigInt(unit) << shift)
    return { row, block: block.metadata.name, first, last: first + (BigInt(row.count ?? 1) << shift) - 1n }
  })
  return {
    block,
    rows,
    family,
    from: Address.toBigInt(Prefix.first(prefix)),
    to: Address.toBigInt(Prefix.last(prefix)),
  }
}
