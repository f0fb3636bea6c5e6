import type { RangeSet } from '../../cidr/index.js'
import { Space4 } from './space4.js'
import { Space6 } from './space6.js'

/** The two spaces of a set of ranges. */
export interface Spaces {
  readonly v4: Space4
  readonly v6: Space6
}

export function createSpaces(ranges: RangeSet): Spaces {
  return { v4: new Space4(ranges), v6: new Space6(ranges) }
}
