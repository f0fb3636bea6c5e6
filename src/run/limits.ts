import type { Kind, KindOf } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import type { ObjectCache, Planner, Selection } from '../plan/index.js'

/** A planner; not the function that makes one. */
export const PLANNER: KindOf<Planner> = [
  'open',
  {
    name: 'text',
    watches: ['list', ['open', { apiVersion: 'text', kind: 'text' }]],
    resyncSeconds: 'number?',
    share: 'function?',
    wakes: 'function?',
    observe: 'function',
    complete: 'function?',
    onResult: 'function?',
    plan: 'function',
    refused: 'function?',
    begin: 'function?',
    isAggregate: 'function',
    isServed: 'function?',
    isBegun: 'function?',
    reset: 'function',
  },
]

export const PLANNERS = ['list', PLANNER as Kind] as const

/**
 * @throws IpamError `INVALID_ARGUMENT` for an invalid limit. Infinity is valid: no limit, on
 *   purpose
 */
export function assertLimit(of: string, argument: string, value: unknown, least = 0): void {
  const isBound = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isBound && (value as number) >= least) return
  const expected = `a whole number from ${least}, or Infinity`
  refuse(of, argument, expected, value)
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for planners that a host cannot run: a wrong
 *   `resyncSeconds`, or calls without an {@link ExternalCaller}
 */
export function assertPlanners(of: string, planners: readonly Planner[], external: unknown): void {
  for (const { resyncSeconds } of planners) {
    if (resyncSeconds === undefined || (resyncSeconds >= 1 && resyncSeconds <= 86_400)) continue
    refuse(of, 'resyncSeconds', 'seconds, 1 to 86400', resyncSeconds)
  }
  if (external !== undefined && typeof external !== 'function') {
    refuse(of, 'external', 'a function', typeof external)
  }
  const caller = planners.find((planner) => planner.onResult !== undefined)
  if (caller === undefined || external !== undefined) return
  const expected = `a function: the planner ${caller.name} calls an external system`
  refuse(of, 'external', expected, 'undefined')
}

/** Marks a selection as complete for the planners that do not share a cache. */
export function completeUnshared(planners: readonly Planner[], cache: ObjectCache, selection: Selection): void {
  const key = cache.selectionKey(selection)
  for (const planner of planners) {
    if (planner.share !== undefined) continue
    for (const watched of planner.watches) if (cache.selectionKey(watched) === key) planner.complete?.(watched)
  }
}
