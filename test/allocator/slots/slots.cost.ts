import { describe, expect, test } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import { bestMsOf, msOf } from '../../setup/cost.js'

describe('free ranges that touch are one, so that nothing gets slower by use', () => {
  const COUNT = 50_000
  const up = Array.from({ length: COUNT }, (_, i) => i)
  const down = [...up].reverse()

  const each = (indexes: readonly number[], action: (index: number) => void) => () => indexes.forEach(action)

  test.each<[about: string, use: (slots: RangeTree) => (() => void)[]]>([
    [
      'slots freed at once, from above',
      (slots) => [
        each(down, (i) => {
          slots.take(2 * i + 1)
          slots.release(2 * i + 1)
        }),
      ],
    ],
    [
      'slots freed from above',
      (slots) => [each(up, (i) => slots.take(i)), each(down, (i) => slots.release(i)), each(up, (i) => slots.take(i))],
    ],
    [
      'slots freed from below',
      (slots) => [each(down, (i) => slots.take(i)), each(up, (i) => slots.release(i)), each(up, (i) => slots.take(i))],
    ],
  ])('%s', (_, use) => {
    const fresh = new RangeTree(2 ** 40)
    const simplest = msOf(() => {
      for (let i = 0; i < COUNT; i++) {
        fresh.take(0)
        fresh.release(0)
      }
    })
    const [slowest] = use(new RangeTree(2 ** 40))
      .map(msOf)
      .sort((x, y) => y - x)
    // with a range for each slot, every step would move tens of thousands of them
    expect(slowest).toBeLessThan(50 + 8 * simplest)
  })
})

test('RangeTree forgets a long free range that is gone, so that no search looks for it', () => {
  const size = 200_000
  const comb = () => {
    const slots = new RangeTree(size)
    for (let index = 1; index < size; index += 2) slots.take(index)
    return slots
  }
  const [fresh, used] = [comb(), comb()]
  // in every part of the tree there is a range of three slots for a while
  for (let index = 1; index < size - 1; index += 40) used.release(index)
  expect(used.nextFreeRun(3)).toBe(0)
  for (let index = 1; index < size - 1; index += 40) used.take(index)
  const search = (slots: RangeTree) => {
    for (let i = 0; i < 5000; i++) if (slots.nextFreeRun(2) !== -1) throw new Error('there is no such run')
  }
  const best = (slots: RangeTree) => bestMsOf(() => search(slots), 5)
  best(fresh)
  expect(best(used)).toBeLessThan(1 + 4 * best(fresh))
})
