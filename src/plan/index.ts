/**
 * Plans as data: effects with their preconditions, and the planners that make them.
 * `definePlanner` makes a planner, `explain` writes a plan as text, and `ObjectCache` holds what
 * planners read.
 *
 * @module ipam-kit/plan
 */
export { type AbsenceLook, Absences, proofOfAbsence } from './absence.js'
export {
  type AnyWatch,
  byAge,
  type CachedObjects,
  type Delta,
  modelWatch,
  type NameRef,
  type Parsed,
  type ParseResult,
  type TrimmedWatch,
  type Watch,
} from './cached-objects.js'
export type { CallGroup, CallSeat, CallTasks } from './call-tasks.js'
export type { Change } from './change.js'
export {
  type Cache,
  type DefinedPlanner,
  definePlanner,
  type PlannerContext,
  type PlannerDefinition,
  type Wakes,
  type Watches,
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
  type JsonPatch,
  type JsonPatchEffect,
  type JsonPatchOperation,
  type MergePatch,
  type MergePatchEffect,
  type PatchEffect,
  type Propagation,
  patchIfFields,
  patchObject,
  patchStatus,
  type Refusal,
  removeFinalizer,
} from './effect.js'
export {
  assertFieldGuards,
  compilePatch,
  type FieldGuard,
  failedGuard,
  fieldGuardsOf,
  isJsonPatch,
} from './field-guards.js'
export { type Applied, type ApplyOptions, isOlderVersion, type ListChanges, ObjectCache } from './object-cache.js'
export { explain, explainEffect, type Outcome, type Plan } from './plan.js'
export type { AnyResult, CallResult, ExternalFailure, ExternalResult, Planner, PlanTime } from './planner.js'
export type { Selection, TrimmedObject, WholeObject } from './selection.js'
export type { Step, Task, TaskQuery, TaskRefusal, TaskTime } from './task.js'
