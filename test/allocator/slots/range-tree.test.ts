import { Bitmap } from 'ipam-kit/allocator'
import { describe, expect, test } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import type { Slots } from '../../../src/allocator/slots/slots.js'
import { share } from '../../setup/depth.js'
import { randomBelow } from '../random-below.js'
import { contentOf, expectSameContent } from './slots-script.js'

/** A leaf has so many ranges at most, and an inner node so many children. */
const LEAF = 192
const INNER = 64

test.each([2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33])(
  'RangeTree of %d slots has a last one like any other',
  (size) => {
    const slots = new RangeTree(size)
    const last = size - 1
    expect([slots.takeRange(0, last - 2), slots.take(last - 1)]).toEqual([size - 2, true])
    expect(contentOf(slots)).toEqual({
      size,
      used: size - 1,
      free: [{ first: last, last }],
      taken: [{ first: 0, last: last - 1 }],
    })
    expect([slots.nextFree(0), slots.freeAt(0), slots.nextFreeRun(1), slots.has(last)]).toEqual([
      last,
      last,
      last,
      false,
    ])
    expect([slots.take(last), slots.take(last), slots.nextFree(last)]).toEqual([true, false, -1])
    expect([slots.release(last), slots.release(last - 1), slots.countUsed(0, last)]).toEqual([true, true, size - 2])
    expect([...slots.freeRanges()]).toEqual([{ first: last - 1, last }])
  },
)

describe('ranges at the borders of leaves', () => {
  // as many ranges of three slots as fill five leaves, and one leaf that has a few
  const count = 5 * LEAF + 10
  const size = 4 * count
  const comb = <T extends Slots>(slots: T): T => {
    for (let index = 3; index < size; index += 4) slots.take(index)
    return slots
  }
  const [tree, bitmap] = [comb(new RangeTree(size)), comb(new Bitmap(size))]
  const places = Array.from({ length: count - 1 }, (_, range) => 4 * range).filter((place) => {
    const inLeaf = (place / 4) % LEAF
    return inLeaf < 2 || Math.abs(inLeaf - LEAF / 2) < 2 || inLeaf > LEAF - 3
  })

  test.each<[about: string, change: (slots: Slots, place: number) => unknown]>([
    ['become one', (slots, place) => slots.release(place + 3)],
    ['become one, with all below', (slots, place) => slots.releaseRange(0, place + 3)],
    ['become one, with all above', (slots, place) => slots.releaseRange(place + 3, size - 1)],
    [
      'become one, with some of what is around',
      (slots, place) => slots.releaseRange(place - (place % 60), Math.min(place + 30, size - 1)),
    ],
    ['go', (slots, place) => slots.takeRange(place, place + 2)],
    ['go, and all below', (slots, place) => slots.takeRange(0, place + 1)],
    ['go, and all above', (slots, place) => slots.takeRange(place + 1, size - 1)],
    ['are freed again', (slots, place) => [slots.release(place), slots.releaseRange(place, place + 2)]],
    ['lose the first slot', (slots, place) => slots.take(place)],
    ['lose the middle slot', (slots, place) => slots.take(place + 1)],
    ['lose the last slot', (slots, place) => slots.take(place + 2)],
    ['are taken again', (slots, place) => [slots.take(place + 3), slots.takeRange(place - (place % 60), place)]],
  ])('%s', (_, change) => {
    for (const place of places) {
      const [changed, expected] = [tree.fork(), bitmap.fork()].map((slots) => ({
        answer: change(slots, place),
        used: slots.used,
        near: [place - 5, place - 1, place, place + 3, place + 4, place + 9]
          .filter((index) => index >= 0 && index < size)
          .map((index) => [slots.nextFree(index), slots.nextUsed(index), slots.countUsed(0, index)]),
        ranks: [0.1, 0.5, 0.9].map((part) => slots.freeAt(Math.floor(part * (size - slots.used)))),
        runs: [1, 3, 4, 7].map((length) => slots.nextFreeRun(length, { from: Math.max(0, place - 9) })),
        content: contentOf(slots),
      }))
      expect(changed).toEqual(expected)
    }
    // the twins have their own
    expectSameContent(tree, bitmap)
  })

  test.each([1, -1, 7])('become one after the other one range, in steps of %d', (step) => {
    const slots = tree.fork()
    for (let i = 0; i < count; i++) {
      const range = (((i * step) % count) + count) % count
      expect(slots.release(4 * range + 3)).toBe(true)
    }
    expect(contentOf(slots)).toEqual(contentOf(new Bitmap(size)))
    expect([slots.freeAt(size - 1), slots.nextFreeRun(size), slots.take(0)]).toEqual([size - 1, 0, true])
  })
})

test('a part of RangeTree that is full splits wherever one below it does', () => {
  // full leaves of ranges of three slots, and as many as the root may have
  const size = INNER * LEAF * 4
  const tree = new RangeTree(size)
  const bitmap = new Bitmap(size)
  for (let index = 3; index < size - 1; index += 4) for (const slots of [tree, bitmap]) slots.take(index)
  for (let leaf = 0; leaf < INNER; leaf++) {
    for (const place of [0, LEAF / 2 - 1, LEAF / 2, LEAF - 1]) {
      const middle = (leaf * LEAF + place) * 4 + 1
      const [parted, expected] = [tree.fork(), bitmap.fork()].map((slots) => ({
        taken: slots.take(middle),
        used: slots.used,
        near: [middle - 900, middle - 1, middle, middle + 1, middle + 900]
          .filter((index) => index >= 0 && index < size)
          .map((index) => [
            slots.nextFree(index),
            slots.nextUsed(index),
            slots.countUsed(0, index),
            slots.freeAt(index >> 1),
          ]),
        run: slots.nextFreeRun(3, { from: middle }),
        content: place === LEAF / 2 && leaf % 9 === 0 ? contentOf(slots) : undefined,
      }))
      expect(parted).toEqual(expected)
    }
  }
})

// 2^32 lies in the middle of what is used of the wide one
test.each([
  { name: 'with 32 bits a slot', base: 0 },
  { name: 'with more bits a slot', base: 2 ** 32 - 10 * share(10_000, 2) },
])('RangeTree $name answers in every shape what a Bitmap answers', ({ base }) => {
  // half of it has the same three levels
  const unit = share(10_000, 2)
  const size = 20 * unit
  const bitmap = new Bitmap(size)
  const tree = new RangeTree(base + size)
  if (base > 0) tree.takeRange(0, base - 1)
  const random = randomBelow(11)
  // it grows to three levels, stays there, and falls in one part or in all: parts split, are joined
  // and give some of what they have
  for (const [chance, steps, from, to] of [
    [98, 9 * unit, 0, size],
    [50, 4 * unit, 0, size],
    [3, 6 * unit, 6 * unit, 12 * unit],
    [90, 4 * unit, 9 * unit, 15 * unit],
    [2, 12 * unit, 0, size],
    [60, 3 * unit, 0, size],
  ] as const) {
    for (let step = 0; step < steps; step++) {
      const index = from + random(to - from)
      const change = random(100) < chance ? 'take' : 'release'
      if (tree[change](base + index) !== bitmap[change](index)) throw new Error(`${change}(${index})`)
      if (step % 1000 === 0) compare(index)
    }
    const moved = [...bitmap.freeRanges()].map(({ first, last }) => ({ first: base + first, last: base + last }))
    expect([...tree.freeRanges()]).toEqual(moved)
  }

  function compare(index: number): void {
    const rank = random(size - bitmap.used)
    const last = index + random(size - index)
    const free = [bitmap.freeAt(rank), bitmap.nextFree(index), bitmap.nextUsed(index)]
    const found = [tree.freeAt(rank), tree.nextFree(base + index), tree.nextUsed(base + index)]
    for (const length of [1, 2, 3, 5, 9, 30]) {
      free.push(bitmap.nextFreeRun(length), bitmap.nextFreeRun(length, { from: index }))
      found.push(tree.nextFreeRun(length), tree.nextFreeRun(length, { from: base + index }))
    }
    expect(found).toEqual(free.map((slot) => (slot < 0 ? slot : base + slot)))
    expect(tree.countUsed(base + index, base + last)).toBe(bitmap.countUsed(index, last))
  }
})
