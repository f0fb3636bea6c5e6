import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { check } from '../../../errors/check.js'
import { quote } from '../../../errors/quote.js'
import type { ConfigIssues } from './issues.js'
import type { Members } from './members.js'
import type { WhereaboutsRange } from './types.js'

/**
 * The prefix length of a `node_slice_size`: `/26` or `26`; `undefined` for another text. Upstream
 * makes no slices of such a text, and reports nothing.
 */
export function parseNodeSliceSize(text: string): number | undefined {
  check('parseNodeSliceSize', 'text', text, 'text')

  return /^\/?\d{1,3}$/.test(text) ? Number(text.replace('/', '')) : undefined
}

/** `node_slice_size` as written, with an issue where a range has no slice of this size. */
export function readNodeSliceSize(
  ipam: Members,
  ranges: readonly WhereaboutsRange[],
  issues: ConfigIssues,
): string | undefined {
  const text = ipam.text('node_slice_size')
  if (text === undefined) return undefined
  const path = ipam.path('node_slice_size')
  if (parseNodeSliceSize(text) === undefined) issues.strict(path, `${quote(text)} is not a prefix length`)
  else {
    for (const { prefix } of ranges) {
      const problem = sliceLength(prefix, text)
      if (typeof problem === 'string') issues.strict(path, `${quote(text)} of ${Prefix.format(prefix)}: ${problem}`)
    }
  }
  return text
}

/** The length of slices that an ADD can use; a text: the problem of the size. O(1). */
export function sliceLength(range: Prefix.Prefix, text: string): number | string {
  const length = parseNodeSliceSize(text)
  const bits = Address.bitsOf(range.address.family)
  if (length === undefined) return 'not a prefix length such as /26 or 26'
  if (length < 1 || length > bits) return `not a prefix length from 1 to ${bits}`
  if (length < range.length) return 'a slice would be larger than the range'
  return length > bits - 2 ? 'a slice would have no address between its first and its last one' : length
}
