import { causeText } from '../../errors/cause.js'
import type { Problem } from './json.js'

/** Why an API server refuses a field: an entry of `details.causes` of a `Status`. */
export interface Cause {
  readonly field: string
  readonly message: string
}

const MAX_CAUSES = 5

/** Several causes as one problem, at the first field that is named: the first five of them. */
export function problemOfCauses(causes: readonly Cause[], otherwise: string): Problem {
  const path = causes.find(({ field }) => hasName(field))?.field ?? 'object'
  const problems = causes
    .filter((cause) => cause.message !== '')
    .map((cause) => (hasName(cause.field) && cause.field !== path ? `${cause.field}: ${cause.message}` : cause.message))
  const words = [...new Set(problems)].slice(0, MAX_CAUSES).join('; ') || otherwise
  return { path: causeText(path), problem: causeText(words) }
}

/** The server has a word for no field. */
function hasName(field: string): boolean {
  return field !== '' && field !== '<nil>'
}
