import type { CallFailure } from '../claims/index.js'
import type { Inventory } from './inventory.js'
import type { Reservation } from './reservations.js'

/**
 * Since when it is not known whether an address was created for an entry; `undefined`: no call for it was sent, or the cloud has said that it did nothing. Only the
 * process that has written an entry knows whether it has sent a call.
 */
export function unknownSince(
  { uid, by, atMs }: Reservation,
  failed: CallFailure | undefined,
  { identity, asked }: { readonly identity: string; readonly asked: ReadonlyMap<string, number> },
): number | undefined {
  if (by !== identity) return atMs
  const askedAtMs = asked.get(uid) ?? Number.NEGATIVE_INFINITY
  // what was asked for an earlier form of the entry is over
  if (askedAtMs < atMs) return undefined
  if (failed === undefined || failed.atMs < askedAtMs) return askedAtMs
  return failed.failure.nothingDone === true ? undefined : failed.atMs
}

/** Whether a list shows what has come of a call: it was asked for when the call was over. */
export function isSettled(
  sinceMs: number | undefined,
  inventory: Inventory | undefined,
  { settleMs }: { readonly settleMs: number },
): boolean {
  return sinceMs !== undefined && inventory !== undefined && inventory.askedAtMs > sinceMs + settleMs
}
