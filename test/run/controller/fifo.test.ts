import { expect, test } from 'vitest'
import { Fifo } from '../../../src/run/controller/fifo.js'
import { rankOf } from '../../../src/run/controller/work-queue.js'

interface Item {
  readonly key: number
  queue: object | undefined
}

test('with ranks no rank is computed when an item is taken: that would be one long piece of work', () => {
  let ranked = 0
  const fifo = new Fifo<Item>(({ key }) => {
    ranked++
    return rankOf('a', `${key}`)
  })
  for (let key = 0; key < 5000; key++) fifo.push({ key, queue: undefined })
  expect(ranked).toBe(5000)
  while (fifo.shift() !== undefined) {}
  expect(ranked).toBe(5000)
})
