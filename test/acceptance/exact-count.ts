/** A count as it is: as text, as the case files have it, where no JSON number carries it. */
export function exactCount(count: bigint): number | string {
  return count > BigInt(Number.MAX_SAFE_INTEGER) ? String(count) : Number(count)
}
