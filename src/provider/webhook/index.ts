export { answerReview } from './answer.js'
export type { ReviewReader } from './lookups.js'
export { reviewedKinds } from './rules.js'
