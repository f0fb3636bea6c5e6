export { type RunPlanOptions, type RunResult, runPlan } from './run-plan.js'
export {
  type Progress,
  type QuietResult,
  type RunFailure,
  type RunUntilQuietOptions,
  runUntilQuiet,
} from './run-until-quiet.js'
