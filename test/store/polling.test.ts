import { type ChangeLog, pollChanges, type Stop } from 'ipam-kit/store/engine'
import { expect, test } from 'vitest'

class Ending implements Stop {
  isStopped = false
  readonly #callbacks: (() => void)[] = []

  onStop(callback: () => void): void {
    if (this.isStopped) callback()
    else this.#callbacks.push(callback)
  }

  end(): void {
    this.isStopped = true
    for (const callback of this.#callbacks) callback()
  }
}

/** A log to which `grow` adds, and a clock that only `pass` moves. */
function poll() {
  const stop = new Ending()
  let length = 0
  let pauses: (() => void)[] = []
  let wake = () => {}
  let isSubscribed = false
  const log: ChangeLog = {
    async changes(_, after, limit) {
      const first = Number(after ?? length) + 1
      const changes = Array.from({ length: Math.min(limit, length - first + 1) }, (_, i) => {
        return { revision: String(first + i), before: undefined, after: 'text' }
      })
      const reached = first + changes.length - 1
      return { kind: 'page', changes, revision: String(reached), hasMore: reached < length }
    },
  }
  const events = pollChanges(
    log,
    { scope: { group: '', kind: 'Any' }, after: '0', stop },
    {
      sleep: () => new Promise<void>((resolve) => pauses.push(resolve)),
      subscribe: (callback) => {
        wake = callback
        isSubscribed = true
        return () => {
          isSubscribed = false
        }
      },
    },
  )
  return {
    stop,
    events,
    grow: () => {
      length++
    },
    wake: () => wake(),
    pass: () => {
      const due = pauses
      pauses = []
      for (const end of due) end()
    },
    pending: () => pauses.length,
    isSubscribed: () => isSubscribed,
  }
}

test('a watch that is woken often has one pause at a time, and sees every change', async () => {
  const { events, grow, wake, pending } = poll()
  expect((await events.next()).value).toEqual({ kind: 'at', revision: '0' })
  for (let i = 1; i <= 100; i++) {
    const next = events.next()
    grow()
    wake()
    expect((await next).value).toMatchObject({ kind: 'change', revision: String(i) })
  }
  expect(pending()).toBe(1)
})

test('without a wake it looks when the pause is over', async () => {
  const { events, grow, pass } = poll()
  await events.next()
  for (let i = 1; i <= 3; i++) {
    const next = events.next()
    await new Promise((done) => setImmediate(done))
    grow()
    pass()
    expect((await next).value).toMatchObject({ kind: 'change', revision: String(i) })
  }
})

test('a watch that ends in a pause ends at once, and is told nothing any more', async () => {
  const { events, stop, isSubscribed } = poll()
  await events.next()
  const next = events.next()
  await new Promise((done) => setImmediate(done))
  expect(isSubscribed()).toBe(true)
  stop.end()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(isSubscribed()).toBe(false)
})
