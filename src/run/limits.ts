import { refuse } from '../errors/refuse.js'
import type { Planner } from '../plan/index.js'

/** @throws IpamError `INVALID_ARGUMENT` for what is no bound. Infinity is one: without an end, on purpose */
export function assertLimit(argument: string, value: unknown, least = 0): void {
  const isBound = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isBound && (value as number) >= least) return
  const expected = `a whole number from ${least}, or Infinity`
  refuse(argument, expected, value)
}

/** @throws IpamError `INVALID_ARGUMENT` where nobody could carry out what a planner asks of outside systems */
export function assertOutside(planners: readonly Planner[], outside: unknown): void {
  if (outside !== undefined && typeof outside !== 'function') {
    refuse('outside', 'a function', typeof outside)
  }
  const caller = planners.find((planner) => planner.hear !== undefined)
  if (caller === undefined || outside !== undefined) return
  const expected = `a function: the planner ${caller.name} calls an outside system`
  refuse('outside', expected, 'undefined')
}
