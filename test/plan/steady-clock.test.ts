import { describe, expect, test } from 'vitest'
import { steadyClock } from '../../src/plan/steady-clock.js'

describe('a steady clock', () => {
  test.each([
    ['goes as the clock does', [5000, 6000, 9000], [5000, 6000, 9000]],
    ['goes on from its last time when the clock is set back', [5000, 2000, 2500], [5000, 5000, 5500]],
    ['is set forward with the clock', [5000, 3_605_000], [5000, 3_605_000]],
    ['does not count a time that is noted late', [5000, 4500, 5100], [5000, 5000, 5100]],
    [
      'stays right after several changes',
      [5000, 1000, 2000, 9000, 500, 600],
      [5000, 5000, 6000, 13_000, 13_000, 13_100],
    ],
    ['returns what is no time as it is', [5000, Number.NaN, 6000], [5000, Number.NaN, 6000]],
  ])('%s', (_, clock, steady) => {
    const timeOf = steadyClock()
    expect(clock.map(timeOf)).toEqual(steady)
  })
})
