export { Backoff, type BackoffOptions } from './backoff.js'
export type { CanWrite } from './can-write.js'
export {
  Controller,
  type ControllerLoad,
  type ControllerOptions,
  type ControllerProblem,
  type ControllerResult,
} from './controller.js'
export { LEASE, LeaderElection, type LeaderElectionOptions, type LeaderTerm } from './leader-election.js'
export { type KeyResult, type RunKeyOptions, runKey } from './run-key.js'
export {
  type AnyCaller,
  type DoneRun,
  type ExternalCaller,
  type RunPlanOptions,
  type RunResult,
  runPlan,
  type StoppedRun,
} from './run-plan.js'
export { type RunTaskOptions, runTask, type TaskResult } from './run-task.js'
export {
  type Progress,
  type QuietResult,
  type RunFailure,
  type RunUntilQuietOptions,
  runUntilQuiet,
} from './run-until-quiet.js'
export { type Settlement, type SettleOptions, settle, type Unsettled, UnsettledError } from './settle.js'
export { type TaskCallerOptions, taskCaller } from './task-caller.js'
export { type TaskTurn, type TaskTurns, taskTurns } from './task-turns.js'
export type { Timers } from './timers.js'
export type { QueueReport } from './work-queue.js'
