import type { LastCall } from '../claims/definition.js'
import type { Inventory } from './inventory.js'
import type { Reservation } from './reservations.js'

/**
 * Since when it is not known whether an address was created for an entry. `undefined`: no call for
 * it was sent, or its answer is known. Only the process that has written an entry knows whether it
 * has sent a call.
 */
export function unknownSince(
  { by, atMs }: Reservation,
  call: LastCall<unknown> | undefined,
  identity: string,
): number | undefined {
  if (by !== identity) return atMs
  // calls for an earlier form of the entry have ended
  if (call === undefined || call.sentAtMs < atMs) return undefined
  const { sentAtMs, answer, answeredAtMs } = call
  if (answer === undefined || answeredAtMs === undefined || answeredAtMs < sentAtMs) return sentAtMs
  return answer.ok || answer.failure.nothingDone === true ? undefined : answeredAtMs
}

/** Whether a list shows the effect of a call: it was requested after the call had ended. */
export function isSettled(
  sinceMs: number | undefined,
  inventory: Inventory | undefined,
  { settleMs }: { readonly settleMs: number },
): boolean {
  return sinceMs !== undefined && inventory !== undefined && inventory.askedAtMs > sinceMs + settleMs
}
