/**
 * Answers to the reviews that an API server sends to webhooks: conversion between versions, and
 * admission. The HTTP server around them is yours.
 *
 * @module ipam-kit/crd/webhook
 */
export { type AdmissionRequest, answerAdmissionReview, parseAdmissionReview } from './admission-review.js'
export { answerConversionReview } from './conversion-review.js'
