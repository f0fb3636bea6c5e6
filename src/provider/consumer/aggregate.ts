import type { ConditionUpdate } from '../../claim/conditions.js'
import { dialectOf, type Naming } from './dialects.js'
import type { ClaimCounts, ResolvedClaim } from './resolution.js'

/** The claims of an owner as counts, with the condition of the dialect. */
export interface Aggregate {
  readonly counts: ClaimCounts
  /** For `setCondition`; `undefined` if the dialect has no condition for it. */
  readonly condition: ConditionUpdate | undefined
}

/**
 * Aggregates the claims of an owner to counts and a condition. Missing claims count as those that
 * are being created. O(n).
 */
export function aggregate(claims: readonly ResolvedClaim[], naming: Naming): Aggregate {
  const counts = countsOf(claims)
  return { counts, condition: dialectOf(naming).condition({ counts, claims }) }
}

/** The number of claims in each state. O(n). */
function countsOf(claims: readonly ResolvedClaim[]): ClaimCounts {
  const counts = { total: claims.length, missing: 0, pending: 0, bound: 0, deleting: 0, conflict: 0, fulfilled: 0 }
  for (const { resolution } of claims) {
    counts[resolution.kind]++
    if (resolution.kind !== 'missing' && resolution.claim.status?.addressRef !== undefined) counts.fulfilled++
  }
  return counts
}
