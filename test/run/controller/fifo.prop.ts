import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import { Fifo } from '../../../src/run/controller/fifo.js'
import { rankOf } from '../../../src/run/controller/work-queue.js'

interface Item {
  readonly key: number
  queue: object | undefined
}

/** A key is pushed; `undefined`: one is taken. */
const steps = fc.array(fc.option(fc.nat(40), { nil: undefined }), { maxLength: 200 })

test.prop([steps])('a queue gives what was pushed, in that order', (all) => {
  const fifo = new Fifo<Item>()
  const model: number[] = []
  for (const key of all) {
    if (key === undefined) expect(fifo.shift()?.key).toBe(model.shift())
    else {
      fifo.push({ key, queue: undefined })
      model.push(key)
    }
  }
})

test.prop([steps])(
  'with ranks those that wait at one time come in the order of their ranks, and before any later one',
  (all) => {
    const fifo = new Fifo<Item>(({ key }) => rankOf('a', `${key}`))
    let sorted: number[] = []
    let incoming: number[] = []
    for (const key of all) {
      if (key !== undefined) {
        fifo.push({ key, queue: undefined })
        incoming.push(key)
        continue
      }
      if (sorted.length === 0) {
        sorted = incoming.sort((left, right) => rankOf('a', `${left}`) - rankOf('a', `${right}`))
        incoming = []
      }
      expect(fifo.shift()?.key).toBe(sorted.shift())
    }
  },
)

test.prop([fc.string(), fc.string({ minLength: 1 })])(
  'a rank is a whole number of 32 bits, and the same each time',
  (process, key) => {
    const rank = rankOf(process, key)
    expect(Number.isInteger(rank) && rank >= 0 && rank < 2 ** 32).toBe(true)
    expect(rankOf(process, key)).toBe(rank)
  },
)

test.prop([fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 2 })])(
  'two processes order the same keys in unrelated ways',
  ([first, second]) => {
    const keys = Array.from({ length: 400 }, (_, nth) => `IPAddressClaim default/claim-${nth}`)
    const firstHalf = (process: string) => {
      const ordered = keys.toSorted((left, right) => rankOf(process, left) - rankOf(process, right))
      return new Set(ordered.slice(0, 200))
    }
    const [left, right] = [firstHalf(first as string), firstHalf(second as string)]
    const common = [...left].filter((key) => right.has(key)).length
    // 100 expected, with a standard deviation of 5
    expect(Math.abs(common - 100)).toBeLessThan(45)
  },
)
