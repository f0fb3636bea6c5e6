// Our side of the comparisons with allocators and bitmaps of other languages: the public API, as a caller has it.
import { AddressPool, Bitmap } from 'ipam-kit/allocator'
import { Address, type Address4, Prefix, RangeSet } from 'ipam-kit/cidr'
import { CHILDREN, startOf, treeOf } from './children.js'
import { serveClaims } from './claims.js'
import { Draws } from './corpora.js'
import type { Side } from './harness.js'
import * as slots from './slots.js'

const { FIRST, MILLION, SLOTS_12, SLOTS_64K } = slots

/** As in `ours`. */
export const oursOfAllocators = {
  'fill 65,536 slots, next free': () => fillNext(SLOTS_64K),
  'fill 1,000,000 slots, next free': () => fillNext(MILLION),
  'the last free of 65,536 slots': () => lastFree(SLOTS_64K),
  'the last free of 1,000,000 slots': () => lastFree(MILLION),
  'fill 65,536 slots at random': () => fillRandom(SLOTS_64K, SLOTS_64K),
  'fill 90 % of 1,000,000 slots at random': () => fillRandom(MILLION, MILLION * 0.9),
  'churn at 90 % of 65,536 slots, at random': () => churn(SLOTS_64K),
  'churn at 90 % of 1,000,000 slots, at random': () => churn(MILLION),

  'fill a /8 with /24, bitmap': () => {
    const run = () => {
      const bitmap = new Bitmap(CHILDREN)
      let sum = 0
      for (let slot = bitmap.nextFree(0); slot >= 0; slot = bitmap.nextFree(slot + 1)) {
        bitmap.take(slot)
        sum += startOf(childAt(slot))
      }
      return sum
    }
    return { run, operations: CHILDREN, answer: run }
  },
  'fill a /8 with /24, prefix tree': () => {
    const run = () => {
      const tree = treeOf('10.0.0.0/8', 24)
      let sum = 0
      for (let child = tree.nextFree(24); child !== undefined; child = tree.nextFree(24)) {
        tree.take(child)
        sum += startOf(child)
      }
      return sum
    }
    return { run, operations: CHILDREN, answer: run }
  },
  'the last free /24 of a /8, bitmap': () => {
    const bitmap = slots.allButLast(CHILDREN)
    const run = () => {
      let sum = 0
      for (let operation = 0; operation < OPERATIONS; operation++) {
        const slot = bitmap.nextFree(0)
        bitmap.take(slot)
        const child = childAt(slot)
        bitmap.release((startOf(child) - FIRST) >>> 8)
        sum += startOf(child)
      }
      return sum / OPERATIONS
    }
    return { run, operations: OPERATIONS, answer: run }
  },
  'a /24 of a /8 with 8,192 holes, prefix tree': () => {
    const tree = treeOf('10.0.0.0/8', 24)
    for (let hole = 0; hole < HOLES; hole++) tree.take(prefixAt(hole * 2048 + 1024, 22))
    const run = () => {
      const child = tree.nextFree(24)!
      tree.take(child)
      const isReleased = tree.release(child)
      return isReleased ? child : undefined
    }
    const answer = () => {
      tree.take(run()!)
      return Number(tree.countFree(32))
    }
    return { run, operations: 1, answer }
  },

  '1,000,000 addresses in use from Base64 of a bitmap': () => {
    const text = Bitmap.toBase64(slots.stored())
    const run = () => Bitmap.fromBase64(SLOTS_12, text)
    return { run, operations: 1, answer: () => slots.fillOf(run()) }
  },
  '1,000,000 addresses in use from the bits of a bitmap': () => {
    const words = slots.stored().toWords()
    const run = () => Bitmap.fromWords(SLOTS_12, words.slice())
    return { run, operations: 1, answer: () => slots.fillOf(run()) }
  },
  '1,000,000 addresses in use from texts': () => {
    const texts = slots.storedTexts()
    const run = () => slots.fromTexts(texts)
    return { run, operations: 1, answer: () => slots.fillOf(run()) }
  },
  'serve a claim, with text and record, /16, 1,000 in use': serveClaims,
  'fill a /16, with owners and texts': () => {
    const spec = { ranges: RangeSet.parse(['10.0.0.2-10.0.255.254']) }
    const uids = Array.from({ length: SLOTS_64K - 3 }, (_, index) => `claim-${index}`)
    const run = () => {
      const pool = new AddressPool(spec)
      const texts = new Map<string, string>()
      let sum = 0
      for (const uid of uids) {
        const outcome = pool.allocate({ owner: { uid } })
        if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
        texts.set(uid, Address.format(outcome.address))
        sum += (outcome.address as Address4).value
      }
      return sum
    }
    return { run, operations: uids.length, answer: run }
  },
} satisfies Record<string, () => Side>

const OPERATIONS = 65_536
const HOLES = 8192

function fillNext(size: number): Side {
  const run = () => slots.fillNext(new Bitmap(size))
  return { run, operations: size, answer: run }
}

function lastFree(size: number): Side {
  const bitmap = slots.allButLast(size)
  const run = () => slots.lastFree(bitmap, OPERATIONS) / OPERATIONS
  return { run, operations: OPERATIONS, answer: run }
}

function fillRandom(size: number, used: number): Side {
  const draws = new Draws(1)
  const run = () => {
    const bitmap = new Bitmap(size)
    slots.fillRandom(bitmap, used, draws)
    return bitmap.used
  }
  return { run, operations: used, answer: run }
}

function churn(size: number): Side {
  const bitmap = new Bitmap(size)
  slots.fillRandom(bitmap, Math.floor(size / 10) * 9, new Draws(1))
  const held = slots.slotsOf(bitmap)
  const draws = new Draws(3)
  const run = () => slots.churnRandom(bitmap, held, draws, OPERATIONS)
  return { run, operations: OPERATIONS, answer: () => bitmap.used }
}

function childAt(slot: number): Prefix {
  return prefixAt(slot * 256, 24)
}

/** A prefix that begins so many addresses behind the first. */
function prefixAt(offset: number, length: number): Prefix {
  return Prefix.of(Address.from4(FIRST + offset), length)
}
