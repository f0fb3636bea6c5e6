import fc from 'fast-check'
import { Bitmap } from 'ipam-kit/allocator'
import { describe, expect, test } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import type { Slots } from '../../../src/allocator/slots/slots.js'
import { freeRunIn, type RangeStarts } from '../../../src/allocator/slots/space.js'
import { property } from '../../cidr/property.js'

/** A range by the number of its first address and its length. */
type Part = readonly [first: number, length: number]

function startsOf(parts: readonly Part[]): RangeStarts {
  const starts = new Float64Array(parts.length)
  let size = 0
  for (const [i, [, length]] of parts.entries()) {
    starts[i] = size
    size += length
  }
  return { starts, size, keyOf: String, lowBitsOf: (range) => parts[range]![0] % 65_536 }
}

/** The number of the address of each slot. */
function addressesOf(parts: readonly Part[]): number[] {
  return parts.flatMap(([first, length]) => Array.from({ length }, (_, i) => first + i))
}

const kinds = {
  Bitmap: (size: number): Slots => new Bitmap(size),
  RangeTree: (size: number): Slots => new RangeTree(size),
}

/**
 * Slots that count the words of 32 slots that a search passes over, and the searches themselves.
 */
function counted(slots: Slots): { readonly slots: Slots; readonly steps: () => number } {
  let steps = 0
  const passed = (from: number, to: number) => {
    steps += 1 + Math.ceil(Math.max(0, to - from) / 32)
  }
  const handler: ProxyHandler<Slots> = {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown
      if (typeof member !== 'function') return member
      return (...given: readonly unknown[]) => {
        const answer = Reflect.apply(member, target, given) as unknown
        const to = typeof answer === 'number' && answer >= 0 ? answer : target.size
        if (name === 'nextUsed') passed(given[0] as number, to)
        else if (name === 'nextFreeRun') {
          passed((given[1] as { readonly from?: number } | undefined)?.from ?? 0, to + (given[0] as number))
        } else steps++
        return answer
      }
    },
  }
  return { slots: new Proxy(slots, handler), steps: () => steps }
}

describe.each(Object.entries(kinds))('a run of free slots within one range, in a %s', (_, make) => {
  const gapped = fc
    .array(fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 12 })
    .map((gaps): Part[] => {
      let next = 65_500
      return gaps.map(([gap, length]) => {
        const first = next + gap + 1
        next = first + length
        return [first, length]
      })
    })

  property([gapped, fc.array(fc.nat(500), { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), fc.boolean()], 5)(
    'is the lowest one',
    (parts, used, wanted, isAligned) => {
      const count = isAligned ? 2 ** (wanted % 6) : wanted
      const alignment = isAligned ? count : 1
      const ranges = startsOf(parts)
      const slots = make(ranges.size)
      for (const slot of used) slots.take(slot % ranges.size)
      const addresses = addressesOf(parts)
      const isRun = (slot: number) =>
        addresses[slot]! % alignment === 0 &&
        Array.from({ length: count }, (_, i) => slot + i).every(
          (at, i) => addresses[at] === addresses[slot]! + i && !slots.has(at),
        )
      expect(freeRunIn(slots, ranges, count, alignment)).toBe(addresses.findIndex((_, slot) => isRun(slot)))
    },
  )

  const layouts: readonly [about: string, part: (i: number) => Part, isUsed: (slot: number) => boolean][] = [
    ['one address each, all free', (i) => [i * 2, 1], () => false],
    ['one address each, every third in use', (i) => [i * 2, 1], isThird],
    ['three addresses each, all free', (i) => [i * 8 + 5, 3], () => false],
    ['64 addresses each, every third in use', (i) => [i * 66, 64], isThird],
    ['64 addresses each, all in use', (i) => [i * 66, 64], () => true],
  ]
  const wants = [
    ['a run of 4', 4, 1],
    ['a run of 128', 128, 1],
    ['4 aligned ones', 4, 4],
    ['128 aligned ones', 128, 128],
  ] as const
  const cases = layouts.flatMap((layout) => wants.map((want) => [...want, ...layout] as const))

  test.each(cases)('%s, %i aligned at %i, in 4,000 ranges of %s: no slot is searched over and over', (...given) => {
    const [, count, alignment, , partAt, isUsed] = given
    const parts = Array.from({ length: 4000 }, (_, i) => partAt(i))
    const ranges = startsOf(parts)
    const { slots, steps } = counted(make(ranges.size))
    for (let slot = 0; slot < ranges.size; slot++) if (isUsed(slot)) slots.take(slot)
    const freeRanges = [...slots.freeRanges()].length
    const before = steps()
    expect(freeRunIn(slots, ranges, count, alignment)).toBe(-1)
    expect(steps() - before).toBeLessThanOrEqual(2 * (ranges.size / 32 + freeRanges + parts.length) + 4)
  })
})

function isThird(slot: number): boolean {
  return slot % 3 === 0
}
