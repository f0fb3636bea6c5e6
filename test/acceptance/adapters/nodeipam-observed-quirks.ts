import type { Answer, GivenCase } from '../answer.js'
import { nodeipamMulticidrAllocator } from './nodeipam-multicidr-allocator.js'

/** What upstream was seen doing: cases in the form of those of its multi-CIDR range allocator. */
export function nodeipamObservedQuirks(given: GivenCase): Answer | Promise<Answer> {
  return nodeipamMulticidrAllocator(given)
}
