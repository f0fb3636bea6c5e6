const LARGEST_INT = 2n ** 63n - 1n

/** The largest number of a double below 2^63: where `clampCount` caps the counts of a status. */
const LARGEST_STATUS_COUNT = 2 ** 63 - 1024

/**
 * A count of the library as a case file has it.
 *
 * Upstream counts in a 64-bit int and stops at 2^63 - 1. Ours are exact as bigint, and stop in a
 * status at 2^63 - 1024, the most that a JSON number of JavaScript can say below that. Here both
 * become what `JSON.parse` makes of upstream's number, which rounds to the next double just as
 * `Number` does: below 2^53 nothing is lost.
 */
export function countAsUpstream(count: bigint | number): number {
  if (typeof count === 'number') return count >= LARGEST_STATUS_COUNT ? Number(LARGEST_INT) : count
  return Number(count > LARGEST_INT ? LARGEST_INT : count)
}

/** The same where a file writes a count that no JSON number carries exactly as text. */
export function countOrText(count: bigint): number | string {
  const clamped = count > LARGEST_INT ? LARGEST_INT : count
  return clamped > BigInt(Number.MAX_SAFE_INTEGER) ? String(clamped) : Number(clamped)
}
