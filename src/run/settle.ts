import { type ObjectRef, refOf } from '../crd/meta/object.js'
import { type Failure, IpamError, type Result } from '../errors/index.js'
import type { Change, CreateEffect, Effect } from '../plan/index.js'
import type { Store, StoreErrorCode, StoreFailure } from '../store/index.js'

/** An effect that met a conflict, or of which it is not known whether it was done. */
export interface Unsettled {
  readonly effect: Effect
  readonly failure: StoreFailure
}

/** It is not known what has become of a write: {@link settle} has to tell before anything else is planned. Told from others by `unsettled`. */
export class UnsettledError extends IpamError {
  readonly unsettled: Unsettled

  /** @param failure why it could not be found out */
  constructor(failure: StoreFailure, unsettled: Unsettled) {
    super(failure as Failure)
    this.unsettled = unsettled
  }
}

/** What is stored of the object of an effect. */
export interface Settlement {
  readonly change: Change
  /** Whether it was written to find out. */
  readonly source: 'written' | 'read'
}

export interface SettleOptions {
  /**
   * The server has given the write up by now: it ends what it is asked for within a time that is over (`statement_timeout`, the request time-out
   * of an API server), and nothing else can still have it. A read is an answer then. For where nothing can be created any more: a
   * namespace that is being deleted, a quota, a webhook that says no. Default false.
   */
  readonly isGivenUp?: boolean | undefined
}

/**
 * What has become of the object that an effect is about: to be shown to the planner after a conflict, *before any other plan is made*. Whether
 * the effect was done may not be known, and an address that may have been written must not be offered to another claim.
 *
 * It reads; but a `create` of unknown outcome it does again. For a write whose connection has died may still wait in the server, behind a lock
 * or another server, and be done after the read. An answer to a later write of that name says that there is nothing more to come, **if what
 * was sent first also arrives first**: the engines here do the writes of one object one after the other, but a proxy, a webhook or a connection
 * that is slower than the next one may hold the first write back before it gets there (docs/adr/0012).
 *
 * @returns what is stored, or the failure of the store: then plan nothing, and try this again until it answers
 */
export async function settle(
  store: Store,
  { effect, failure }: Unsettled,
  { isGivenUp = false }: SettleOptions = {},
): Promise<Result<Settlement, StoreErrorCode>> {
  const mayStillCome = effect.kind === 'create' && failure.code === 'STORE_OUTCOME_UNKNOWN' && !isGivenUp
  return mayStillCome ? createToKnow(store, effect) : readBack(store, effect)
}

async function createToKnow(store: Store, effect: CreateEffect): Promise<Result<Settlement, StoreErrorCode>> {
  const created = await store.create(effect.object)
  if (created.ok) {
    return { ok: true, value: { change: { kind: 'present', object: created.value }, source: 'written' } }
  }
  // now there may be two on their way
  if (created.failure.code === 'STORE_OUTCOME_UNKNOWN') return created
  const read = await readBack(store, effect)
  // there was one, whatever has become of it since. Or what is there can not come any more
  const isKnown = created.failure.code === 'STORE_ALREADY_EXISTS' || (read.ok && read.value.change.kind === 'present')
  return isKnown ? read : created
}

async function readBack(store: Store, effect: Effect): Promise<Result<Settlement, StoreErrorCode>> {
  const ref = refOfEffect(effect)
  const found = await store.get(ref)
  if (found.ok) return { ok: true, value: { change: { kind: 'present', object: found.value }, source: 'read' } }
  if (found.failure.code !== 'STORE_NOT_FOUND') return found
  const change = { kind: 'absent', ref, uid: uidOfEffect(effect), confirmed: true } as const
  return { ok: true, value: { change, source: 'read' } }
}

/** The object that an effect is about. */
function refOfEffect(effect: Effect): ObjectRef {
  switch (effect.kind) {
    case 'create':
      return refOf(effect.object)
    case 'event':
      return effect.about
    case 'patch':
    case 'delete':
    case 'absent':
      return effect.ref
  }
}

/** The uid that an effect names, if it names one. */
function uidOfEffect(effect: Effect): string | undefined {
  switch (effect.kind) {
    case 'patch':
    case 'delete':
      return effect.if.uid
    case 'absent':
      return effect.uid
    default:
      return undefined
  }
}
