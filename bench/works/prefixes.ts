import type { PrefixTree } from 'ipam-kit/allocator'
import { Address, Prefix } from 'ipam-kit/cidr'
import { CHILDREN, churnMixed, fillWith, type Prefixes, startOf, treeOf } from '../children.js'
import { Draws } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { SetAndLoop } from '../peers/set-and-loop.js'
import { SortedPrefixes } from '../peers/sorted-prefixes.js'
import { FIRST } from '../slots.js'

export const prefixWorks: readonly Work[] = [
  {
    name: 'prefix tree: fill a /8 with /24',
    ours: () => {
      const run = () => fillWith(treeOf('10.0.0.0/8', 24), 24)
      return { run, operations: CHILDREN, answer: () => startOf(run()[SOME - 1]!) }
    },
    peers: {
      'Set and loop, the first 1,000 of them': () => {
        const run = () => {
          const model = new SetAndLoop(FIRST, LAST, { step: 256, suffix: '/24' })
          let text: string | undefined
          for (let i = 0; i < SOME; i++) text = model.allocate()
          return text as string
        }
        return { run, operations: SOME, answer: () => startOf(Prefix.parse(run())) }
      },
    },
  },
  {
    name: 'prefix tree: the last 100 free /24 of a /8',
    ours: () => {
      const tree = treeOf('10.0.0.0/8', 24)
      const children = fillWith(tree, 24)
      const draws = new Draws(8)
      for (let i = 0; i < 100; ) if (tree.release(children[draws.below(CHILDREN)]!)) i++
      return fillAndDrain(tree, 100)
    },
    peers: { 'all of them': () => fillAndDrain(treeOf('10.0.0.0/8', 24), CHILDREN) },
  },
  {
    name: 'prefix tree: churn of /20 to /28 in a /8',
    ours: () => churn('10.0.0.0/8', PLACES),
    peers: { 'the same in a /16': () => churn('10.0.0.0/16', 144) },
  },
  {
    name: 'prefix tree: churn of /20 to /28 in a /8, lowest first',
    ours: () => {
      const tree = treeOf('10.0.0.0/8')
      return churnBeside(tree, () => Number(tree.countFree(32)))
    },
    peers: {
      'free ranges in sorted arrays': () => {
        const ranges = new SortedPrefixes(FIRST, LAST)
        return churnBeside(ranges, () => ranges.free)
      },
    },
  },
  {
    name: 'prefix tree: a /24 of a /8 behind 32,768 free /25',
    ours: () => lastOf(treeOf('10.0.0.0/8')),
    peers: { 'free ranges in sorted arrays': () => lastOf(new SortedPrefixes(FIRST, LAST)) },
  },
]

const LAST = FIRST + 2 ** 24 - 1
/** A peer fills only so many. */
const SOME = 1000
const CHURN_OPERATIONS = 16_384
/** Of which half hold a prefix. */
const PLACES = 36_864

type Held = (Prefix | undefined)[]

/** Takes what is free, lowest first, and releases it again, in the same order. */
function fillAndDrain(tree: PrefixTree, operations: number): Side {
  const run = () => {
    const children = fillWith(tree, 24)
    for (const child of children) tree.release(child)
    return children.length
  }
  return { run, operations, answer: () => operations - run() }
}

/** In the lower half every second /25 is taken: a /24 comes behind. */
function lastOf(from: Prefixes): Side {
  for (let child = 0; child < CHILDREN / 2; child++) {
    from.take(Prefix.of(Address.from4(FIRST + child * 256), 25))
  }
  const run = () => {
    const child = from.nextFree(24)!
    from.take(child)
    from.release(child)
    return child
  }
  return { run, operations: 1, answer: run }
}

/** Half of the places hold a prefix: together they are about nine tenths of the space. */
function churn(cidr: string, places: number): Side {
  const tree = treeOf(cidr)
  const { side, held } = churnOf(tree, places)
  const taken = () => held.reduce((sum, prefix) => sum + (prefix === undefined ? 0 : 2 ** (32 - prefix.length)), 0)
  // every address is free or held
  return { ...side, answer: () => tree.countFree(32) + BigInt(taken()) === Prefix.size(Prefix.parse(cidr)) }
}

/**
 * The same for what is to give the same prefixes: the answer is where they begin, and how many
 * addresses are free.
 */
function churnBeside(from: Prefixes, free: () => number): Side {
  const { side, held } = churnOf(from, PLACES)
  const starts = () => held.reduce((sum, prefix) => sum + (prefix === undefined ? 0 : startOf(prefix)), 0)
  return { ...side, answer: () => [starts(), free()] }
}

function churnOf(from: Prefixes, places: number): { readonly side: Omit<Side, 'answer'>; readonly held: Held } {
  const held: Held = Array.from({ length: places }, () => undefined)
  const draws = new Draws(9)
  churnMixed(from, held, draws, places * 4)
  const run = () => churnMixed(from, held, draws, CHURN_OPERATIONS)
  return { side: { run, operations: CHURN_OPERATIONS }, held }
}
