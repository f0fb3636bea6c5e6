import * as Prefix from '../../../cidr/nouns/prefix.js'
import type * as RangeSet from '../../../cidr/nouns/range-set.js'
import { listed } from '../../../errors/listed.js'
import type { Effect } from '../../../plan/index.js'
import { addressOfUnit, type Grid } from '../block/grid.js'
import type { BlockEntry, ParsedBlock } from '../block/parsed-block.js'
import { entriesAt, firstSequence, giveUnits, makeBlock, type NewRow, nextSequence } from '../block/rows.js'
import { stickyKeys } from '../block/sticky-keys.js'
import type { PoolView } from '../pool/pool-view.js'
import type { KnownBlocks } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import type { AllocationRequest, TaskRequest } from './request.js'

type Family = 4 | 6

export interface ChoiceInput {
  readonly request: TaskRequest
  readonly family: Family
  /** The known pools of the request, in its order. */
  readonly pools: readonly PoolView[]
  /** Why the other pools cannot be used. */
  readonly problems: readonly string[]
  readonly known: KnownBlocks
  /** A block with an unconfirmed write for its version: it is used first. */
  readonly unconfirmed: ParsedBlock | undefined
  /** Blocks that an unconfirmed write may still create: they are used before others. */
  readonly left: (domain: string) => readonly Prefix.Prefix[]
  /**
   * The block that other tasks of the group are about to write: a row there needs no write of its
   * own.
   */
  readonly beside: Prefix.Prefix | undefined
  /** Blocks in which other writers were faster: they are used last. */
  readonly contended: RangeSet.RangeSet
  /** Blocks in which the store takes no row. */
  readonly refused: RangeSet.RangeSet
  readonly nowMs: number
  /** Whether the task waits for a block that another task of this process writes. */
  readonly usesLocks: boolean
}

/**
 * Where to write a row of one family, what to read before that, or why there is no place for it.
 */
export type BlockChoice =
  | { readonly kind: 'read'; readonly block: string }
  | {
      readonly kind: 'write'
      readonly effect: Effect & { readonly why: string }
      readonly block: string
      readonly prefix: Prefix.Prefix
      /** The version of the block that it requires; `undefined`: there is no such block. */
      readonly version: string | undefined
      /** The number of the row. */
      readonly sequence: number
      /** The kept rows of earlier owners that the row replaces. */
      readonly replaced: readonly BlockEntry[]
    }
  | { readonly kind: 'fails'; readonly outcome: AllocationOutcome }

/** A pool, and what the request wants of it. */
export interface Wanted {
  readonly pool: PoolView
  readonly grid: Grid
  readonly size: Size
}

/** How many units a request wants, and how they have to be aligned. */
export interface Size {
  readonly count: number
  readonly isAligned: boolean
}

export function make(
  {
    pool,
    grid,
    prefix,
    name,
    unit,
    size,
    isAnywhere = false,
  }: {
    readonly pool: PoolView
    readonly grid: Grid
    readonly prefix: Prefix.Prefix
    readonly name: string
    readonly unit: number
    readonly size: Size
    /** Whether the address may lie outside the space of the pool. */
    readonly isAnywhere?: boolean
  },
  input: ChoiceInput,
  why: string,
): BlockChoice {
  const { request, family, nowMs } = input
  const { domain } = pool.object.spec
  // a block outside the space of the pool is never bound to a node
  const node = !isAnywhere && mayBind(pool, family, input) ? request.node?.name : undefined
  const { allocationPrefixLength } = grid
  const spec = { domain, allocationPrefixLength, pool: pool.name, node }
  const effect = makeBlock({ name, prefix, unit, row: rowOf(request, size) }, spec, { nowMs, why })
  return {
    kind: 'write',
    effect,
    block: name,
    prefix,
    version: undefined,
    sequence: firstSequence(nowMs),
    replaced: [],
  }
}

export function give(
  {
    pool,
    parsed,
    unit,
    size,
  }: { readonly pool: PoolView; readonly parsed: ParsedBlock; readonly unit: number; readonly size: Size },
  { request, nowMs }: ChoiceInput,
  why: string,
): BlockChoice {
  const row = rowOf(request, size)
  const ofPool = parsed.object.spec.pool === pool.name ? row : { ...row, pool: pool.name }
  const effect = giveUnits(parsed, unit, ofPool, { nowMs, why })
  const { name, prefix, version, object } = parsed
  const replaced = entriesAt(parsed, unit, size.count)
  return { kind: 'write', effect, block: name, prefix, version, sequence: nextSequence(object, nowMs), replaced }
}

function rowOf({ owner, interface: name, container, mac }: AllocationRequest, { count }: Size): NewRow {
  const { uid, kind } = owner
  const isPod = kind === undefined || kind === 'Pod'
  return {
    owner: owner.name,
    uid,
    kind: isPod ? undefined : kind,
    interface: name,
    container,
    mac: mac?.toLowerCase(),
    count: count === 1 ? undefined : count,
  }
}

export function fails(outcome: AllocationOutcome): BlockChoice {
  return { kind: 'fails', outcome }
}

export function namesOf(pools: readonly Wanted[]): string {
  return listed(pools, ', ', ({ pool }) => pool.name)
}

export function isOfGrid({ object, prefix }: ParsedBlock, grid: Grid): boolean {
  const { blockPrefixLength, allocationPrefixLength } = grid
  return prefix.length === blockPrefixLength && object.spec.allocationPrefixLength === allocationPrefixLength
}

/** The keys under which a pool keeps rows for the owner of a request. */
export function keysOf(pool: PoolView, { owner, mac, interface: name }: AllocationRequest): readonly string[] {
  const { sticky } = pool.object.spec
  if (sticky === undefined) return []
  const [byOwner] = stickyKeys({ owner: owner.name, kind: owner.kind, interface: name })
  if (sticky.by === 'owner') return [byOwner as string]
  return mac === undefined ? [] : [`mac ${mac.toLowerCase()}`]
}

/** Whether a unit of a block without a row is held all the same. */
export function heldIn(
  prefix: Prefix.Prefix,
  { allocationPrefixLength }: Grid,
  { heldBy }: AllocationRequest,
): ((unit: number) => boolean) | undefined {
  if (heldBy === undefined) return undefined
  const prefixOf = (unit: number) =>
    Prefix.of(addressOfUnit(prefix, allocationPrefixLength, unit), allocationPrefixLength)
  return (unit) => heldBy(prefixOf(unit)) !== undefined
}

/** Whether the node of a request may get another block of a pool, as far as known. */
export function mayBind({ name, object }: PoolView, family: Family, { known, request }: ChoiceInput): boolean {
  const { affinity } = object.spec
  if (affinity === undefined || request.node === undefined) return false
  const own = known
    .blocksOfNode(request.node.name)
    .filter((parsed) => parsed.object.spec.pool === name && parsed.prefix.address.family === family)
  return own.length < (affinity.maxBlocksPerNode ?? Number.POSITIVE_INFINITY)
}

/** The holder of one of some units that have no row; `undefined`: none is held. */
export function holderBeside(
  {
    prefix,
    grid,
    unit,
    size,
  }: { readonly prefix: Prefix.Prefix; readonly grid: Grid; readonly unit: number; readonly size: Size },
  { heldBy }: AllocationRequest,
): string | undefined {
  const { allocationPrefixLength: length } = grid
  for (let at = unit; heldBy !== undefined && at < unit + size.count; at++) {
    const by = heldBy(Prefix.of(addressOfUnit(prefix, length, at), length))
    if (by !== undefined) return by
  }
  return undefined
}
