import { now, sleep, timers, uid } from 'ipam-kit/node'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

beforeEach(() => void vi.useFakeTimers({ now: 1000 }))
afterEach(() => void vi.useRealTimers())

describe('the platform', () => {
  test('gives its clock', () => {
    vi.advanceTimersByTime(234)
    expect([now(), timers.now()]).toEqual([1234, 1234])
  })

  test('calls back once, unless it is called off', () => {
    const calls: string[] = []
    timers.after(10, () => calls.push('first'))
    const cancel = timers.after(20, () => calls.push('second'))
    vi.advanceTimersByTime(10)
    expect(calls).toEqual(['first'])
    cancel()
    cancel()
    vi.advanceTimersByTime(1000)
    expect(calls).toEqual(['first'])
  })

  test('calls back after 0 ms, unless it is called off', () => {
    const calls: string[] = []
    timers.after(0, () => calls.push('first'))
    timers.after(0, () => calls.push('second'))()
    expect(calls).toEqual([])
    vi.advanceTimersByTime(1)
    expect(calls).toEqual(['first'])
  })

  test('calls back after 0 ms once in each turn of the event loop, also when the work of a turn takes long', async () => {
    vi.useRealTimers()
    let [calls, most, isOver] = [0, 0, false]
    const turn = () => {
      most = Math.max(most, calls)
      calls = 0
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const wait = () => void (isOver || timers.after(1, wait))
    wait()
    for (let piece = 0; piece < 60; piece++) {
      await new Promise<void>((resolve) => {
        timers.after(0, () => {
          calls++
          resolve()
        })
        // as a controller does: the work comes after the timer that ends the turn
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
        timers.after(1000, () => {})()
      })
    }
    isOver = true
    // of two neighbours one may come before the turn is counted, and the other one after it
    expect(most).toBeLessThanOrEqual(2)
  })

  test('sleeps', async () => {
    let isAwake = false
    const sleeping = sleep(86_400_000).then(() => {
      isAwake = true
    })
    await vi.advanceTimersByTimeAsync(86_399_999)
    expect(isAwake).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isAwake).toBe(true)
    await sleeping
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '5', undefined])('refuses a time of %j', async (ms) => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => timers.after(ms as number, () => {})).toThrow(refusal)
    await expect(sleep(ms as number)).rejects.toEqual(refusal)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives uids that differ', () => {
    const uids = [uid(), uid()]
    for (const each of uids)
      expect(each).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(uids[0]).not.toBe(uids[1])
  })
})
