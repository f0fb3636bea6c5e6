// What is done with trees of prefixes, beside peers of every language.
import { PrefixTree } from 'ipam-kit/allocator'
import { type Address4, type Prefix, RangeSet } from 'ipam-kit/cidr'
import type { Draws } from './corpora.js'

/** How many /24 a /8 has. */
export const CHILDREN = 65_536

export function treeOf(cidr: string): PrefixTree {
  return new PrefixTree(RangeSet.parse([cidr]))
}

/** Takes the lowest free prefix of a length until there is none. */
export function fillWith(tree: PrefixTree, length: number): Prefix[] {
  const children: Prefix[] = []
  for (let child = tree.nextFree(length); child !== undefined; child = tree.nextFree(length)) {
    tree.take(child)
    children.push(child)
  }
  return children
}

/** Takes a prefix of /20 to /28 where the place that is drawn is empty, or releases the one that is there, again and again. */
export function churnMixed(tree: PrefixTree, held: (Prefix | undefined)[], draws: Draws, operations: number): void {
  for (let operation = 0; operation < operations; operation++) {
    const at = draws.below(held.length)
    const prefix = held[at]
    if (prefix !== undefined) {
      tree.release(prefix)
      held[at] = undefined
      continue
    }
    const free = tree.nextFree(20 + draws.below(9))
    if (free === undefined) continue
    tree.take(free)
    held[at] = free
  }
}

export function startOf({ address }: Prefix): number {
  return (address as Address4).value
}
