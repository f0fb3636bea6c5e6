import type { Admission } from 'ipam-kit/crd/meta'
import type { Answers } from './answer.js'

/** What can be asked of an admission. A message is asked for by a part of it. */
export function admissionAnswers(admission: Admission): Answers {
  return {
    accepted: () => admission.allowed,
    warnings: () => (admission.allowed ? admission.warnings : []),
    messageContains: (asked) => {
      if (admission.allowed) return null
      return admission.message.includes(String(asked)) ? asked : admission.message
    },
  }
}
