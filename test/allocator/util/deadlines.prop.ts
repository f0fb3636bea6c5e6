import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../src/allocator/util/deadlines.js'
import { property } from '../../cidr/property.js'

interface Thing {
  readonly name: number
}

const command = fc.record({
  do: fc.constantFrom('add' as const, 'add' as const, 'remove' as const, 'due' as const),
  which: fc.nat(19),
  atMs: fc.nat(30),
})

describe('things with a time', () => {
  property([fc.array(command, { maxLength: 60, size: 'max' })], 2)('come as those of a list do', (commands) => {
    const things: Thing[] = Array.from({ length: 20 }, (_, name) => ({ name }))
    const deadlines = new Deadlines<Thing>()
    const model = new Map<Thing, number>()
    for (const { do: what, which, atMs } of commands) {
      const thing = things[which]!
      if (what === 'add' && !model.has(thing)) {
        deadlines.add(thing, atMs)
        model.set(thing, atMs)
      } else if (what === 'remove') {
        deadlines.remove(thing)
        model.delete(thing)
      } else if (what === 'due') {
        const earliest = Math.min(...model.values())
        const found = deadlines.due(atMs)
        if (earliest > atMs) expect(found).toBeUndefined()
        else {
          expect(found && model.get(found)).toBe(earliest)
          model.delete(found!)
        }
      }
      expect(deadlines.size).toBe(model.size)
      expect(deadlines.earliestMs()).toBe(model.size === 0 ? undefined : Math.min(...model.values()))
      for (const one of things) expect(deadlines.has(one)).toBe(model.has(one))
    }
  })

  test('that remain are all found when most were removed', () => {
    const deadlines = new Deadlines<Thing>()
    const things = Array.from({ length: 300 }, (_, name) => ({ name }))
    for (const thing of things) deadlines.add(thing, (thing.name * 7) % 300)
    for (const thing of things) if (thing.name % 5 !== 0) deadlines.remove(thing)
    const times: number[] = []
    for (let due = deadlines.due(1000); due !== undefined; due = deadlines.due(1000)) times.push((due.name * 7) % 300)
    expect(times).toEqual(Array.from({ length: 60 }, (_, i) => i * 5))
  })
})
