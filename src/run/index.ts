/**
 * Carries plans out on a store: `Controller` runs planners for as long as the process lives,
 * `runUntilQuiet` until nothing is left to do, `runTask` for one answer. `LeaderElection` needs
 * only a Lease, `EventRecorder` writes Events, and `ProblemLog` logs problems without a flood.
 *
 * @module ipam-kit/run
 */

export type { KindInfo, KubeObject } from '../crd/meta/index.js'
export type { ErrorContexts, IpamError, MalformedText, Result } from '../errors/index.js'
export type { CachedObjects, EventEffect, Outcome, Plan, Planner, Task, Watch } from '../plan/index.js'
export type { Store, StoreErrorCode, StoreFailure } from '../store/index.js'
export type { CanWrite } from './can-write.js'
export { Backoff, type BackoffOptions } from './controller/backoff.js'
export {
  Controller,
  type ControllerLoad,
  type ControllerOptions,
  type ControllerProblem,
  type ControllerResult,
} from './controller/controller.js'
export { ProblemLog, type ProblemLogOptions } from './controller/problem-log.js'
export type { Timers } from './controller/timers.js'
export type { QueueReport } from './controller/work-queue.js'
export { EVENT, EventRecorder, type EventRecorderOptions } from './events/event-recorder.js'
export { LEASE, LeaderElection, type LeaderElectionOptions, type LeaderTerm } from './leader-election.js'
export { type KeyEnd, type KeyResult, type RunKeyOptions, runKey } from './plan/run-key.js'
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
export { type LockHolder, type ObjectLocks, objectLocks } from './task/object-locks.js'
export { type RunTaskOptions, runTask, type TaskResult } from './task/run-task.js'
export { type TaskCallerOptions, taskCaller } from './task/task-caller.js'
