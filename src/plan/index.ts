export type { CreateEffect, DeleteEffect, Effect, EffectPrecondition, EventEffect, PatchEffect } from './effect.js'
export { explain, explainEffect, type Outcome, type Plan } from './plan.js'
export type { Change, Planner, PlanTime } from './planner.js'
