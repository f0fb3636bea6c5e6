/**
 * Answers to all admission and conversion webhooks of this package in one call: `answerReview`.
 *
 * @module ipam-kit/provider/webhook
 */

export type { KindInfo } from '../../crd/meta/index.js'
export type { AdmissionReview, ConversionReview } from '../../crd/webhook/index.js'
export { answerReview } from './answer.js'
export type { ReviewReader, WatchedObjects } from './lookups.js'
export { type ReviewOptions, reviewedKinds } from './rules.js'
