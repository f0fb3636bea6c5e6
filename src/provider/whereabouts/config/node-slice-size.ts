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
  const length = parseNodeSliceSize(text)
  if (length === undefined) issues.strict(path, `${quote(text)} is not a prefix length`)
  else {
    for (const { prefix } of ranges) {
      const max = Address.bitsOf(prefix.address.family) - 2
      const problem = length < prefix.length ? 'is larger than' : length > max ? 'has no usable address in' : undefined
      if (problem !== undefined) issues.strict(path, `${quote(text)} ${problem} ${Prefix.format(prefix)}`)
    }
  }
  return text
}
