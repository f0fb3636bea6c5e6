/**
 * Carries plans out on a store: `Controller` runs planners for as long as the process lives,
 * `runUntilQuiet` until nothing is left to do, `runTask` for one answer. `LeaderElection` needs
 * only a Lease, `EventRecorder` writes Events, and `ProblemLog` logs problems without a flood.
 *
 * @module ipam-kit/run
 */
export { Backoff } from './controller/backoff.js'
export {
  Controller,
  type ControllerOptions,
  type ControllerProblem,
  type ControllerResult,
} from './controller/controller.js'
export { ProblemLog } from './controller/problem-log.js'
export type { Timers } from './controller/timers.js'
export { EVENT, EventRecorder } from './events/event-recorder.js'
export { LEASE, LeaderElection, type LeaderTerm } from './leader-election.js'
export { runKey } from './plan/run-key.js'
export { type ExternalCaller, runPlan } from './plan/run-plan.js'
export { settle, UnsettledError } from './plan/settle.js'
export { type Progress, type RunFailure, runUntilQuiet } from './run-until-quiet.js'
export { objectLocks } from './task/object-locks.js'
export { type RunTaskOptions, runTask } from './task/run-task.js'
export { taskCaller } from './task/task-caller.js'
