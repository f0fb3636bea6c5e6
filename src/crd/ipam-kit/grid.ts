import { type Field, integer, type ObjectOf, object } from '../meta/strict.js'
import { DEFAULT_BLOCK_SIZES, MAX_BLOCK_SIZE } from './names.js'

/**
 * The lengths of blocks and units of one family. A block consists of units. A unit is what a pool
 * allocates: one address, or a prefix.
 */
export interface FamilyGrid extends ObjectOf<ReturnType<typeof gridFields>> {}

/**
 * The lengths that a pool asks for. Default: those of its domain; in a new domain, see
 * `gridOf`.
 */
export type FamilyGridPreferences = { readonly [Length in keyof FamilyGrid]?: FamilyGrid[Length] | undefined }

/**
 * The grid for a new domain, from the preferences of its first pool. Default: a unit is an address,
 * and a block has 256 units, or 64 if blocks are bound to nodes. The result may be invalid: see
 * {@link gridProblem}.
 */
export function gridOf(
  family: 4 | 6,
  preferences: FamilyGridPreferences = {},
  use: keyof typeof DEFAULT_BLOCK_SIZES = 'shared',
): FamilyGrid {
  const { allocationPrefixLength = family === 4 ? 32 : 128 } = preferences
  const unitBits = Math.log2(DEFAULT_BLOCK_SIZES[use])
  const { blockPrefixLength = Math.max(1, allocationPrefixLength - unitBits) } = preferences
  return { blockPrefixLength, allocationPrefixLength }
}

/** The problem of an invalid grid, or `undefined`. */
export function gridProblem(
  family: 4 | 6,
  { blockPrefixLength, allocationPrefixLength }: FamilyGrid,
): string | undefined {
  const bits = family === 4 ? 32 : 128
  for (const [name, value] of Object.entries({ blockPrefixLength, allocationPrefixLength })) {
    if (!Number.isInteger(value) || value < 1 || value > bits) return `${name} is not from 1 to ${bits}`
  }
  if (blockPrefixLength > allocationPrefixLength) return 'a block is smaller than a unit'
  const size = 2 ** (allocationPrefixLength - blockPrefixLength)
  return size > MAX_BLOCK_SIZE ? `a block has ${size} units, more than ${MAX_BLOCK_SIZE}` : undefined
}

/** The fields of a grid. */
export function gridFields(family: 4 | 6) {
  const length = { minimum: 1, maximum: family === 4 ? 32 : 128 }
  const unit = `Prefix length of a unit, which is what the pool allocates: ${length.maximum} for addresses, less for prefixes.`
  return {
    /** Prefix length of a block: at most 1,024 units. */
    blockPrefixLength: integer(`Prefix length of a block. A block has up to ${MAX_BLOCK_SIZE} units.`, length),
    /** Prefix length of a unit: 32 or 128 for addresses, less for prefixes. */
    allocationPrefixLength: integer(unit, length),
  }
}

export function grid(family: 4 | 6, description: string): Field<FamilyGrid> {
  return object(description, gridFields(family))
}
