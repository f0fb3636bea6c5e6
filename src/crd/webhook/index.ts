export {
  type AdmissionRequest,
  type AdmissionReview,
  type AdmissionStatus,
  answerAdmissionReview,
  parseAdmissionReview,
} from './admission-review.js'
export { answerConversionReview, type ConversionReview } from './conversion-review.js'
