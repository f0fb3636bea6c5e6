import { Bitmap, RangeTree, type Slots } from 'ipam-kit/allocator'
import { describe, expect, test } from 'vitest'

const kinds = [
  { name: 'Bitmap', create: (size: number): Slots => new Bitmap(size), bits: 30 },
  { name: 'RangeTree', create: (size: number): Slots => new RangeTree(size), bits: 52 },
]

describe.each(kinds)('$name', ({ create, bits }) => {
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
        context: { argument: 'size', expected: `a whole number from 0 to 2^${bits}`, got: String(size) },
      }),
    )
  })
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

function msOf(action: () => void): number {
  const start = performance.now()
  action()
  return performance.now() - start
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
