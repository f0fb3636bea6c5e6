import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import { PROTECT_POOL_FINALIZER } from '../../crd/cluster-api/names.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { assertParts } from '../../errors/checks.js'
import { addFinalizer, type Outcome, type Plan, removeFinalizer } from '../../plan/index.js'

/** What a plan for a pool came to that has no affairs but its end. */
export type ProtectedPoolOutcome =
  /** The pool serves claims. */
  | (Outcome & { readonly kind: 'ready' })
  /**
   * The pool is being deleted and stays while addresses refer to it, or claims that may have
   * something in the external system.
   */
  | (Outcome & { readonly kind: 'protected'; readonly addresses: number; readonly claims: number })
  /** The pool is being deleted and nothing of it is in use. */
  | (Outcome & { readonly kind: 'unprotected' })

/**
 * A pool stays while something of it is in use: an IPAddress, or a claim that has our finalizer and
 * may have an address in the external system of which no IPAddress was written yet. Without the
 * pool nobody would know where to give that back.
 */
export function protectPool(input: {
  readonly pool: KubeObject
  /** How many IPAddress objects refer to it. */
  readonly addresses: number
  /** How many claims of it have our finalizer. */
  readonly claims: number
}): Plan<ProtectedPoolOutcome> {
  assertParts('protectPool', 'input', input, { pool: 'object', addresses: 'number', claims: 'number' })
  const { pool, addresses, claims } = input

  const isHeld = isProtected(pool)
  if (!isDeleting(pool)) {
    const why = 'the pool must not go before its addresses'
    const outcome: ProtectedPoolOutcome = { kind: 'ready', message: `${addresses} in use` }
    return { outcome, effects: isHeld ? [] : [addFinalizer(pool, PROTECT_POOL_FINALIZER, why)] }
  }
  if (addresses + claims > 0) {
    const message = `kept for ${addresses} addresses and ${claims} claims`
    return { outcome: { kind: 'protected', addresses, claims, message }, effects: [] }
  }
  const why = 'nothing of the pool is in use any more'
  const outcome: ProtectedPoolOutcome = { kind: 'unprotected', message: 'nothing refers to it' }
  return { outcome, effects: isHeld ? [removeFinalizer(pool, PROTECT_POOL_FINALIZER, why)] : [] }
}

/**
 * Whether a change of a pool whose spec is the same can mean nothing to its claims: counts and
 * labels only.
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
 * Whether a pool is there and on its way out: it waits for the end of what is in use of it, and of
 * what is about to be written.
 */
export function isGoing(pool: KubeObject | undefined): boolean {
  return pool !== undefined && isDeleting(pool)
}

/** Whether a pool has the finalizer that keeps it while something of it is in use. */
export function isProtected(pool: KubeObject): boolean {
  return hasFinalizer(pool, PROTECT_POOL_FINALIZER)
}
