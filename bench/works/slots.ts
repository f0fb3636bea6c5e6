import { Bitmap } from 'ipam-kit/allocator'
import { Address, type Address4 } from 'ipam-kit/cidr'
import { RangeTree } from '../../src/allocator/slots/range-tree.js'
import { Draws, once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { SetAndLoop } from '../peers/set-and-loop.js'
import { SortedRanges } from '../peers/sorted-ranges.js'
import {
  churnLowest,
  FIRST,
  fillLowest,
  fromTexts,
  MILLION,
  SLOTS_12,
  SLOTS_64K,
  slotsOf,
  stored,
  storedTexts,
  takenAtRandom,
} from '../slots.js'

const USED = 4000
/** Of a million operations. */
const TENTH = MILLION / 10
/**
 * So many slots have 50,000 and 500 free ranges after long use, if nine of ten are taken and the
 * next free one from a random one on is.
 */
const LARGE_TREE = 634_000
const SMALL_TREE = 6340
const TREE_OPERATIONS = 4096

export const slotWorks: readonly Work[] = [
  {
    name: 'bitmap: allocate and release, 4,000 of 65,536 slots in use',
    ours: () => {
      const bitmap = new Bitmap(SLOTS_64K)
      bitmap.takeRange(0, USED - 1)
      const run = () => {
        const slot = bitmap.nextFree(0)
        bitmap.take(slot)
        bitmap.release(slot)
        return slot
      }
      return { run, operations: 1, answer: run }
    },
    peers: {
      'Set and loop': () => {
        const model = new SetAndLoop(FIRST, FIRST + SLOTS_64K - 1)
        for (let i = 0; i < USED; i++) model.allocate()
        const run = () => {
          const text = model.allocate() as string
          model.release(text)
          return text
        }
        return { run, operations: 1, answer: () => (Address.parse(run()) as Address4).value - FIRST }
      },
    },
  },
  {
    name: 'bitmap: fill 1,000,000 slots',
    ours: () => fillAndDrain(new Bitmap(MILLION)),
    peers: { 'the same with 65,536 slots': () => fillAndDrain(new Bitmap(SLOTS_64K)) },
  },
  ...[SLOTS_64K, MILLION].map((size) => ({
    name: `bitmap: the last 100 free of ${shown(size)} slots`,
    ours: () => fillAndDrain(allBut100(size).fork()),
    peers: { 'all of them': () => fillAndDrain(new Bitmap(size)) },
  })),
  ...[SLOTS_64K, MILLION].map((size) => ({
    name: `bitmap: churn at 90 % of ${shown(size)} slots, operations 900,001 to 1,000,000`,
    ours: () => churn(size, MILLION - TENTH),
    peers: { 'the first 100,000 of them': () => churn(size, 0) },
  })),
  {
    name: 'bitmap: fork of 1,048,576 slots, and one write',
    ours: () => {
      const bitmap = stored().fork()
      const slot = bitmap.nextFree(SLOTS_64K)
      const run = () => {
        const twin = bitmap.fork()
        twin.take(slot)
        return twin
      }
      return { run, operations: 1, answer: () => run().has(slot) && !bitmap.has(slot) }
    },
    peers: {
      'a copy of its words, and one write': () => {
        const words = stored().toWords()
        const slot = stored().nextFree(SLOTS_64K)
        const hasSlot = (words: Int32Array) => (words[slot >>> 5]! & (1 << (slot & 31))) !== 0
        const run = () => {
          const copy = words.slice()
          copy[slot >>> 5]! |= 1 << (slot & 31)
          return copy
        }
        return { run, operations: 1, answer: () => hasSlot(run()) && !hasSlot(words) }
      },
    },
  },
  {
    name: 'bitmap: 1,000,000 addresses in use from Base64',
    ours: () => {
      const text = Bitmap.toBase64(stored())
      const run = () => Bitmap.fromBase64(SLOTS_12, text)
      return { run, operations: 1, answer: () => run().used }
    },
    peers: {
      'JSON.parse of their texts and a Set': () => {
        const text = JSON.stringify(storedTexts())
        const run = () => new Set<string>(JSON.parse(text))
        return { run, operations: 1, answer: () => run().size }
      },
    },
  },
  {
    name: 'bitmap: 1,000,000 addresses in use from texts',
    ours: () => {
      const texts = storedTexts()
      const run = () => fromTexts(texts)
      return { run, operations: 1, answer: () => run().used }
    },
    peers: {
      'a Set of them': () => {
        const texts = storedTexts()
        const run = () => new Set(texts)
        return { run, operations: 1, answer: () => run().size }
      },
    },
  },
  {
    name: 'range tree: fill 1,000,000 slots of 2^52',
    ours: () => fillTree(MILLION),
    peers: { 'the same with 65,536 slots': () => fillTree(SLOTS_64K) },
  },
  {
    name: 'range tree: churn at 90 %, 50,000 free ranges',
    ours: () => churnTree(LARGE_TREE),
    peers: { 'ranges in sorted arrays': () => churnSorted(LARGE_TREE) },
  },
  {
    name: `range tree: churn at 90 % of ${shown(LARGE_TREE)} slots`,
    ours: () => ({ ...churnTree(LARGE_TREE), answer: () => freeShare(LARGE_TREE) }),
    peers: {
      [`the same with ${shown(SMALL_TREE)} slots`]: () => ({
        ...churnTree(SMALL_TREE),
        answer: () => freeShare(SMALL_TREE),
      }),
    },
  },
]

function shown(count: number): string {
  return count.toLocaleString('en')
}

/** Takes what is free, lowest first, and releases it again, in the same order. */
function fillAndDrain(bitmap: Bitmap): Side {
  const slots = new Int32Array(bitmap.size)
  const run = () => {
    const count = fillLowest(bitmap, slots)
    for (let i = 0; i < count; i++) bitmap.release(slots[i]!)
    return count
  }
  return { run, operations: bitmap.size - bitmap.used, answer: () => bitmap.size - bitmap.used - run() }
}

const allBut100 = once((size: number) => takenAtRandom(size, size - 100, new Draws(1)))

/**
 * A tenth of a million operations, after some have been done already. Every run begins at the same
 * state.
 */
function churn(size: number, done: number): Side {
  const before = takenAtRandom(size, size * 0.9, new Draws(2))
  const heldBefore = slotsOf(before)
  churnLowest(before, heldBefore, new Draws(3), done)
  const held = heldBefore.slice()
  const run = () => {
    const bitmap = before.fork()
    held.set(heldBefore)
    churnLowest(bitmap, held, new Draws(4), TENTH)
    return bitmap
  }
  return { run, operations: TENTH, answer: () => run().used }
}

function fillTree(count: number): Side {
  const run = () => {
    const tree = new RangeTree(2 ** 52)
    for (let i = 0; i < count; i++) tree.take(tree.nextFree(0))
    return tree
  }
  return { run, operations: count, answer: () => run().used - count }
}

/** A tree that has been in use for long, and the slots that are taken of it. */
const usedTree = once((size: number) => {
  const bitmap = takenAtRandom(size, size * 0.9, new Draws(5))
  const tree = new RangeTree(size)
  for (const { first, last } of bitmap.usedRanges()) tree.takeRange(first, last)
  const held = slotsOf(bitmap)
  churnRanges(tree, held, new Draws(6), size)
  return { tree, held }
})

function churnTree(size: number): Side {
  const { tree, held } = usedTree(size)
  return churnSide(() => tree.fork(), held)
}

function churnSorted(size: number): Side {
  const { tree, held } = usedTree(size)
  return churnSide(() => new SortedRanges(size, tree.freeRanges()), held)
}

function freeShare(size: number): number {
  return 1 - usedTree(size).tree.used / size
}

/** It goes on from run to run: how much is free stays the same. */
function churnSide(make: () => Ranges, heldBefore: Int32Array): Side {
  const ranges = make()
  const held = heldBefore.slice()
  const draws = new Draws(7)
  return {
    run: () => churnRanges(ranges, held, draws, TREE_OPERATIONS),
    operations: TREE_OPERATIONS,
    answer: () => churnRanges(make(), heldBefore.slice(), new Draws(7), TREE_OPERATIONS),
  }
}

/** What a tree has, and its peer. */
type Ranges = Pick<RangeTree, 'size' | 'take' | 'release' | 'nextFreeAround'>

/**
 * Frees a slot that is held, and takes the next free one from a random one on. Returns the sum of
 * these.
 */
function churnRanges(ranges: Ranges, held: Int32Array, draws: Draws, operations: number): number {
  let sum = 0
  for (let operation = 0; operation < operations; operation++) {
    const at = draws.below(held.length)
    ranges.release(held[at]!)
    const slot = ranges.nextFreeAround(draws.below(ranges.size))
    ranges.take(slot)
    held[at] = slot
    sum += slot
  }
  return sum
}
