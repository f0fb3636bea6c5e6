import { Address, Prefix, RangeSet } from '../../cidr/index.js'
import { IPBlock, type IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import type { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import { poolSpace } from '../../crd/ipam-kit/space.js'
import type { Change } from '../../plan/index.js'

/** What the rules ask of the world. */
export interface BlockWorld {
  readonly now: () => number
  /** Whether what an owner has may be taken from it now: it gives it back, or was not told of it yet. */
  readonly mayLose: (uid: string) => boolean
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
interface Seen {
  readonly block: IPBlock
  readonly rows: readonly Held[]
  readonly family: 4 | 6
  /** The first and the last address of the block. */
  readonly from: bigint
  readonly to: bigint
}

/** Some addresses of a pool. */
interface Given {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

/**
 * What always has to hold of blocks, checked after every write, by ways that are obviously right and share no code with what is checked: a list of all rows, and
 * loops.
 */
export class BlockRules {
  readonly #world: BlockWorld
  readonly #blocks = new Map<string, Seen>()
  /** What versions of pools give: they are immutable. */
  readonly #given = new Map<IPPool, readonly Given[]>()
  /** The highest number ever seen at a place. */
  readonly #sequences = new Map<string, number>()

  constructor(world: BlockWorld) {
    this.#world = world
  }

  /** @returns what is wrong, if anything is */
  observe(change: Change): string | undefined {
    const ref = change.kind === 'present' ? change.object : change.ref
    if (!IPBlock.is(ref)) return undefined
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    const before = this.#blocks.get(name)
    if (change.kind === 'absent') {
      this.#blocks.delete(name)
      const left = before?.rows.filter(({ row }) => row.state === undefined) ?? []
      return left.length === 0 ? undefined : `${name} went with the row of ${left[0]?.row.owner}`
    }
    const now = seen(IPBlock.parse(change.object))
    this.#blocks.set(name, now)
    const problem = this.#shape(now) ?? this.#overlaps(now) ?? this.#changes(before, now)
    this.#sequences.set(name, Math.max(now.block.spec.sequence, this.#sequences.get(name) ?? 0))
    return problem
  }

  /** The addresses that an owner has, by what is stored. */
  addressesOf(uid: string): readonly string[] {
    return this.#rowsOf(uid)
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

  /** How many units of a pool nobody has or waits for, of one family. Small pools only. */
  freeIn(pool: IPPool, family: 4 | 6, most: bigint): bigint {
    const space = poolSpace(pool.spec)
    if (!space.ok) return 0n
    let free = 0n
    const held = [...this.#blocks.values()]
      .filter(({ block, family: other }) => block.spec.domain === pool.spec.domain && other === family)
      .flatMap(({ rows }) => rows)
      .filter(({ row }) => row.state === undefined || Date.parse(row.until as string) > this.#world.now())
    for (const { first, last } of RangeSet.ranges(space.value.given)) {
      if (first.family !== family) continue
      for (let at = Address.toBigInt(first); at <= Address.toBigInt(last) && free < most; at++) {
        if (!held.some((each) => each.first <= at && each.last >= at)) free++
      }
    }
    return free
  }

  /** What an owner has. */
  #rowsOf(uid: string): readonly Held[] {
    return [...this.#blocks.values()].flatMap(({ rows }) =>
      rows.filter(({ row }) => row.state === undefined && row.uid === uid),
    )
  }

  #shape({ block, rows, from, to }: Seen): string | undefined {
    for (const { row, first, last } of rows) {
      if (first < from || last > to) return `a row of ${row.owner} lies outside of ${block.spec.cidr}`
      if (row.sequence > block.spec.sequence) return `a row of ${row.owner} has a number above that of its block`
    }
    const numbers = new Set(rows.map(({ row }) => row.sequence))
    return numbers.size === rows.length ? undefined : `two rows of ${block.metadata.name} have one number`
  }

  /** No address is in two rows of a domain, whichever blocks they are in. */
  #overlaps(now: Seen): string | undefined {
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
  #changes(before: Seen | undefined, { block: now, rows }: Seen): string | undefined {
    const old = before?.rows ?? []
    for (const { row, first } of old) {
      if (row.state !== undefined) continue
      const same = rows.find((each) => each.row.sequence === row.sequence)
      const isKept =
        same !== undefined && same.first === first && same.row.uid === row.uid && same.row.state === undefined
      if (!isKept && !this.#world.mayLose(row.uid)) return `${row.owner} lost what it had in ${now.metadata.name}`
    }
    const highest = this.#sequences.get(now.metadata.name) ?? -1
    for (const each of rows) {
      const { row } = each
      if (row.state !== undefined || old.some((other) => other.row.sequence === row.sequence)) continue
      if (row.sequence <= highest) return `the number ${row.sequence} was used before in ${now.metadata.name}`
      const blocker = old.find(
        (other) => other.first <= each.last && other.last >= each.first && !this.#mayFollow(other, row),
      )
      if (blocker !== undefined) return `${this.#text(each)} was given while it was ${blocker.row.state ?? 'bound'}`
      const pool = row.pool ?? now.spec.pool
      if (!this.#isGiven(pool, each)) return `${this.#text(each)} is none that ${pool} ever gave`
    }
    return undefined
  }

  #mayFollow({ row: old }: Held, row: IPBlockRow): boolean {
    if (old.state === undefined) return false
    if (Date.parse(old.until as string) <= this.#world.now()) return true
    return old.state === 'held' && (old.owner === row.owner || (old.mac !== undefined && old.mac === row.mac))
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

  #givenBy(pool: IPPool): readonly Given[] {
    const known = this.#given.get(pool)
    if (known !== undefined) return known
    const { spec, status } = pool
    const space = poolSpace({ ...spec, ipv4: status?.ipv4, ipv6: status?.ipv6 })
    const ranges = space.ok ? RangeSet.ranges(space.value.given) : []
    const given = ranges.map(({ first, last }) => {
      return { family: first.family, first: Address.toBigInt(first), last: Address.toBigInt(last) }
    })
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

function seen(block: IPBlock): Seen {
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
