import { describe, expect, it } from 'vitest'
import type { Stop } from '../../src/store/engine/engine.js'
import { type SqlDatabase, SqlEngine } from '../../src/store/sql/engine.js'
import { tablesOf } from '../../src/store/sql/tables.js'

const KEY = { group: 'g', kind: 'K', namespace: 'ns', name: 'a' }

/** Lets everything that is ready go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

/**
 * An engine over nothing, a scope that counts how often it is looked at, and when its watch ends.
 */
function newWatch(subscribe: (wake: () => void) => () => void, announcesWrites = false, namespace?: string) {
  let asked = 0
  const database: SqlDatabase = {
    name: 'sql',
    tables: tablesOf({}),
    style: 'anonymous',
    announcesWrites,
    all: async () => {
      asked++
      return [{ head: '1', oldest: '0', revision: null }]
    },
    commit: async () => ({ kind: 'done', revision: '2' }),
  }
  const engine = new SqlEngine(database, { sleep: () => new Promise(() => {}), subscribe })
  let looks = 0
  const scope = {
    group: 'g',
    namespace,
    get kind() {
      looks++
      return 'K'
    },
  }
  let end = () => {}
  const stop: Stop = {
    isStopped: false,
    onStop(callback) {
      end = callback
    },
  }
  const events = engine.follow(scope, undefined, stop)[Symbol.asyncIterator]()
  /** How often a write looks at the scope: once for each watch that is still known. */
  const knownTo = async () => {
    looks = 0
    await engine.commit({ key: KEY, before: undefined, after: 'text' })
    return looks
  }
  return { events, knownTo, end: () => end(), asked: () => asked }
}

describe('a watch over SQL', () => {
  it('that ends is forgotten, and so is its subscription', async () => {
    let subscriptions = 0
    const { events, knownTo, end } = newWatch(() => {
      subscriptions++
      return () => {
        subscriptions--
      }
    })
    expect(await events.next()).toEqual({ done: false, value: { kind: 'at', revision: '1' } })
    expect([subscriptions, await knownTo()]).toEqual([1, 1])
    end()
    expect([subscriptions, await knownTo()]).toEqual([0, 0])
  })

  it('is not told by its own store what it is told anyway', async () => {
    const { events, knownTo } = newWatch(() => () => {}, true)
    await events.next()
    expect(await knownTo()).toBe(0)
  })

  it.each([
    ['of all namespaces', undefined, true],
    ['of its namespace', 'ns', true],
    ['of another namespace', 'ns-b', false],
  ])('is woken by a write: %s', async (_, namespace, isWoken) => {
    const { events, knownTo, asked } = newWatch(() => () => {}, false, namespace)
    await events.next()
    void events.next()
    await settle()
    const before = asked()
    await knownTo()
    await settle()
    expect(asked() > before).toBe(isWoken)
  })

  it('that cannot subscribe fails, and is forgotten', async () => {
    const { events, knownTo } = newWatch(() => {
      throw new Error('no channel')
    })
    await expect(events.next()).rejects.toThrow('no channel')
    expect(await knownTo()).toBe(0)
  })

  it('is forgotten also if its subscription cannot be ended', async () => {
    const { events, knownTo, end } = newWatch(() => () => {
      throw new Error('no connection')
    })
    await events.next()
    expect(end).toThrow('no connection')
    expect(await knownTo()).toBe(0)
  })
})
