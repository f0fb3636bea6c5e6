import type { AnyResult, Planner } from 'ipam-kit/plan'

/** Passes the result of a call to a planner, as a host does that has carried out its plan. */
export function passResult(planner: Planner, result: AnyResult, sentAtMs = result.atMs): readonly string[] {
  const effects = [{ kind: 'external', call: result.call, why: 'the plan of a test' }] as const
  const end = planner.begin?.({ outcome: { kind: 'asking', message: '' }, effects })
  planner.onSend?.(result.call, { nowMs: sentAtMs })
  const keys = planner.onResult?.(result) ?? []
  return [...keys, ...(end?.() ?? [])]
}
