import { Address, Prefix } from 'ipam-kit/cidr'
import { compareRanges } from 'ipam-kit/provider/node-ipam'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'
import { nodeipamMulticidrAllocator } from './nodeipam-multicidr-allocator.js'

/** What decides between two ranges, without the ranges themselves. */
const itemSchema = z.strictObject({
  name: z.string(),
  cidr: z.string(),
  selector: z.string(),
  matchCount: z.int(),
  perNodeHostBits: z.int(),
})
type Item = z.output<typeof itemSchema>

const inputSchema = z.union([
  z.strictObject({ items: z.array(itemSchema) }),
  z.strictObject({ a: itemSchema, b: itemSchema }),
])

/**
 * The order in which a Node tries ranges: of ranks alone, or of ClusterCIDRs from which a Node gets
 * its subnets.
 */
export function nodeipamPriority(given: GivenCase): Answer | Promise<Answer> {
  const isOfRanks =
    isRecord(given.input) && ['items', 'a', 'b'].some((key) => Object.hasOwn(given.input as object, key))
  if (!isOfRanks) return nodeipamMulticidrAllocator(given)
  const known = readInput(inputSchema, given.input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const items = 'items' in known.data ? known.data.items : [known.data.a, known.data.b]
  const ranked = items.map((item) => ({ item, rank: rankOf(item) }))
  const names = [...ranked].sort((left, right) => compareRanges(left.rank, right.rank)).map(({ item }) => item.name)
  return answerKeys(given.expect, {
    first: () => names[0] ?? null,
    fullOrder: () => names,
    aBeforeB: () => compareRanges(ranked[0]!.rank, ranked[1]!.rank) < 0,
  })
}

function rankOf({ cidr, selector, matchCount, perNodeHostBits }: Item): Parameters<typeof compareRanges>[0] {
  const prefix = Prefix.parse(cidr)
  const capacity = Prefix.subnetCount(prefix, Address.bitsOf(prefix.address.family) - perNodeHostBits)
  return { score: matchCount, capacity, perNodeHostBits, selectorText: selector, prefix }
}
