import { type DocumentChange, pollChanges } from 'ipam-kit/store/engine'
import { describe, expect, it, test } from 'vitest'
import type { Stop } from '../../src/store/engine/engine.js'
import type { ChangeLog, ChangePage, PollingOptions } from '../../src/store/engine/polling.js'

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

/** Lets everything that is ready go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

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

test('without a wake it looks when the pause ends', async () => {
  const { events, grow, pass } = poll()
  await events.next()
  for (let i = 1; i <= 3; i++) {
    const next = events.next()
    await settle()
    grow()
    pass()
    expect((await next).value).toMatchObject({ kind: 'change', revision: String(i) })
  }
})

test('a watch that ends in a pause ends at once, and is told nothing any more', async () => {
  const { events, stop, isSubscribed } = poll()
  await events.next()
  const next = events.next()
  await settle()
  expect(isSubscribed()).toBe(true)
  stop.end()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(isSubscribed()).toBe(false)
})

describe('pages of changes', () => {
  let log: { changes: ChangeLog['changes'] }
  let sleeps: (() => void)[]
  let asked: (string | undefined)[]
  let wake: () => void
  let unsubscribed: number
  const change = (revision: number): DocumentChange => ({ revision: String(revision), before: undefined, after: '{}' })
  const page = (revision: number, changes: readonly DocumentChange[] = [], hasMore = false): ChangePage => ({
    kind: 'page',
    changes,
    revision: String(revision),
    hasMore,
  })

  function read(pages: ChangePage[], after: string | undefined, own: Partial<PollingOptions> = {}) {
    sleeps = []
    asked = []
    unsubscribed = 0
    log = {
      changes: async (_, from) => {
        asked.push(from)
        return pages.shift() ?? page(0)
      },
    }
    const stop = new Ending()
    const sleep = () => new Promise<void>((resolve) => sleeps.push(resolve))
    const subscribe = (callback: () => void) => {
      wake = callback
      return () => void unsubscribed++
    }
    const events = pollChanges(log, { scope: { group: '', kind: 'Pool' }, after, stop }, { sleep, subscribe, ...own })
    return { events, stop }
  }

  it('continues where the last page ended, without a pause while there is more', async () => {
    const { events } = read([page(2, [change(1), change(2)], true), page(3, [change(3)]), page(3), page(7)], '0')
    const seen = []
    for (let i = 0; i < 4; i++) seen.push((await events.next()).value)
    expect(seen.map((event) => `${event?.kind} ${'revision' in event! ? event.revision : ''}`)).toEqual([
      'change 1',
      'change 2',
      'change 3',
      'at 3',
    ])
    expect([asked, sleeps.length]).toEqual([['0', '2'], 0])
    const next = events.next()
    await settle()
    expect([asked.length, sleeps.length]).toEqual([2, 1])
    sleeps[0]!()
    await settle()
    // nothing new: no event, another pause
    expect([asked, sleeps.length]).toEqual([['0', '2', '3'], 2])
    sleeps[1]!()
    expect((await next).value).toEqual({ kind: 'at', revision: '7' })
  })

  it('begins from now without a revision, and says where that is', async () => {
    const { events } = read([page(5), page(6, [change(6)])], undefined)
    expect((await events.next()).value).toEqual({ kind: 'at', revision: '5' })
    const next = events.next()
    await settle()
    wake()
    expect((await next).value).toMatchObject({ kind: 'change', revision: '6' })
    expect(asked).toEqual([undefined, '5'])
  })

  it('does not sleep over a wake that came while it asked', async () => {
    const { events } = read([page(5)], '5')
    const first = log.changes
    log.changes = async (...args) => {
      const answer = await first(...args)
      wake()
      log.changes = first
      return answer
    }
    await events.next()
    void events.next()
    await settle()
    expect(asked.length).toBe(2)
  })

  it('waits again after a wake, for the pause that it is in', async () => {
    const { events } = read([page(5), page(6, [change(6)]), page(6)], '5')
    await events.next()
    const next = events.next()
    await settle()
    wake()
    await next
    void events.next()
    await settle()
    await settle()
    expect([asked.length, sleeps.length]).toEqual([2, 1])
    sleeps[0]!()
    await settle()
    expect(asked.length).toBe(3)
  })

  it('ends with what is gone', async () => {
    const { events } = read([{ kind: 'gone', oldest: '4' }], '1')
    expect((await events.next()).value).toEqual({ kind: 'gone', oldest: '4' })
    expect((await events.next()).done).toBe(true)
  })

  it('ends at once without a listener, also in a pause, and unsubscribes', async () => {
    const { events, stop } = read([page(1)], '1')
    await events.next()
    const waiting = events.next()
    await settle()
    stop.end()
    expect((await waiting).done).toBe(true)
    expect([unsubscribed, asked.length]).toEqual([1, 1])
  })

  it('ends at once also if it cannot unsubscribe', async () => {
    const { events, stop } = read([page(1)], '1', {
      subscribe: () => () => {
        throw new Error('unlisten failed')
      },
    })
    await events.next()
    const waiting = events.next()
    await settle()
    expect(() => stop.end()).toThrow('unlisten failed')
    expect((await waiting).done).toBe(true)
  })

  it('fails if the sleep does', async () => {
    const { events } = read([page(1)], '1', {
      sleep: () => Promise.reject(new Error('no timer')),
      subscribe: undefined,
    })
    await events.next()
    await expect(events.next()).rejects.toThrow('no timer')
  })
})
