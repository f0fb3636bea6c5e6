import { Bitmap } from 'ipam-kit/allocator'
import { describe, expect, test } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import type { SlotRange, Slots } from '../../../src/allocator/slots/slots.js'
import { contentOf } from './slots-script.js'

const kinds = [
  { name: 'Bitmap', create: (size: number): Slots => new Bitmap(size), bits: 30 },
  { name: 'RangeTree', create: (size: number): Slots => new RangeTree(size), bits: 52 },
]

describe.each(kinds)('$name', ({ name, create, bits }) => {
  test('is free from end to end when new', () => {
    const slots = create(40)
    expect([slots.size, slots.used, slots.nextFree(0), slots.nextFree(39)]).toEqual([40, 0, 0, 39])
  })

  test('gives the lowest free slot, one after the other, until there is none', () => {
    const slots = create(1100)
    for (let expected = 0; expected < 1100; expected++) {
      expect(slots.nextFree(0)).toBe(expected)
      expect(slots.take(expected)).toBe(true)
    }
    expect(slots.nextFree(0)).toBe(-1)
    expect(slots.used).toBe(1100)
    slots.release(1056)
    expect(slots.nextFree(0)).toBe(1056)
    expect(slots.nextFree(1057)).toBe(-1)
  })

  test('taking twice and freeing twice change nothing', () => {
    const slots = create(33)
    expect([slots.take(32), slots.take(32), slots.used, slots.has(32)]).toEqual([true, false, 1, true])
    expect([slots.release(32), slots.release(32), slots.used, slots.has(32)]).toEqual([true, false, 0, false])
  })

  test('without slots has none to give', () => {
    const slots = create(0)
    expect([slots.size, slots.used, slots.nextFree(0)]).toEqual([0, 0, -1])
    expect([slots.nextUsed(0), slots.nextFreeAround(0), slots.nextFreeRun(1), slots.freeAt(0)]).toEqual([
      -1, -1, -1, -1,
    ])
    expect(contentOf(slots.fork())).toEqual({ size: 0, used: 0, free: [], taken: [] })
    expect(() => slots.take(0)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }))
  })

  test('a search may begin at the size, where there is nothing', () => {
    expect(create(32).nextFree(32)).toBe(-1)
    expect(create(33).nextFree(33)).toBe(-1)
  })

  test.each([-1, 33, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32])('refuses the index %s', (index) => {
    const slots = create(33)
    const refusal = expect.objectContaining({
      code: 'INDEX_OUT_OF_RANGE',
      context: { index: String(index), size: '33' },
    })
    expect(() => slots.take(index)).toThrow(refusal)
    expect(() => slots.release(index)).toThrow(refusal)
    expect(() => slots.has(index)).toThrow(refusal)
    if (index !== 33) expect(() => slots.nextFree(index)).toThrow(refusal)
    expect(() => slots.nextFree(34)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }))
    expect(slots.used).toBe(0)
  })

  test.each([-1, 0.5, Number.NaN, 2 ** bits + 1, Number.POSITIVE_INFINITY])('refuses the size %s', (size) => {
    expect(() => create(size)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: {
          function: name,
          argument: 'size',
          expected: `a whole number from 0 to 2^${bits}`,
          got: String(size),
        },
      }),
    )
  })
})

function firstOf(ranges: Iterable<SlotRange>, limit: number): SlotRange[] {
  const read: SlotRange[] = []
  for (const range of ranges) if (read.push(range) === limit) break
  return read
}

describe.each(kinds)('a $name and its fork change apart', ({ create }) => {
  // a leaf of the bitmap has 32,768 slots; with more than 32 leaves it has all of its levels
  const LEAF = 32_768
  const size = 32 * LEAF + 40_000
  const full = (slots: Slots) => slots.takeRange(0, size - 1)
  const nearlyFull = (slots: Slots) => slots.takeRange(0, 32 * LEAF + 5)
  const scattered = (slots: Slots) => {
    for (let index = 0; index < size; index += 10_000) slots.takeRange(index, index + 3000)
  }

  test.each<[about: string, before: (slots: Slots) => void, change: (slots: Slots) => void]>([
    ['a slot taken', scattered, (slots) => slots.take(1_055_000)],
    ['a slot freed', scattered, (slots) => slots.release(1_052_000)],
    ['a slot taken that was the last free one', (slots) => slots.takeRange(1, size - 1), (slots) => slots.take(0)],
    ['a slot freed that was like all others', full, (slots) => slots.release(3 * LEAF)],
    ['slots taken to the end', nearlyFull, (slots) => slots.takeRange(32 * LEAF, size - 1)],
    ['some slots of a leaf taken', scattered, (slots) => slots.takeRange(LEAF + 5, LEAF + 5000)],
    ['some slots of a leaf freed', full, (slots) => slots.releaseRange(LEAF + 5, LEAF + 5000)],
    ['a leaf taken', scattered, (slots) => slots.takeRange(LEAF, 2 * LEAF - 1)],
    ['a leaf freed', full, (slots) => slots.releaseRange(LEAF, 2 * LEAF - 1)],
    ['all taken', scattered, full],
    ['all freed', full, (slots) => slots.releaseRange(0, size - 1)],
  ])('%s', (_, before, change) => {
    const make = (...steps: ((slots: Slots) => void)[]) => {
      const slots = create(size)
      for (const step of [before, ...steps]) step(slots)
      return slots
    }
    const asBefore = answersOf(make())
    const changed = answersOf(make(change))
    expect(changed).not.toEqual(asBefore)

    const first = make()
    const second = first.fork()
    const [third, fourth] = [second.fork(), second.fork()]
    change(first)
    expect([first, second, third, fourth].map(answersOf)).toEqual([changed, asBefore, asBefore, asBefore])
    change(third)
    expect([first, second, third, fourth].map(answersOf)).toEqual([changed, asBefore, changed, asBefore])
    change(second)
    expect([first, second, third, fourth].map(answersOf)).toEqual([changed, changed, changed, asBefore])
    change(fourth)
    expect([first, second, third, fourth].map(answersOf)).toEqual([changed, changed, changed, changed])
  })

  /** What slots contain, and what they count and find where leaves meet. */
  function answersOf(slots: Slots) {
    const borders = Array.from({ length: 33 }, (_, leaf) => leaf * LEAF)
    // a search that goes back ends in ranges without end
    const [free, taken] = [firstOf(slots.freeRanges(), 500), firstOf(slots.usedRanges(), 500)]
    return {
      used: slots.used,
      free,
      taken,
      counts: borders.map((border) => slots.countUsed(border, Math.min(size, border + LEAF) - 1)),
      next: borders.map((border) => [slots.nextFree(border), slots.nextUsed(border)]),
      ranks: borders.map((border) => slots.freeAt(border)),
    }
  }
})

test.each([2 ** 20, 2 ** 20 + 40_000, 2 ** 21 + 1])('Bitmap finds the only free slot of %d, wherever it is', (size) => {
  const bitmap = new Bitmap(size)
  // in parts, so that words, words of words and leaves become full one after the other
  for (let first = 0; first < size; first += 5000) bitmap.takeRange(first, Math.min(size, first + 5000) - 1)
  expect([bitmap.used, bitmap.nextFree(0)]).toEqual([size, -1])
  const borders = [0, 32, 1024, 32_768, 32_768 * 31, 2 ** 20, 2 ** 20 + 32_768, 2 ** 21, size]
  for (const index of borders.flatMap((border) => [border - 1, border, border + 1])) {
    if (index < 0 || index >= size) continue
    bitmap.release(index)
    expect([bitmap.nextFree(0), bitmap.nextFree(index), bitmap.nextFree(index + 1)]).toEqual([index, index, -1])
    bitmap.take(index)
    expect(bitmap.nextFree(0)).toBe(-1)
  }
  for (let first = 0; first < size; first += 5000) {
    bitmap.releaseRange(first, Math.min(size, first + 5000) - 1)
    expect(bitmap.nextFree(Math.max(0, first - 1))).toBe(Math.max(0, first - 1))
  }
  expect(bitmap.used).toBe(0)
})

test('Bitmap knows of every slot of a leaf that was taken or freed as a whole', () => {
  const LEAF = 32_768
  const bitmap = new Bitmap(3 * LEAF)
  bitmap.takeRange(LEAF, 2 * LEAF - 1)
  for (let index = LEAF; index < 2 * LEAF; index += 31) expect(bitmap.nextFree(index)).toBe(2 * LEAF)

  const full = new Bitmap(3 * LEAF)
  full.takeRange(0, 3 * LEAF - 1)
  for (let part = LEAF; part < 2 * LEAF; part += 1024) {
    for (const index of [part, part + 32, part + 1023]) {
      full.releaseRange(LEAF, 2 * LEAF - 1)
      expect(full.nextFree(0)).toBe(LEAF)
      if (index > LEAF) full.takeRange(LEAF, index - 1)
      if (index < 2 * LEAF - 1) full.takeRange(index + 1, 2 * LEAF - 1)
      expect([full.nextFree(0), full.nextFree(index), full.nextFree(index + 1)]).toEqual([index, index, -1])
    }
  }
})

test.each(kinds)('$name looks for an aligned run in the very next range', ({ create }) => {
  const slots = create(40)
  for (const index of [0, 5, 12]) slots.take(index)
  // 1-4 is long enough, but begins in the wrong place
  expect(slots.nextFreeRun(4, { alignment: 2 })).toBe(6)
  expect(slots.nextFreeRun(4, { alignment: 3 })).toBe(6)
  expect(slots.nextFreeRun(7, { alignment: 13 })).toBe(13)
})

test('RangeTree takes 2^52 slots, and the last one is like any other', () => {
  const slots = new RangeTree(2 ** 52)
  const last = 2 ** 52 - 1
  expect(slots.take(last)).toBe(true)
  expect([slots.has(last), slots.has(last - 1), slots.nextFree(last), slots.nextFree(last - 1)]).toEqual([
    true,
    false,
    -1,
    last - 1,
  ])
})

test('RangeTree frees in any order and is one free range again', () => {
  const slots = new RangeTree(100)
  for (let index = 0; index < 100; index++) slots.take(index)
  // evens first: fifty ranges of one slot; then the odds join them
  for (let index = 0; index < 100; index += 2) slots.release(index)
  expect(slots.nextFree(51)).toBe(52)
  for (let index = 99; index > 0; index -= 2) slots.release(index)
  expect(slots.used).toBe(0)
  for (let index = 0; index < 100; index++) expect(slots.nextFree(index)).toBe(index)
})

describe('parts of RangeTree that are joined and parted', () => {
  // free ranges of one slot, at even places, and one of three slots
  const count = 600
  const places = Array.from({ length: count }, (_, i) => 2 * i)

  test.each([
    [1, 1],
    [1, -1],
    [-1, 1],
    [-1, -1],
  ])('keep the longest range where it is, built in steps of %d and taken in steps of %d', (built, taken) => {
    const order = (step: number) => (step > 0 ? places : [...places].reverse())
    for (let longest = 0; longest < 2 * count - 2; longest += 74) {
      const slots = new RangeTree(2 * count)
      for (const place of order(built)) if (place !== longest) slots.take(place + 1)
      for (const place of order(taken)) {
        if (place === longest || place === longest + 2) continue
        slots.take(place)
        if (slots.nextFreeRun(3) !== longest) throw new Error(`${place} taken: ${slots.nextFreeRun(3)}, not ${longest}`)
      }
      expect([...slots.freeRanges()]).toEqual([{ first: longest, last: longest + 2 }])
    }
  })
})

test('RangeTree of several levels answers what a Bitmap answers, whatever is taken and freed', () => {
  const size = 60_000
  const [bitmap, tree] = [new Bitmap(size), new RangeTree(size)]
  const random = randomBelow(7)
  /**
   * Takes many ranges, and then frees many, so that parts split, are joined and give each other
   * some of what they have.
   */
  for (const [chance, steps] of [
    [95, 12_000],
    [10, 8000],
    [60, 8000],
    [2, 9000],
  ] as const) {
    for (let step = 0; step < steps; step++) {
      const first = random(size)
      const last = Math.min(size - 1, first + random(4))
      const change = random(100) < chance ? 'takeRange' : 'releaseRange'
      if (tree[change](first, last) !== bitmap[change](first, last)) throw new Error(`${change}(${first}, ${last})`)
      if (step % 250 === 0) compare(first)
    }
    expect(contentOf(tree)).toEqual(contentOf(bitmap))
  }

  function compare(index: number): void {
    const free = [...bitmap.freeRanges()]
    const longest = free.reduce((most, { first, last }) => Math.max(most, last - first + 1), 0)
    // what is just long enough, what just is not, and what is among many
    for (const length of [1, 2, 3, longest - 1, longest, longest + 1]) {
      if (length < 1) continue
      expect(tree.nextFreeRun(length)).toBe(bitmap.nextFreeRun(length))
      const options = { from: index, alignment: 1 + random(9) }
      expect(tree.nextFreeRun(length, options)).toBe(bitmap.nextFreeRun(length, options))
    }
    const rank = random(size)
    const last = index + random(size - index)
    expect([tree.freeAt(rank), tree.countUsed(index, last)]).toEqual([
      bitmap.freeAt(rank),
      bitmap.countUsed(index, last),
    ])
    expect([tree.nextFree(index), tree.nextUsed(index)]).toEqual([bitmap.nextFree(index), bitmap.nextUsed(index)])
  }
})

/** Whole numbers below a limit, the same ones for the same seed. */
function randomBelow(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

test('two hundred thousand takes and releases leave Bitmap and RangeTree alike', () => {
  const size = 5000
  const [bitmap, ranges, model] = [new Bitmap(size), new RangeTree(size), new Set<number>()]
  let seed = 1
  for (let step = 0; step < 200_000; step++) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const index = (seed >>> 8) % size
    // the pool fills, stays nearly full and runs empty by turns
    const take = (seed >>> 24) % 100 < (Math.floor(step / 20_000) % 2 === 0 ? 80 : 20)
    const changed = take ? !model.has(index) : model.has(index)
    if (take) model.add(index)
    else model.delete(index)
    const answers = take ? [bitmap.take(index), ranges.take(index)] : [bitmap.release(index), ranges.release(index)]
    if (answers[0] !== changed || answers[1] !== changed) throw new Error(`step ${step}: ${answers}, not ${changed}`)
    if (bitmap.nextFree(index) !== ranges.nextFree(index)) throw new Error(`step ${step}: nextFree(${index})`)
    if (bitmap.used !== model.size || ranges.used !== model.size) throw new Error(`step ${step}: used`)
  }
  for (let index = 0; index < size; index++) {
    expect([bitmap.has(index), ranges.has(index)]).toEqual([model.has(index), model.has(index)])
  }
})
