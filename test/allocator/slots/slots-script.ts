import fc from 'fast-check'
import { expect } from 'vitest'
import type { SlotRange, Slots } from '../../../src/allocator/slots/slots.js'

/** What is done to slots, or asked of them. */
export type SlotCommand =
  | { readonly do: 'take' | 'release' | 'has' | 'nextFree' | 'nextFreeAround' | 'nextUsed'; readonly at: number }
  | { readonly do: 'takeRange' | 'releaseRange' | 'countUsed'; readonly first: number; readonly last: number }
  /** Every `step`th slot of a range. */
  | { readonly do: 'takeComb' | 'releaseComb'; readonly first: number; readonly last: number; readonly step: number }
  | {
      readonly do: 'nextFreeRun'
      readonly length: number
      readonly from: number
      readonly alignment: number
      readonly offset: number
    }
  | { readonly do: 'freeAt'; readonly rank: number }
  /** Goes on with a twin, and looks later whether this one has changed. */
  | { readonly do: 'fork' }

/**
 * Commands whose slots are often at or beside the borders of words, of words of words and of
 * leaves.
 */
export function slotScript(size: number, maxLength = 25): fc.Arbitrary<SlotCommand[]> {
  const steps = [32, 64, 1024, 2048, 32_768, 65_536, size].flatMap((border) => [border - 1, border, border + 1])
  const borders = [0, 1, size - 33, size - 32, ...steps].filter((border) => border >= 0 && border < size)
  const at = fc.oneof(fc.nat(size - 1), fc.constantFrom(...borders))
  const range = fc.tuple(at, at).map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) }))
  const length = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: size }))
  const alignment = fc.constantFrom(1, 1, 2, 3, 8, 32, 256)
  const one = (...names: string[]) => fc.tuple(fc.constantFrom(...names), at).map(([name, at]) => ({ do: name, at }))
  const span = (...names: string[]) =>
    fc.tuple(fc.constantFrom(...names), range).map(([name, ends]) => ({ do: name, ...ends }))
  const comb = fc
    .tuple(span('takeComb', 'takeComb', 'releaseComb'), fc.integer({ min: 2, max: 5 }))
    .map(([command, step]) => ({ ...command, step }))
  const command = fc.oneof(
    { weight: 6, arbitrary: one('take', 'take', 'release', 'has', 'nextFree', 'nextFreeAround', 'nextUsed') },
    { weight: 3, arbitrary: span('takeRange', 'releaseRange', 'countUsed') },
    { weight: 2, arbitrary: comb },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('nextFreeRun'), length, from: at, alignment, offset: fc.nat(300) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('freeAt'), rank: fc.nat(size) }) },
    { weight: 1, arbitrary: fc.constant({ do: 'fork' }) },
  )
  return fc.array(command, { maxLength, size: 'max' }) as fc.Arbitrary<SlotCommand[]>
}

/** Runs a command, and returns the answer. */
export function runOn(slots: Slots, command: SlotCommand): unknown {
  switch (command.do) {
    case 'takeRange':
    case 'releaseRange':
    case 'countUsed':
      return slots[command.do](command.first, command.last)
    case 'takeComb':
    case 'releaseComb': {
      const change = command.do === 'takeComb' ? 'take' : 'release'
      let changed = 0
      for (let index = command.first; index <= command.last; index += command.step) if (slots[change](index)) changed++
      return changed
    }
    case 'nextFreeRun': {
      const { length, from, alignment, offset } = command
      return slots.nextFreeRun(length, { from, alignment, offset })
    }
    case 'freeAt':
      return slots.freeAt(command.rank)
    case 'fork':
      return slots.fork().used
    default:
      return slots[command.do](command.at)
  }
}

/** All that slots can tell about themselves without being asked about one of them. */
export function contentOf(slots: Slots) {
  return { size: slots.size, used: slots.used, free: [...slots.freeRanges()], taken: [...slots.usedRanges()] }
}

/**
 * As `expect(contentOf(slots)).toEqual(contentOf(model))`, which takes a tenth of a second where
 * there are many ranges.
 */
export function expectSameContent(slots: Slots, model: Slots): void {
  const isSame =
    slots.size === model.size &&
    slots.used === model.used &&
    areSame(slots.freeRanges(), model.freeRanges()) &&
    areSame(slots.usedRanges(), model.usedRanges())
  if (!isSame) expect(contentOf(slots)).toEqual(contentOf(model))
}

function areSame(left: Iterable<SlotRange>, right: Iterable<SlotRange>): boolean {
  const others = right[Symbol.iterator]()
  for (const { first, last } of left) {
    const { done, value } = others.next()
    if (done === true || value.first !== first || value.last !== last) return false
  }
  return others.next().done === true
}
