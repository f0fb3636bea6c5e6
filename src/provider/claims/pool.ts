import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import { PROTECT_POOL_FINALIZER } from '../../crd/cluster-api/names.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { addFinalizer, type Outcome, type Plan, removeFinalizer } from '../../plan/index.js'

/** The outcome of a plan for a pool that has only its end to plan. */
export type ProtectedPoolOutcome =
  /** The pool serves claims. */
  | (Outcome & { readonly kind: 'ready' })
  /**
   * The pool is being deleted. It stays while addresses refer to it, or claims that may have
   * something in the external system.
   */
  | (Outcome & { readonly kind: 'protected'; readonly addresses: number; readonly claims: number })
  /** The pool is being deleted, and nothing uses it. */
  | (Outcome & { readonly kind: 'unprotected' })

/**
 * A pool stays while it is in use: by an IPAddress, or by a claim with the finalizer of the
 * provider. Such a claim may have an address in the external system before its IPAddress is
 * written, and without the pool the address could not be released.
 */
export function protectPool(input: {
  readonly pool: KubeObject
  /** How many IPAddress objects refer to it. */
  readonly addresses: number
  /** How many claims of it have our finalizer. */
  readonly claims: number
}): Plan<ProtectedPoolOutcome> {
  check('protectPool', 'input', input, ['open', { pool: 'object', addresses: 'number', claims: 'number' }])
  const { pool, addresses, claims } = input

  const isHeld = isProtected(pool)
  if (!isDeleting(pool)) {
    const why = 'keeps the pool until its addresses are released'
    const outcome: ProtectedPoolOutcome = { kind: 'ready', message: `${addresses} in use` }
    return { outcome, effects: isHeld ? [] : [addFinalizer(pool, PROTECT_POOL_FINALIZER, why)] }
  }
  if (addresses + claims > 0) {
    const message = `kept for ${addresses} addresses and ${claims} claims`
    return { outcome: { kind: 'protected', addresses, claims, message }, effects: [] }
  }
  const why = 'none of its addresses is in use'
  const outcome: ProtectedPoolOutcome = { kind: 'unprotected', message: 'nothing refers to it' }
  return { outcome, effects: isHeld ? [removeFinalizer(pool, PROTECT_POOL_FINALIZER, why)] : [] }
}

/**
 * Whether a change of a pool with the same spec has no effect on its claims: only counts and labels
 * changed.
 */
export function standsAsBefore(before: KubeObject | undefined, now: KubeObject | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  return (
    before.metadata.uid === now.metadata.uid &&
    isDeleting(before) === isDeleting(now) &&
    hasPausedAnnotation(before) === hasPausedAnnotation(now)
  )
}

/**
 * Whether a pool is being deleted: it waits until none of its addresses is in use or about to be
 * written.
 */
export function isGoing(pool: KubeObject | undefined): boolean {
  return pool !== undefined && isDeleting(pool)
}

/** Whether a pool has the finalizer that keeps it while it is in use. */
export function isProtected(pool: KubeObject): boolean {
  return hasFinalizer(pool, PROTECT_POOL_FINALIZER)
}
