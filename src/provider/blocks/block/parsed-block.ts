import * as Prefix from '../../../cidr/nouns/prefix.js'
import { blockName, isName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock, type IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import { UNIT_PATTERN } from '../../../crd/ipam-kit/names.js'
import { formatRef, type KubeObject, refOf } from '../../../crd/meta/object.js'
import type { ParseResult } from '../../../plan/cached-objects.js'
import { blockSize } from './grid.js'

const UNIT = /* @__PURE__ */ new RegExp(UNIT_PATTERN, 'u')

/** A row of a block, with its units and its end. */
export interface BlockEntry {
  /** Its key in `spec.rows` of the block. */
  readonly key: string
  /** The first unit of the row. */
  readonly unit: number
  /** How many units the row has. */
  readonly count: number
  readonly row: IPBlockRow
  /**
   * Until when the units are not given to another owner, in milliseconds since 1970. Infinity while
   * the owner has them.
   */
  readonly untilMs: number
}

/** An IPBlock, parsed once to be searched. Immutable. */
export class ParsedBlock {
  readonly object: IPBlock
  readonly prefix: Prefix.Prefix
  readonly size: number
  /** The rows, in the order of their units. */
  readonly entries: readonly BlockEntry[]
  /** Why nothing may be given from the block; empty if it can be used. */
  readonly problems: readonly string[]
  /** For each unit the index of its entry plus 1; 0: no entry. */
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
    const entries = Object.entries(object.spec.rows).map(([key, row]) => entryOf(key, row))
    this.entries = entries.sort((left, right) => left.unit - right.unit)
    this.entries.forEach(({ key, unit, count }, index) => {
      if (!UNIT.test(key) || unit + count > this.size) {
        problems.push(`row ${key} is not in the block`)
        return
      }
      const last = unit + count
      if (this.#entryOf.subarray(unit, last).some((other) => other !== 0)) {
        problems.push(`row ${key} overlaps another one`)
      }
      this.#entryOf.fill(index + 1, unit, last)
    })
    if (object.spec.sequence >= Number.MAX_SAFE_INTEGER) problems.push('its sequence cannot grow any more')
    this.problems = problems
  }

  static parse(object: KubeObject): ParseResult<ParsedBlock> {
    const read = IPBlock.safeParse(object)
    if (!read.ok) return { ok: false, problem: read.failure.message }
    const { cidr, domain, allocationPrefixLength } = read.value.spec
    const refuse = (what: string) => ({ ok: false, problem: `${formatRef(refOf(object))}: ${what}` }) as const
    const prefix = Prefix.safeParse(cidr)
    if (!prefix.ok || Prefix.masked(prefix.value) !== prefix.value) return refuse('spec.cidr is not a CIDR')
    // two objects for one range would give its addresses twice
    if (!isName(domain) || blockName(domain, prefix.value) !== object.metadata.name) {
      return refuse(`its name is not that of ${cidr} of domain ${domain}`)
    }
    const size = blockSize({ blockPrefixLength: prefix.value.length, allocationPrefixLength })
    if (!(size >= 1 && size <= 1024)) return refuse(`a block of ${size} units`)
    return { ok: true, value: new ParsedBlock(read.value, prefix.value) }
  }

  /** The same block after a write of this process. O(rows). */
  after(spec: IPBlock['spec']): ParsedBlock {
    return new ParsedBlock({ ...this.object, spec }, this.prefix)
  }

  get name(): string {
    return this.object.metadata.name
  }

  get version(): string | undefined {
    return this.object.metadata.resourceVersion
  }

  /** Whether the block may give units. */
  get isOpen(): boolean {
    return this.problems.length === 0 && this.object.metadata.deletionTimestamp === undefined
  }

  /** The entry that has a unit. */
  at(unit: number): BlockEntry | undefined {
    return this.entries[(this.#entryOf[unit] ?? 0) - 1]
  }
}

/** Whether the key of the row is a unit. If it is not, a problem of the block names the row. */
export function isPlaced({ unit }: BlockEntry): boolean {
  return Number.isInteger(unit)
}

/** Whether the owner has the units now. */
export function isBound({ row }: BlockEntry): boolean {
  return row.state === undefined
}

function entryOf(key: string, row: IPBlockRow): BlockEntry {
  const until = row.until === undefined ? Number.NEGATIVE_INFINITY : Date.parse(row.until)
  return {
    key,
    unit: Number(key),
    count: row.count ?? 1,
    row,
    untilMs: row.state === undefined ? Number.POSITIVE_INFINITY : until,
  }
}
