import type { Prefix } from '../nouns/prefix-core.js'
import type { RangeSet } from './range-set.js'

// Values that a class returns, and that stay part of its inside.

/** A prefix that callers can read, and that stays as it is. */
export function frozenPrefix(prefix: Prefix): Prefix {
  Object.freeze(prefix.address)
  return Object.freeze(prefix)
}

/** A set that callers can read. Its typed arrays cannot be frozen. */
export function frozenSet(set: RangeSet): RangeSet {
  Object.freeze(set.v4)
  Object.freeze(set.v6)
  return Object.freeze(set)
}
