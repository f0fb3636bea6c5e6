/**
 * Answers to all admission and conversion webhooks of this package in one call: `answerReview`.
 *
 * @module ipam-kit/provider/webhook
 */

export type { KindInfo, Model } from '../../crd/meta/index.js'
export type { Admission, AdmissionRequest, AdmissionReview, ConversionReview } from '../../crd/webhook/index.js'
export { answerReview } from './answer.js'
export type { FoundObjects, ReviewLookups, ReviewReader, WatchedObjects } from './lookups.js'
export { type ReviewOptions, type ReviewRule, reviewedKinds } from './rules.js'
