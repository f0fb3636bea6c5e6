import { type ChangeLog, pollChanges, type Stop, type Wake } from 'ipam-kit/store/engine'
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
  let wake: Wake = () => {}
  let looks = 0
  let isSubscribed = false
  const log: ChangeLog = {
    async changes(_, after, limit) {
      looks++
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
    wake: (revision?: string) => wake(revision),
    looks: () => looks,
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

/** Enough turns for whatever was begun. */
const settle = () => new Promise((done) => setImmediate(done))

test('a watch does not look again for a write that it has seen, whoever tells of it and when', async () => {
  const { events, grow, wake, looks } = poll()
  await events.next()
  const first = events.next()
  await settle()
  grow()
  wake('1')
  expect((await first).value).toMatchObject({ kind: 'change', revision: '1' })
  // while what was read is handed on, and in the next pause
  wake('1')
  const second = events.next()
  await settle()
  wake('1')
  wake('0')
  await settle()
  expect(looks()).toBe(2)
  grow()
  wake('2')
  expect((await second).value).toMatchObject({ kind: 'change', revision: '2' })
  expect(looks()).toBe(3)
})

test('a write that is told of before the look at the one before is over is seen without a pause', async () => {
  const { events, grow, wake, pending } = poll()
  await events.next()
  const first = events.next()
  await settle()
  grow()
  wake('1')
  await first
  grow()
  wake('2')
  wake('1')
  expect((await events.next()).value).toMatchObject({ kind: 'change', revision: '2' })
  expect(pending()).toBe(1)
})

test('what says no revision makes a watch look', async () => {
  const { events, wake, looks } = poll()
  await events.next()
  const waiting = events.next()
  await settle()
  const says = [undefined, '', 'ipam_kit_changes', '-1', '1e3', '0x1', ' 1', '99999999999999999999', 7, null, {}, ['1']]
  for (const [index, said] of says.entries()) {
    wake(said as string | undefined)
    await settle()
    expect(looks(), String(said)).toBe(index + 2)
  }
  const { done } = await Promise.race([waiting, settle().then(() => ({ done: 'still waiting' }))])
  expect(done).toBe('still waiting')
})

test('a watch that is told of a write that it can not see yet looks once, and again when the pause is over', async () => {
  const { events, grow, wake, pass, looks } = poll()
  await events.next()
  const next = events.next()
  await settle()
  wake('1')
  await settle()
  expect(looks()).toBe(2)
  grow()
  pass()
  expect((await next).value).toMatchObject({ kind: 'change', revision: '1' })
})
