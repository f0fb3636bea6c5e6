import fc from 'fast-check'
import { Bitmap } from 'ipam-kit/allocator'
import { describe, expect } from 'vitest'
import { RangeTree } from '../../../src/allocator/slots/range-tree.js'
import type { Slots } from '../../../src/allocator/slots/slots.js'
import { property } from '../../cidr/property.js'
import { ModelSlots } from './model-slots.js'
import { contentOf, expectSameContent, runOn, type SlotCommand, slotScript } from './slots-script.js'

const kinds = [
  { name: 'Bitmap', create: (size: number): Slots => new Bitmap(size) },
  { name: 'RangeTree', create: (size: number): Slots => new RangeTree(size) },
]

/**
 * Runs a script beside the model. A fork goes on as what is tested, and what it came from must not
 * change with it.
 */
function compare(first: Slots, commands: readonly SlotCommand[]): void {
  let slots = first
  let model = new ModelSlots(first.size)
  const left: { readonly slots: Slots; readonly content: unknown }[] = []
  for (const command of commands) {
    if (command.do === 'fork') {
      left.push({ slots, content: contentOf(model) })
      slots = slots.fork()
      model = model.fork()
    } else expect(runOn(slots, command)).toBe(runOn(model, command))
    expect(slots.used).toBe(model.used)
    expect(slots.nextFree(0)).toBe(model.nextFree(0))
  }
  expectSameContent(slots, model)
  for (const { slots, content } of left) expect(contentOf(slots)).toEqual(content)
}

describe.each(kinds)('$name does what a Set and a loop do', ({ create }) => {
  for (const size of [1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025]) {
    property([slotScript(size)])(`with ${size} slots`, (commands) => {
      const slots = create(size)
      compare(slots, commands)
      const all = Array.from({ length: size }, (_, index) => index)
      const model = new ModelSlots(
        size,
        all.filter((index) => slots.has(index)),
      )
      expect(all.map((index) => slots.nextFree(index))).toEqual(all.map((index) => model.nextFree(index)))
      expect(all.map((index) => slots.nextUsed(index))).toEqual(all.map((index) => model.nextUsed(index)))
      expect(all.map((index) => slots.freeAt(index))).toEqual(all.map((index) => model.freeAt(index)))
    })
  }

  // three levels of the bitmap, the first size with a fourth, and the last with one leaf
  for (const size of [32_767, 32_768, 32_769, 70_000]) {
    property([slotScript(size, 12)], 0.2)(`with ${size} slots`, (commands) => compare(create(size), commands))
  }
})

describe('slots in every order', () => {
  // as many ranges as make a tree of three levels, from either end and from everywhere
  const size = 30_000
  property([fc.constantFrom(1, -1, 7919), fc.constantFrom(1, -1, 7907), fc.nat(size - 1)], 0.3)(
    'a comb is made and filled up again',
    (stepTaken, stepFreed, start) => {
      const [bitmap, tree] = [new Bitmap(size), new RangeTree(size)]
      const half = size / 2
      const order = (step: number, i: number) => (((start + i * step) % half) + half) % half
      for (let i = 0; i < half; i++) {
        const index = 2 * order(stepTaken, i)
        if (!tree.take(index) || !bitmap.take(index)) throw new Error(`${index} was taken`)
      }
      expectSameContent(tree, bitmap)
      for (let i = 0; i < half; i++) {
        const index = 2 * order(stepFreed, i)
        if (!tree.release(index) || !bitmap.release(index)) throw new Error(`${index} was free`)
        if (i % 2500 === 0) expectSameContent(tree, bitmap)
      }
      expect(contentOf(tree)).toEqual({ size, used: 0, free: [{ first: 0, last: size - 1 }], taken: [] })
    },
  )
})

describe('Bitmap and RangeTree give the same answers', () => {
  property([slotScript(200_000, 40)])('to the same commands', (commands) => {
    let [bitmap, tree] = [new Bitmap(200_000), new RangeTree(200_000)]
    for (const command of commands) {
      if (command.do === 'fork') [bitmap, tree] = [bitmap.fork(), tree.fork()]
      else expect(runOn(tree, command)).toBe(runOn(bitmap, command))
      expect(tree.used).toBe(bitmap.used)
    }
    expectSameContent(tree, bitmap)
  })
})

describe('RangeTree far beyond what could be written out', () => {
  const size = 2 ** 52
  const index = fc.oneof(
    fc
      .constantFrom(0, 2 ** 24, 2 ** 31, 2 ** 32, 2 ** 51, size - 1)
      .chain((base) => fc.integer({ min: -3, max: 3 }).map((step) => Math.min(size - 1, Math.max(0, base + step)))),
    fc.integer({ min: 0, max: size - 1 }),
  )
  const command = fc.record({ do: fc.constantFrom('take', 'take', 'release', 'has', 'nextFree'), at: index })

  property([fc.array(command, { maxLength: 60 })])('does what a Set and a loop do', (commands) => {
    const slots = new RangeTree(size)
    const model = new ModelSlots(size)
    for (const command of commands as SlotCommand[]) {
      expect(runOn(slots, command)).toBe(runOn(model, command))
      expect(slots.used).toBe(model.used)
    }
  })

  property([fc.array(fc.tuple(fc.boolean(), index, index), { maxLength: 30 })])(
    'counts and finds what it has taken as ranges',
    (ranges) => {
      const slots = new RangeTree(size)
      for (const [isTaken, a, b] of ranges) {
        const [first, last] = [Math.min(a, b), Math.max(a, b)]
        const used = slots.countUsed(first, last)
        const changed = isTaken ? slots.takeRange(first, last) : slots.releaseRange(first, last)
        expect(changed).toBe(isTaken ? last - first + 1 - used : used)
        expect(slots.countUsed(first, last)).toBe(isTaken ? last - first + 1 : 0)
      }
      let free = 0
      for (const { first, last } of slots.freeRanges()) {
        expect([slots.freeAt(free), slots.freeAt(free + last - first)]).toEqual([first, last])
        expect(slots.nextFreeRun(last - first + 1)).toBeLessThanOrEqual(first)
        free += last - first + 1
      }
      expect(slots.freeAt(free)).toBe(-1)
      expect(slots.used).toBe(size - free)
    },
  )
})
