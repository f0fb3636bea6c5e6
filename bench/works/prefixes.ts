import type { PrefixTree } from 'ipam-kit/allocator'
import { Prefix } from 'ipam-kit/cidr'
import { CHILDREN, churnMixed, fillWith, startOf, treeOf } from '../children.js'
import { Draws } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { SetAndLoop } from '../peers/set-and-loop.js'
import { FIRST } from '../slots.js'

export const prefixWorks: readonly Work[] = [
  {
    name: 'prefix tree: fill a /8 with /24',
    ours: () => {
      const run = () => fillWith(treeOf('10.0.0.0/8'), 24)
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
      const tree = treeOf('10.0.0.0/8')
      const children = fillWith(tree, 24)
      const draws = new Draws(8)
      for (let i = 0; i < 100; ) if (tree.release(children[draws.below(CHILDREN)]!)) i++
      return fillAndDrain(tree, 100)
    },
    peers: { 'all of them': () => fillAndDrain(treeOf('10.0.0.0/8'), CHILDREN) },
  },
  {
    name: 'prefix tree: churn of /20 to /28 in a /8',
    ours: () => churn('10.0.0.0/8', 36_864),
    peers: { 'the same in a /16': () => churn('10.0.0.0/16', 144) },
  },
]

const LAST = FIRST + 2 ** 24 - 1
/** A peer fills only so many. */
const SOME = 1000
const CHURN_OPERATIONS = 16_384

/** Takes what is free, lowest first, and releases it again, in the same order. */
function fillAndDrain(tree: PrefixTree, operations: number): Side {
  const run = () => {
    const children = fillWith(tree, 24)
    for (const child of children) tree.release(child)
    return children.length
  }
  return { run, operations, answer: () => operations - run() }
}

/** Half of the places hold a prefix: together they are about nine tenths of the space. */
function churn(cidr: string, places: number): Side {
  const tree = treeOf(cidr)
  const held: (Prefix | undefined)[] = Array.from({ length: places }, () => undefined)
  const draws = new Draws(9)
  churnMixed(tree, held, draws, places * 4)
  return {
    run: () => churnMixed(tree, held, draws, CHURN_OPERATIONS),
    operations: CHURN_OPERATIONS,
    // every address is free or held
    answer: () => {
      const taken = held.reduce((sum, prefix) => sum + (prefix === undefined ? 0 : 2 ** (32 - prefix.length)), 0)
      return tree.countFree(32) + BigInt(taken) === Prefix.size(Prefix.parse(cidr))
    },
  }
}
