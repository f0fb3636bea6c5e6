import { type Answer, answersOf } from './answers.js'
import type { Entry } from './samples.js'

/** What a page leaves in its document. */
export interface Findings {
  readonly userAgent: string
  /** The globals of Node that it has. */
  readonly ofNode: readonly string[]
  readonly answers: readonly Answer[]
}

/** Writes all answers into the document, as JSON in characters that HTML leaves as they are. */
export function writeAnswers(cidr: Entry): void {
  const place = document.querySelector('pre')!
  try {
    const ofNode = ['process', 'Buffer', 'require', 'module', 'global'].filter((name) => name in globalThis)
    const findings: Findings = { userAgent: navigator.userAgent, ofNode, answers: answersOf(cidr) }
    place.textContent = JSON.stringify(findings).replace(/[^ -~]|[<>&]/g, (unit) => {
      return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
    place.dataset.status = 'done'
  } catch (error) {
    place.dataset.status = `threw ${error}`
  }
}
