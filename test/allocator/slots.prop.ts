import fc from 'fast-check'
import { Bitmap, FreeRanges, type Slots } from 'ipam-kit/allocator'
import { describe, expect } from 'vitest'
import { property } from '../cidr/property.js'

/** What slots have to do, with a Set and a loop. */
class ModelSlots implements Slots {
  readonly size: number
  readonly #taken = new Set<number>()

  constructor(size: number) {
    this.size = size
  }

  get used() {
    return this.#taken.size
  }

  has(index: number) {
    return this.#taken.has(index)
  }

  take(index: number) {
    if (this.#taken.has(index)) return false
    this.#taken.add(index)
    return true
  }

  release(index: number) {
    return this.#taken.delete(index)
  }

  nextFree(from: number) {
    for (let index = from; index < this.size; index++) if (!this.#taken.has(index)) return index
    return -1
  }
}

type Command = { readonly do: 'take' | 'release' | 'has' | 'nextFree'; readonly from: number; readonly to: number }

/** Commands over one slot, and over runs of slots that end at or beside the borders of words and of words of words. */
function script(size: number): fc.Arbitrary<Command[]> {
  const borders = [0, 1, 31, 32, 33, 64, 1023, 1024, 1025, 2048, 32767, size - 33, size - 32, size - 2, size - 1]
  const index = fc.oneof(fc.nat(size - 1), fc.constantFrom(...borders.filter((border) => border >= 0 && border < size)))
  const what = fc.constantFrom('take', 'take', 'release', 'has', 'nextFree')
  const single = fc.tuple(what, index).map(([name, at]) => ({ do: name, from: at, to: at }))
  const run = fc
    .tuple(fc.constantFrom('take', 'take', 'release'), index, index)
    .map(([name, a, b]) => ({ do: name, from: Math.min(a, b), to: Math.max(a, b) }))
  return fc.array(fc.oneof({ weight: 3, arbitrary: single }, { weight: 1, arbitrary: run }), { maxLength: 25 }) as never
}

function run(slots: Slots, command: Command): unknown {
  const { do: name, from, to } = command
  if (name === 'nextFree') return slots.nextFree(from)
  if (name === 'has') return slots.has(from)
  let changed = 0
  for (let index = from; index <= to; index++) if (slots[name](index)) changed++
  return changed
}

const kinds = [
  { name: 'Bitmap', create: (size: number) => new Bitmap(size) },
  { name: 'FreeRanges', create: (size: number) => new FreeRanges(size) },
]

describe.each(kinds)('$name does what a Set and a loop do', ({ create }) => {
  for (const size of [1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025]) {
    property([script(size)])(`with ${size} slots`, (commands) => {
      const slots = create(size)
      const model = new ModelSlots(size)
      for (const command of commands) {
        expect(run(slots, command)).toBe(run(model, command))
        expect(slots.used).toBe(model.used)
        expect(slots.nextFree(0)).toBe(model.nextFree(0))
      }
      const all = Array.from({ length: size }, (_, index) => index)
      expect(all.filter((index) => slots.has(index))).toEqual(all.filter((index) => model.has(index)))
      expect(all.map((index) => slots.nextFree(index))).toEqual(all.map((index) => model.nextFree(index)))
    })
  }

  // three levels of the bitmap, and the first size with a fourth
  for (const size of [32_767, 32_768, 32_769]) {
    property([script(size)], 0.2)(`with ${size} slots`, (commands) => {
      const slots = create(size)
      const model = new ModelSlots(size)
      for (const command of commands) {
        expect(run(slots, command)).toBe(run(model, command))
        expect(slots.used).toBe(model.used)
        expect(slots.nextFree(command.from)).toBe(model.nextFree(command.from))
      }
    })
  }
})

describe('Bitmap and FreeRanges give the same answers', () => {
  property([script(3000)], 2)('to the same commands', (commands) => {
    const [bitmap, ranges] = [new Bitmap(3000), new FreeRanges(3000)]
    for (const command of commands) {
      expect(run(ranges, command)).toBe(run(bitmap, command))
      expect(ranges.used).toBe(bitmap.used)
      expect(ranges.nextFree(command.to)).toBe(bitmap.nextFree(command.to))
    }
  })
})

describe('FreeRanges far beyond what could be written out', () => {
  const size = 2 ** 52
  const index = fc.oneof(
    fc
      .constantFrom(0, 2 ** 24, 2 ** 31, 2 ** 32, 2 ** 51, size - 1)
      .chain((base) => fc.integer({ min: -3, max: 3 }).map((step) => Math.min(size - 1, Math.max(0, base + step)))),
    fc.integer({ min: 0, max: size - 1 }),
  )

  property([
    fc.array(fc.tuple(fc.constantFrom('take', 'take', 'release', 'has', 'nextFree'), index), { maxLength: 60 }),
  ])('does what a Set and a loop do', (commands) => {
    const slots = new FreeRanges(size)
    const model = new ModelSlots(size)
    for (const [name, at] of commands) {
      const command = { do: name, from: at, to: at } as Command
      expect(run(slots, command)).toBe(run(model, command))
      expect(slots.used).toBe(model.used)
    }
  })
})
