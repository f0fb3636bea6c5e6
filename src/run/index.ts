/**
 * Carries plans out on a store: `Controller` runs planners for as long as the process lives,
 * `runUntilQuiet` until nothing is left to do, `runTask` for one answer. `LeaderElection` needs
 * only a Lease.
 *
 * @module ipam-kit/run
 */
export type { CanWrite } from './can-write.js'
export { Backoff, type BackoffOptions } from './controller/backoff.js'
export {
  Controller,
  type ControllerLoad,
  type ControllerOptions,
  type ControllerProblem,
  type ControllerResult,
} from './controller/controller.js'
export type { Timers } from './controller/timers.js'
export type { QueueReport } from './controller/work-queue.js'
export { LEASE, LeaderElection, type LeaderElectionOptions, type LeaderTerm } from './leader-election.js'
export { type KeyResult, type RunKeyOptions, runKey } from './plan/run-key.js'
export {
  type AnyCaller,
  type DoneRun,
  type ExternalCaller,
  type RunPlanOptions,
  type RunResult,
  runPlan,
  type StoppedRun,
} from './plan/run-plan.js'
export { type Settlement, type SettleOptions, settle, type Unsettled, UnsettledError } from './plan/settle.js'
export {
  type Progress,
  type QuietResult,
  type RunFailure,
  type RunUntilQuietOptions,
  runUntilQuiet,
} from './run-until-quiet.js'
export { type RunTaskOptions, runTask, type TaskResult } from './task/run-task.js'
export { type TaskCallerOptions, taskCaller } from './task/task-caller.js'
export { type TaskTurn, type TaskTurns, taskTurns } from './task/task-turns.js'
