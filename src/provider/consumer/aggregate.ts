import type { ConditionUpdate } from '../../claim/conditions.js'
import { dialectOf, type Naming } from './dialects.js'
import type { ClaimCounts, ResolvedClaim } from './resolution.js'

/** All claims of an owner in a few numbers, and what its dialect says of them. */
export interface Aggregate {
  readonly counts: ClaimCounts
  /** For `setCondition`; `undefined` if the dialect has no word for it. */
  readonly condition: ConditionUpdate | undefined
}

/**
 * How the claims of an owner stand as a whole, in the words of its dialect. Claims that are missing
 * count as those that are created now. O(n).
 */
export function aggregate(claims: readonly ResolvedClaim[], naming: Naming): Aggregate {
  const counts = countsOf(claims)
  return { counts, condition: dialectOf(naming).condition({ counts, claims }) }
}

/** How many claims stand where. O(n). */
function countsOf(claims: readonly ResolvedClaim[]): ClaimCounts {
  const counts = { total: claims.length, missing: 0, pending: 0, bound: 0, deleting: 0, conflict: 0, fulfilled: 0 }
  for (const { resolution } of claims) {
    counts[resolution.kind]++
    if (resolution.kind !== 'missing' && resolution.claim.status?.addressRef !== undefined) counts.fulfilled++
  }
  return counts
}
