import type { CallFailure } from '../claims/index.js'
import type { Inventory } from './inventory.js'
import type { Reservation } from './reservations.js'

/**
 * Since when it is not known whether an address was created for an entry; `undefined`: no call for it was sent, or the cloud has said that it did nothing. Only the
 * process that has written an entry knows whether it has sent a call.
 */
export function unknownSince(
  { by, atMs }: Reservation,
  failed: CallFailure | undefined,
  identity: string,
): number | undefined {
  if (by !== identity) return atMs
  if (failed === undefined || failed.failure.nothingDone === true || failed.atMs < atMs) return undefined
  return failed.atMs
}

/** Whether a list shows what has come of a call: it was asked for when the call was over. */
export function isSettled(
  sinceMs: number | undefined,
  inventory: Inventory | undefined,
  { settleMs }: { readonly settleMs: number },
): boolean {
  return sinceMs !== undefined && inventory !== undefined && inventory.askedAtMs > sinceMs + settleMs
}
