export { type AdmissionRequest, answerAdmissionReview, parseAdmissionReview } from './admission-review.js'
export { answerConversionReview } from './conversion-review.js'
