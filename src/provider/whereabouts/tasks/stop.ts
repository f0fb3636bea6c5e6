import type { Step } from '../../../plan/index.js'
import type { AddOutcome } from './outcome.js'

/** A step that comes before, or how the ADD ends. */
export type Stop = { readonly outcome: AddOutcome } | { readonly step: Extract<Step, { kind: 'get' | 'write' }> }
