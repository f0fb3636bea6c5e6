import type { Dice } from '../../../src/testing/index.js'

/** Any JSON, with that many levels at most. */
export function randomValue(dice: Dice, depth: number): unknown {
  const kinds = depth > 0 ? 7 : 4
  switch (dice.below(kinds)) {
    case 0:
      return null
    case 1:
      return dice.pick([0, 1, -1.5, 7e9])
    case 2:
      return dice.pick(['', 'x', 'ü ✓', '\u2028'])
    case 3:
      return dice.chance(0.5)
    case 4:
      return Array.from({ length: dice.below(4) }, () => randomValue(dice, depth - 1))
    default:
      return randomFields(dice, depth - 1)
  }
}

/** A spec or a status. */
export function randomFields(dice: Dice, depth = 1): { [key: string]: unknown } {
  const keys = ['x', 'y', 'list', 'z'].filter(() => dice.chance(0.5))
  const fields = Object.fromEntries(keys.map((key) => [key, randomValue(dice, depth)]))
  return dice.chance(0.2) ? { ...fields, color: dice.pick(['red', 'blue']) } : fields
}
