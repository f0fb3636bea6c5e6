import { describe, expect, test } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import { memory } from '../../setup/cost.js'
import { randomBelow } from '../random-below.js'

/** A leaf has so many ranges at most. */
const LEAF = 192

/** Slots have 32 bits in the one, and more in the other. */
const widths = [
  { name: 'with 32 bits a slot', size: 2 ** 32, bytesInOrder: 11, bytesAtRandom: 15, bytesOfArrays: 10.5 },
  { name: 'with more bits a slot', size: 2 ** 40, bytesInOrder: 19.2, bytesAtRandom: 24, bytesOfArrays: 20.5 },
]

describe.each(widths)('the memory of RangeTree $name', ({ size, bytesInOrder, bytesAtRandom, bytesOfArrays }) => {
  const count = 100_000

  test('ranges that come in order fill their leaves', async () => {
    const build = () => {
      const slots = new RangeTree(size)
      for (let i = 0; i < count; i++) slots.take(2 * i + 1)
      return slots
    }
    // what the first one leaves behind is code
    expect(build().used).toBe(count)
    const before = await memory()
    const slots = build()
    const { all } = await memory()
    expect(slots.used).toBe(count)
    // with every leaf half full, a range would need 2 bytes more of its header
    expect((all - before.all) / count).toBeLessThan(bytesInOrder)
  })

  test('no order of taking and freeing leaves room that is not used', async () => {
    const random = randomBelow(3)
    const held = new Float64Array(4 * count)
    const before = await memory()
    const slots = new RangeTree(size)
    const takeInto = (at: number) => {
      let slot = random(size)
      while (!slots.take(slot)) slot = random(size)
      held[at] = slot
    }
    const bytes = async () => {
      const { all, arrays } = await memory()
      const ranges = slots.used + 1
      return { all: (all - before.all) / ranges, arrays: (arrays - before.arrays) / ranges }
    }
    for (let i = 0; i < count; i++) takeInto(i)
    for (let i = 0; i < count; i++) {
      const at = random(count)
      slots.release(held[at]!)
      takeInto(at)
    }
    expect((await bytes()).all).toBeLessThan(bytesAtRandom)

    for (let i = count; i < 4 * count; i++) takeInto(i)
    for (let left = 4 * count; left > 2000; ) {
      for (const most = left / 4; left > most; ) slots.release(held[--left]!)
      expect((await bytes()).arrays).toBeLessThan(bytesOfArrays)
    }
  })
})

test.each<[about: string, most: number, change: (slots: RangeTree, first: number) => void, even: number]>([
  ['parted', 18, (slots, first) => slots.take(first + 4 * (LEAF - 9) + 1), LEAF],
  ['left with one range', 21, (slots, first) => slots.takeRange(first, first + 4 * (LEAF - 1) - 1), LEAF],
  [
    'left with one, and then the others with 90',
    22,
    (slots, first) => slots.takeRange(first, first + 4 * (LEAF - 1) - 1),
    90,
  ],
])('the arrays of RangeTree have little room when every other leaf is %s', async (_, most, change, even) => {
  const leaves = 200
  const size = 4 * leaves * LEAF
  const { arrays } = await memory()
  const slots = new RangeTree(2 ** 40)
  slots.takeRange(size, 2 ** 40 - 1)
  for (let index = 3; index < size; index += 4) slots.take(index)
  for (let leaf = 1; leaf < leaves; leaf += 2) change(slots, 4 * LEAF * leaf)
  for (let leaf = 0; leaf < leaves && even < LEAF; leaf += 2) {
    slots.takeRange(4 * LEAF * leaf, 4 * (LEAF * leaf + LEAF - even) - 1)
  }
  const bytes = (await memory()).arrays - arrays
  expect(bytes / [...slots.freeRanges()].length).toBeLessThan(most)
})
