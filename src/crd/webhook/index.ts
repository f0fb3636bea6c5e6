/**
 * Answers to the reviews that an API server sends to webhooks: conversion between versions, and
 * admission. The HTTP server around them is yours.
 *
 * @module ipam-kit/crd/webhook
 */

export type { Admission, CrdModel, JsonObject, JsonPatch, KubeObject } from '../meta/index.js'
export {
  type AdmissionRequest,
  type AdmissionReview,
  type AdmissionStatus,
  type AdmissionSubject,
  type AdmissionUser,
  answerAdmissionReview,
  parseAdmissionReview,
} from './admission-review.js'
export { answerConversionReview, type ConversionReview } from './conversion-review.js'
export { mergeAdmissions } from './merge-admissions.js'
