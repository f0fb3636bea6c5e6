import * as z from 'zod'
import { DEFAULT_BLOCK_SIZES, MAX_BLOCK_SIZE } from './names.js'

/**
 * How the space of one family is cut: into blocks, and those into units. A unit is what is given:
 * one address, or a prefix.
 */
export interface FamilyGrid {
  /** The length of blocks: at most 1,024 units. */
  readonly blockPrefixLength: number
  /** The length of what is given: 32 or 128 for addresses, less for prefixes. */
  readonly allocationPrefixLength: number
}

/** A grid as a pool asks for it: what is left out is as its domain has it, or the default. */
export interface FamilyGridPreferences {
  readonly blockPrefixLength?: number | undefined
  readonly allocationPrefixLength?: number | undefined
}

/**
 * The grid that a pool asks for, where its domain has none yet. Left out, a unit is an address, and
 * a block has 256 of them, or 64 where blocks belong to nodes. It may not be a valid one: see
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

/** What is wrong with a grid, if something is. */
export function gridProblem(
  family: 4 | 6,
  { blockPrefixLength, allocationPrefixLength }: FamilyGrid,
): string | undefined {
  const bits = family === 4 ? 32 : 128
  for (const [name, value] of Object.entries({ blockPrefixLength, allocationPrefixLength })) {
    if (!Number.isInteger(value) || value < 1 || value > bits) return `${name} is not from 1 to ${bits}`
  }
  if (blockPrefixLength > allocationPrefixLength) return 'a block is smaller than what is given'
  const size = 2 ** (allocationPrefixLength - blockPrefixLength)
  return size > MAX_BLOCK_SIZE ? `a block has ${size} units, and at most ${MAX_BLOCK_SIZE}` : undefined
}

export const gridSchema: z.ZodType<FamilyGrid> = z.looseObject({
  blockPrefixLength: z.int(),
  allocationPrefixLength: z.int(),
})

export const gridPreferencesSchema: z.ZodType<FamilyGridPreferences> = z.looseObject({
  blockPrefixLength: z.int().optional(),
  allocationPrefixLength: z.int().optional(),
})
