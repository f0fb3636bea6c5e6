// What is done with trees of prefixes, beside peers of every language.

import { type Address4, type Prefix, RangeSet } from 'ipam-kit/cidr'
import { PrefixTree } from '../src/allocator/prefixes/prefix-tree.js'
import type { Draws } from './corpora.js'

/** How many /24 a /8 has. */
export const CHILDREN = 65_536

/** A tree that is told the length of its children where all have the same. */
export function treeOf(cidr: string, childLength?: number): PrefixTree {
  return new PrefixTree(RangeSet.parse([cidr]), { childLength })
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

/** What gives prefixes and takes them back. */
export interface Prefixes {
  nextFree(length: number): Prefix | undefined
  take(prefix: Prefix): boolean
  release(prefix: Prefix): boolean
}

/** Takes a prefix of /20 to /28 where the place that is drawn is empty, or releases the one that is there, again and again. */
export function churnMixed(from: Prefixes, held: (Prefix | undefined)[], draws: Draws, operations: number): void {
  for (let operation = 0; operation < operations; operation++) {
    const at = draws.below(held.length)
    const prefix = held[at]
    if (prefix !== undefined) {
      from.release(prefix)
      held[at] = undefined
      continue
    }
    const free = from.nextFree(20 + draws.below(9))
    if (free === undefined) continue
    from.take(free)
    held[at] = free
  }
}

export function startOf({ address }: Prefix): number {
  return (address as Address4).value
}
