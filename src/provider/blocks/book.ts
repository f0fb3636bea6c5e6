import * as Prefix from '../../cidr/nouns/prefix.js'
import { IPBlock, type IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import { describe } from '../../errors/index.js'
import { blockSize } from './grid.js'

/** A row of a block, where it lies and for how long. */
export interface BlockEntry {
  /** The first unit that it has. */
  readonly unit: number
  /** How many units it has. */
  readonly count: number
  readonly row: IPBlockRow
  /** Until when nobody else may have it, in milliseconds since 1970: Infinity while its owner has it. */
  readonly untilMs: number
}

/** A block as it is searched: an IPBlock, read once. Immutable. */
export class BlockBook {
  readonly object: IPBlock
  readonly prefix: Prefix.Prefix
  readonly size: number
  /** In the order of their units. */
  readonly entries: readonly BlockEntry[]
  /** Why nothing may be given from it; empty if that is possible. */
  readonly problems: readonly string[]
  /** The entry that a unit belongs to, as its index and 1; 0: none. */
  readonly #entryOf: Uint16Array

  private constructor(object: IPBlock, prefix: Prefix.Prefix) {
    const problems: string[] = []
    this.object = object
    this.prefix = prefix
    this.size = blockSize({
      blockPrefixLength: prefix.length,
      allocationPrefixLength: object.spec.allocationPrefixLength,
    })
    this.#entryOf = new Uint16Array(this.size)
    const entries = Object.entries(object.spec.rows).map(([unit, row]) => entryOf(Number(unit), row))
    this.entries = entries.sort((left, right) => left.unit - right.unit)
    this.entries.forEach(({ unit, count }, index) => {
      if (!Number.isInteger(unit) || unit < 0 || unit + count > this.size) {
        problems.push(`row ${unit} is not in the block`)
        return
      }
      for (let at = unit; at < unit + count; at++) {
        if (this.#entryOf[at] !== 0) problems.push(`row ${unit} overlaps another one`)
        this.#entryOf[at] = index + 1
      }
    })
    this.problems = problems
  }

  /** @returns the block; why it can not be read */
  static read(object: KubeObject): BlockBook | string {
    const read = IPBlock.safeParse(object)
    if (!read.ok) return describe(read.failure)
    const { cidr, allocationPrefixLength } = read.value.spec
    const prefix = Prefix.safeParse(cidr)
    if (!prefix.ok || Prefix.masked(prefix.value) !== prefix.value)
      return `${formatRef(refOf(object))}: spec.cidr is not a CIDR`
    const size = blockSize({ blockPrefixLength: prefix.value.length, allocationPrefixLength })
    if (!(size >= 1 && size <= 1024)) return `${formatRef(refOf(object))}: a block of ${size} units`
    return new BlockBook(read.value, prefix.value)
  }

  get name(): string {
    return this.object.metadata.name
  }

  get version(): string | undefined {
    return this.object.metadata.resourceVersion
  }

  /** Whether units may be given at all. */
  get isOpen(): boolean {
    return this.problems.length === 0 && this.object.metadata.deletionTimestamp === undefined
  }

  /** The entry that has a unit. */
  at(unit: number): BlockEntry | undefined {
    return this.entries[(this.#entryOf[unit] ?? 0) - 1]
  }
}

/** Whether the owner has it now. */
export function isBound({ row }: BlockEntry): boolean {
  return row.state === undefined
}

function entryOf(unit: number, row: IPBlockRow): BlockEntry {
  const until = row.until === undefined ? Number.NEGATIVE_INFINITY : Date.parse(row.until)
  return { unit, count: row.count ?? 1, row, untilMs: row.state === undefined ? Number.POSITIVE_INFINITY : until }
}
