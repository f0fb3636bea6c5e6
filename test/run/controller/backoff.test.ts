import { Backoff } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import type { BackoffOptions } from '../../../src/run/controller/backoff.js'

describe('Backoff', () => {
  test('doubles with every failure in a row, up to the longest wait', () => {
    const backoff = new Backoff({ firstMs: 5, maxMs: 100 })
    expect(Array.from({ length: 7 }, () => backoff.failed('a'))).toEqual([5, 10, 20, 40, 80, 100, 100])
  })

  test('waits as controllers of Kubernetes do by default', () => {
    const backoff = new Backoff()
    const waits = Array.from({ length: 25 }, () => backoff.failed('a'))
    expect([waits[0], waits[1], waits[17], waits[18], waits[24]]).toEqual([5, 10, 655_360, 1_000_000, 1_000_000])
  })

  test('keeps keys apart, and forgets those that succeed', () => {
    const backoff = new Backoff()
    backoff.failed('a')
    backoff.failed('a')
    expect([backoff.failed('a'), backoff.failed('b'), backoff.size]).toEqual([20, 5, 2])
    backoff.succeeded('a')
    expect([backoff.has('a'), backoff.has('b')]).toEqual([false, true])
    expect([backoff.failed('a'), backoff.size]).toEqual([5, 2])
  })

  test('stays finite however often something fails', () => {
    const backoff = new Backoff({ maxMs: Number.MAX_VALUE })
    let wait = 0
    for (let i = 0; i < 3000; i++) wait = backoff.failed('a')
    expect(wait).toBe(Number.MAX_VALUE)
  })

  test('leaves a share of the wait to chance', () => {
    const draws = [0, 0.5, 1]
    const backoff = new Backoff({ firstMs: 100, jitter: 0.5, random: () => draws.shift()! })
    expect([backoff.failed('a'), backoff.failed('b'), backoff.failed('c')]).toEqual([100, 75, 50])
  })

  test.each<BackoffOptions>([
    { firstMs: 0 },
    { firstMs: Number.NaN },
    { firstMs: 10, maxMs: 9 },
    { maxMs: Number.POSITIVE_INFINITY },
    { jitter: 1.1, random: Math.random },
    { jitter: -0.1, random: Math.random },
    { jitter: 0.5 },
    { firstMs: '5' as never },
  ])('refuses %j', (options) => {
    expect(() => new Backoff(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})
