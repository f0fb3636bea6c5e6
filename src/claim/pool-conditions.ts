import { check } from '../errors/check.js'
import type { ConditionUpdate } from './conditions.js'

/** The facts about a pool from which its conditions are written. */
export interface PoolFacts {
  /** Why the pool gives no address. Left out: it gives addresses. */
  readonly problem?: string | undefined
  readonly isDeleting: boolean
  /** Whether the next claim would get an address. */
  readonly hasRoom: boolean
}

/**
 * The reason of the condition Ready of a pool. True: `Ready`. False: the same reason as that of its
 * claims.
 */
export type PoolReadyReason = 'Ready' | 'PoolNotReady' | 'PoolExhausted'

/**
 * The condition Ready of a pool, the same for every provider: whether the next claim can be served,
 * and why not. It has no counts, so that it changes only with its meaning.
 *
 * @example
 * poolReady({ isDeleting: false, hasRoom: false }).reason // 'PoolExhausted'
 */
export function poolReady(facts: PoolFacts): ConditionUpdate & { readonly reason: PoolReadyReason } {
  check('poolReady', 'facts', facts, 'object')
  const { problem, isDeleting, hasRoom } = facts

  const notReady = (reason: PoolReadyReason, message: string) =>
    ({ type: 'Ready', status: 'False', reason, message }) as const
  if (isDeleting) return notReady('PoolNotReady', 'the pool is being deleted')
  if (problem !== undefined) return notReady('PoolNotReady', problem)
  if (!hasRoom) return notReady('PoolExhausted', 'no address available')
  return { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
}
