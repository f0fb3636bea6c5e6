import { fc, test } from '@fast-check/vitest'
import { describe, test as example, expect } from 'vitest'
import { DueTimes } from '../../../../src/provider/blocks/block/due-times.js'

const step = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), name: fc.nat(5), atMs: fc.nat(9) }),
  fc.record({ kind: fc.constant('delete' as const), name: fc.nat(5) }),
  fc.record({ kind: fc.constant('take' as const), nowMs: fc.nat(9) }),
  fc.record({ kind: fc.constant('first' as const) }),
)

describe('times', () => {
  test.prop([fc.array(step)])('are those of a plain map', (steps) => {
    const times = new DueTimes<number>()
    const model = new Map<number, number>()
    for (const each of steps) {
      if (each.kind === 'set') {
        times.set(`${each.name}`, each.atMs, each.name)
        model.set(each.name, each.atMs)
      } else if (each.kind === 'delete') {
        times.delete(`${each.name}`)
        model.delete(each.name)
      } else if (each.kind === 'take') {
        const due = [...model].filter(([, atMs]) => atMs <= each.nowMs).map(([name]) => name)
        for (const name of due) model.delete(name)
        expect([...times.takeDue(each.nowMs)].sort()).toEqual(due.sort())
      } else expect(times.firstMs).toBe(model.size === 0 ? undefined : Math.min(...model.values()))
    }
  })

  example('may be more than a call has arguments', () => {
    const times = new DueTimes<number>()
    for (let n = 0; n < 300_000; n++) times.set(`${n}`, n + 1, n)
    times.delete('0')
    expect(times.firstMs).toBe(2)
  })
})
