import * as z from 'zod'
import { DEFAULT_BLOCK_SIZES, MAX_BLOCK_SIZE } from './names.js'

/**
 * The lengths of blocks and units of one family. A block consists of units. A unit is what a pool
 * allocates: one address, or a prefix.
 */
export interface FamilyGrid {
  /** Prefix length of a block: at most 1,024 units. */
  readonly blockPrefixLength: number
  /** Prefix length of a unit: 32 or 128 for addresses, less for prefixes. */
  readonly allocationPrefixLength: number
}

/**
 * The lengths that a pool asks for. Default: those of its domain; in a new domain, see
 * `gridOf`.
 */
export interface FamilyGridPreferences {
  readonly blockPrefixLength?: number | undefined
  readonly allocationPrefixLength?: number | undefined
}

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

export const gridSchema: z.ZodType<FamilyGrid> = z.looseObject({
  blockPrefixLength: z.int(),
  allocationPrefixLength: z.int(),
})

export const gridPreferencesSchema: z.ZodType<FamilyGridPreferences> = z.looseObject({
  blockPrefixLength: z.int().optional(),
  allocationPrefixLength: z.int().optional(),
})
