import { assertObject } from '../errors/checks.js'
import type { ConditionUpdate } from './conditions.js'

/** What is known of a pool when its conditions are written. */
export interface PoolFacts {
  /** Why nothing can be given from it, if nothing can. */
  readonly problem?: string | undefined
  readonly isDeleting: boolean
  /** Whether the next claim would get something. */
  readonly hasRoom: boolean
}

/**
 * The reason of a pool's condition Ready. True: `Ready`. False: the reason that its claims have,
 * too.
 */
export type PoolReadyReason = 'Ready' | 'PoolNotReady' | 'PoolExhausted'

/**
 * The condition Ready of a pool, the same for every provider: whether the next claim can be served,
 * and why not. It says nothing that changes with every address, so that it is written only when it
 * means something else.
 *
 * @example
 * poolReady({ isDeleting: false, hasRoom: false }).reason // 'PoolExhausted'
 */
export function poolReady(facts: PoolFacts): ConditionUpdate & { readonly reason: PoolReadyReason } {
  assertObject('poolReady', 'facts', facts)
  const { problem, isDeleting, hasRoom } = facts

  const notReady = (reason: PoolReadyReason, message: string) =>
    ({ type: 'Ready', status: 'False', reason, message }) as const
  if (isDeleting) return notReady('PoolNotReady', 'the pool is being deleted')
  if (problem !== undefined) return notReady('PoolNotReady', problem)
  if (!hasRoom) return notReady('PoolExhausted', 'no address available')
  return { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
}
