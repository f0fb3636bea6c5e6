import type { LastCall } from '../claims/definition.js'
import type { Inventory } from './inventory.js'
import type { Reservation } from './reservations.js'

/**
 * Since when it is not known whether an address was created for an entry; `undefined`: no call for
 * it was sent, or it was answered by more than that there was no answer. Only the process that has
 * written an entry knows whether it has sent a call.
 */
export function unknownSince(
  { by, atMs }: Reservation,
  call: LastCall<unknown> | undefined,
  identity: string,
): number | undefined {
  if (by !== identity) return atMs
  // what was asked for an earlier form of the entry is over
  if (call === undefined || call.askedAtMs < atMs) return undefined
  const { askedAtMs, answer, answeredAtMs } = call
  if (answer === undefined || answeredAtMs === undefined || answeredAtMs < askedAtMs) return askedAtMs
  return answer.ok || answer.failure.nothingDone === true ? undefined : answeredAtMs
}

/** Whether a list shows what has come of a call: it was asked for when the call was over. */
export function isSettled(
  sinceMs: number | undefined,
  inventory: Inventory | undefined,
  { settleMs }: { readonly settleMs: number },
): boolean {
  return sinceMs !== undefined && inventory !== undefined && inventory.askedAtMs > sinceMs + settleMs
}
