import { formatRef } from '../crd/meta/object.js'
import { STORE_WRITE_WITHHELD } from '../errors/definitions.js'
import { failure } from '../errors/failure.js'
import { refuse } from '../errors/refuse.js'
import type { Effect } from '../plan/index.js'
import type { StoreFailure } from '../store/index.js'
import { refOfEffect } from './plan/effect-ref.js'

/**
 * Whether a write may be sent now. It is called directly before every write and every external
 * call. If it returns false, that write fails with `STORE_WRITE_WITHHELD`. A leader passes
 * `canWrite` of its `LeaderTerm`. It must be fast and must not throw, and after false it must never
 * return true again.
 */
export type CanWrite = () => boolean

/** Why an effect is not sent. `undefined`: it may be sent. */
export function withheld(effect: Effect, canWrite: CanWrite | undefined): StoreFailure | undefined {
  if (canWrite === undefined || canWrite()) return undefined
  return failure(STORE_WRITE_WITHHELD, { operation: effect.kind, object: formatRef(refOfEffect(effect)) })
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertCanWrite(of: string, canWrite: unknown): void {
  if (canWrite !== undefined && typeof canWrite !== 'function') refuse(of, 'canWrite', 'a function', typeof canWrite)
}
