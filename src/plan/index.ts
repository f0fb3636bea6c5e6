export { Absences, proofOfAbsence } from './absence.js'
export { byAge, type CachedObjects, type Delta, modelWatch, type TrimmedWatch, type Watch } from './cached-objects.js'
export type { CallSeat } from './call-tasks.js'
export type { Change } from './change.js'
export { definePlanner, type PlannerContext, type PlannerDefinition } from './define-planner.js'
export {
  addFinalizer,
  deleteObject,
  type Effect,
  type EventEffect,
  type ExternalCall,
  eventAbout,
  guard,
  type JsonPatchEffect,
  patchIfFields,
  patchObject,
  patchStatus,
  removeFinalizer,
} from './effect.js'
export { ObjectCache } from './object-cache.js'
export { explain, type Outcome, type Plan } from './plan.js'
export type { CallResult, ExternalFailure, ExternalResult, Planner, PlanTime } from './planner.js'
export type { Selection } from './selection.js'
export type { Step, Task, TaskTime } from './task.js'
