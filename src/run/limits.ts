import { refuse } from '../errors/refuse.js'
import type { Planner } from '../plan/index.js'

/** @throws IpamError `INVALID_ARGUMENT` for what is no bound. Infinity is one: without an end, on purpose */
export function assertLimit(argument: string, value: unknown, least = 0): void {
  const isBound = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isBound && (value as number) >= least) return
  const expected = `a whole number from ${least}, or Infinity`
  refuse(argument, expected, value)
}

/** @throws IpamError `INVALID_ARGUMENT` where nobody could carry out what a planner asks of external systems */
export function assertExternal(planners: readonly Planner[], external: unknown): void {
  if (external !== undefined && typeof external !== 'function') {
    refuse('external', 'a function', typeof external)
  }
  const caller = planners.find((planner) => planner.onResult !== undefined)
  if (caller === undefined || external !== undefined) return
  const expected = `a function: the planner ${caller.name} calls an external system`
  refuse('external', expected, 'undefined')
}
