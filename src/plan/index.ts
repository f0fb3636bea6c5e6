/**
 * Plans as data: effects with their preconditions, and the planners that make them.
 * `definePlanner` makes a planner, `explain` writes a plan as text, and `ObjectCache` holds what
 * planners read.
 *
 * @module ipam-kit/plan
 */

export type { Json, JsonPatch, KubeObject, MergePatch, Model, ObjectRef } from '../crd/meta/index.js'
export type { NameRef } from '../crd/meta/object.js'
export { type AbsenceLook, Absences, proofOfAbsence } from './absence.js'
export {
  type AnyWatch,
  byAge,
  type CachedObjects,
  type Delta,
  modelWatch,
  type Parsed,
  type ParseResult,
  type ReadAs,
  type TrimmedWatch,
  type Watch,
} from './cached-objects.js'
export type { CallGroup, CallSeat, CallTasks } from './call-tasks.js'
export { Calls, type CallValue, type Drop, type GroupedCall, type KnownCall, type LastResult } from './calls.js'
export type { Change } from './change.js'
export {
  type Cache as PlannerCache,
  type DefinedPlanner,
  type DeltaOf as PlannerDelta,
  definePlanner,
  type Holds as PlannerHolds,
  type ObjectsOf as PlannerObjects,
  type ParsedOf as PlannerEntry,
  type PlannerContext,
  type PlannerDefinition,
  type Wakes as PlannerWakes,
  type Watches as PlannerWatches,
} from './define-planner.js'
export {
  type AbsentEffect,
  type AnyCall,
  addFinalizer,
  type CreateEffect,
  type DeleteEffect,
  deleteObject,
  type Effect,
  type EffectPrecondition,
  type EventEffect,
  type ExternalCall,
  type ExternalEffect,
  eventAbout,
  type FieldPrecondition,
  guard,
  type JsonPatchEffect,
  type MergePatchEffect,
  type PatchEffect,
  type PatchOf,
  patchIfFields,
  patchObject,
  patchStatus,
  type Refusal,
  removeFinalizer,
} from './effect.js'
export type { Extent, Holder, Holding, Holdings, Moved, PoolUsage } from './holdings.js'
export {
  type Applied as AppliedChange,
  type ApplyOptions,
  type ListChanges,
  ObjectCache,
  type WentBack,
} from './object-cache.js'
export { explain, type Outcome, type Plan } from './plan.js'
export type {
  AnyResult,
  CallResult,
  ExternalFailure,
  ExternalResult,
  Planner,
  PlanTime,
} from './planner.js'
export type { Selection, TrimmedObject, WholeObject } from './selection.js'
export type { EventCause, SentEvents } from './sent-events.js'
export type { Step, Task, TaskQuery, TaskTime } from './task.js'
