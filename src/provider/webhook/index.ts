export { answerReview } from './answer.js'
export type { ReviewReader } from './lookups.js'
export { type ReviewOptions, reviewedKinds } from './rules.js'
