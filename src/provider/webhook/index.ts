/**
 * Answers to all admission and conversion webhooks of this package in one call: `answerReview`.
 *
 * @module ipam-kit/provider/webhook
 */
export { answerReview } from './answer.js'
export type { ReviewReader } from './lookups.js'
export { reviewedKinds } from './rules.js'
