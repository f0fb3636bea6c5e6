import { unwrap } from 'ipam-kit/errors'
import type { WatchEvent } from 'ipam-kit/store'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { describe, expect, it } from 'vitest'
import type { KubernetesWatchQuery } from '../../src/store/kubernetes/client.js'
import type { WatchOptions } from '../../src/store/store.js'
import { ApiServerModel, refusal, statusOf } from './kubernetes-model.js'
import { PLAIN, POOL, pool, REGION, ref } from './memory-fixture.js'
import { settle as allSettled } from './settle.js'
import { virtualSleep } from './virtual-sleep.js'

const kinds = [POOL, REGION, PLAIN]
const POOLS = { apiVersion: POOL.apiVersion, kind: 'Pool', namespace: 'ns' }

/** One connection of a watch, in the hands of a test. */
interface Connection {
  readonly path: string
  readonly query: KubernetesWatchQuery
  tell(type: string, object: unknown): void
  end(error?: unknown): void
  aborted: boolean
}

/** A server that is asked for its version by requests, and whose watches are the test's. */
class Script {
  readonly connections: Connection[] = []
  /** How long was waited, and the waits that are not over. */
  readonly pauses: number[] = []
  version = '100'
  /** Of requests. */
  failing: Error | undefined
  /** Of the next connection: rejects instead. */
  refusing: Error | undefined
  #waits: (() => void)[] = []

  readonly client = {
    request: async () => {
      if (this.failing !== undefined) throw this.failing
      return { status: 200, body: JSON.stringify({ metadata: { resourceVersion: this.version }, items: [] }) }
    },
    watch: async (
      path: string,
      query: KubernetesWatchQuery,
      onEvent: (type: string, object: unknown) => void,
      done: (error: unknown) => void,
    ) => {
      if (this.refusing !== undefined) throw this.refusing
      const connection: Connection = { path, query, tell: onEvent, end: (error = null) => done(error), aborted: false }
      this.connections.push(connection)
      return {
        abort: () => {
          connection.aborted = true
        },
      }
    },
  }

  readonly sleep = (ms: number) => {
    this.pauses.push(ms)
    // a second tells whether a connection stands: no connection here does by itself
    return ms === 1000 ? new Promise<void>((resolve) => this.#waits.push(resolve)) : Promise.resolve()
  }

  /** Lets a second pass. */
  async second(): Promise<void> {
    for (const wake of this.#waits.splice(0)) wake()
    await settle()
  }

  /** Without the pauses that look whether a connection stands. */
  get retries(): number[] {
    return this.pauses.filter((ms) => ms !== 1000)
  }

  get last(): Connection {
    return this.connections.at(-1)!
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
}

function start(options: WatchOptions = { resourceVersion: '100' }) {
  const script = new Script()
  const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
  const seen: string[] = []
  const events = store.watch(POOLS, options)[Symbol.asyncIterator]()
  const reading = (async () => {
    for (;;) {
      const step = await events.next()
      if (step.done) return
      seen.push(shown(step.value))
    }
  })()
  return { script, seen, events, reading }
}

function shown(event: WatchEvent): string {
  if (event.type === 'BOOKMARK') return `at ${event.resourceVersion}`
  if (event.type === 'ERROR') return `${event.failure.code} ${JSON.stringify(event.failure.context)}`
  return `${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}`
}

const objectAt = (resourceVersion: string, name = 'a') => pool(name, { metadata: { resourceVersion } })
const bookmark = (resourceVersion: string) => ({ metadata: { resourceVersion } })
const timeOut = Object.assign(new Error('The operation was aborted due to timeout'), { name: 'TimeoutError' })

describe('a watch', () => {
  it('asks for what was selected, from the version on, with bookmarks', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const query = { ...POOLS, labels: { l: '1' }, fields: { 'metadata.name': 'x' } }
    const events = store.watch(query, { resourceVersion: '90' })[Symbol.asyncIterator]()
    void events.next()
    await settle()
    const { path, query: sent } = script.last
    expect([path, sent]).toEqual([
      '/apis/ipam.example.com/v1/namespaces/ns/pools',
      {
        labelSelector: 'l=1',
        fieldSelector: 'metadata.name=x',
        resourceVersion: '90',
        allowWatchBookmarks: true,
        timeoutSeconds: 25,
      },
    ])
    await events.return?.()
  })

  it('begins with the first next', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS)[Symbol.asyncIterator]()
    await settle()
    script.version = '105'
    expect(await events.next()).toEqual({ done: false, value: { type: 'BOOKMARK', resourceVersion: '105' } })
    await settle()
    expect(script.connections.map(({ query }) => query.resourceVersion)).toEqual(['105'])
    await events.return?.()
  })

  it('that has ended before it began asks nothing', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS)[Symbol.asyncIterator]()
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    expect(await events.next()).toEqual({ done: true, value: undefined })
    await settle()
    expect([script.connections, script.pauses]).toEqual([[], []])
  })

  it('tells events and bookmarks, and continues from the last of them', async () => {
    const { script, seen, events } = start()
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    script.last.tell('MODIFIED', objectAt('102'))
    script.last.tell('BOOKMARK', bookmark('110'))
    script.last.tell('SOMETHING', {})
    script.last.end()
    await settle()
    expect(script.last.query.resourceVersion).toBe('110')
    script.last.tell('DELETED', objectAt('111'))
    script.last.end()
    await settle()
    expect(script.last.query.resourceVersion).toBe('111')
    expect(seen).toEqual(['ADDED a@101', 'MODIFIED a@102', 'at 110', 'DELETED a@111'])
    expect(script.retries).toEqual([])
    await events.return?.()
  })

  it('pays no heed to a connection that has ended', async () => {
    const { script, seen, events } = start()
    await settle()
    const first = script.last
    first.tell('ADDED', objectAt('101'))
    first.end()
    await settle()
    first.tell('ADDED', objectAt('102'))
    first.end(new Error('again'))
    expect(first.aborted).toBe(true)
    script.last.tell('ADDED', objectAt('102'))
    await settle()
    expect(seen).toEqual(['ADDED a@101', 'ADDED a@102'])
    expect(script.connections.length).toBe(2)
    await events.return?.()
  })

  it.each([
    ['the time-out of client-node 2', timeOut],
    ['the end of the server', null],
    ['an end without anything', undefined],
  ])('%s on a connection that stood is nothing to wait for', async (_, error) => {
    const { script, seen, events } = start()
    await settle()
    await script.second()
    script.last.end(error)
    await settle()
    expect(script.connections.length).toBe(2)
    expect([script.retries, seen]).toEqual([[], []])
    await events.return?.()
  })

  it('gives a connection up on which nothing comes, not even its end', async () => {
    const { script, seen, events } = start()
    await settle()
    for (let second = 0; second < 30; second++) await script.second()
    script.version = '101'
    script.last.tell('ADDED', objectAt('101'))
    await settle()
    for (let second = 0; second < 40; second++) await script.second()
    expect([script.connections.length, script.retries]).toEqual([1, []])
    await script.second()
    expect(script.connections[0]!.aborted).toBe(true)
    expect(script.connections.map(({ query }) => query.resourceVersion)).toEqual(['100', '101'])
    expect([script.retries, seen]).toEqual([[100], ['ADDED a@101']])
    await events.return?.()
  })

  it('looks at a connection no longer than it is open', async () => {
    const { script, events } = start()
    await settle()
    await script.second()
    await events.return?.()
    const { length } = script.pauses
    await script.second()
    await script.second()
    expect(script.pauses.length).toBe(length)
  })

  it('ends if there is no way to wait', async () => {
    const script = new Script()
    const sleep = () => Promise.reject(new Error('no timers'))
    const store = kubernetesStore(script.client, { sleep, kinds })
    const events = store.watch(POOLS, { resourceVersion: '100' })[Symbol.asyncIterator]()
    expect(shown((await events.next()).value!)).toMatch(/^STORE_IO .*no timers/)
    expect(script.last.aborted).toBe(true)
  })

  it('that only hears what it knows does not ask in a hurry', async () => {
    const { script, events } = start()
    await settle()
    script.last.tell('BOOKMARK', bookmark('100'))
    script.last.end()
    await settle()
    expect(script.retries).toEqual([100])
    await events.return?.()
  })

  it('does not ask in a hurry where connections end at once', async () => {
    const { script, seen, reading } = start()
    await settle()
    for (let i = 0; i < 10; i++) {
      script.last.end()
      await settle()
    }
    script.last.end()
    await reading
    expect(script.retries).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000])
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^STORE_IO .*10 failures in a row, the last: the watch has ended without a word/)
  })

  it.each<[string, (script: Script) => void]>([
    ['an answer 504', (script) => script.last.end(Object.assign(new Error('x'), { statusCode: 504 }))],
    ['a connection that is reset', (script) => script.last.end(Object.assign(new Error('x'), { code: 'ECONNRESET' }))],
    ['an error event', (script) => script.last.tell('ERROR', statusOf(500, 'InternalError', 'x'))],
  ])('gives up also where each failure takes its time: %s', async (_, happen) => {
    const { script, seen } = start()
    await settle()
    for (let i = 0; i < 11; i++) {
      expect(seen).toEqual([])
      await script.second()
      happen(script)
      await settle()
    }
    expect(script.retries).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000])
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^STORE_IO .*10 failures in a row, the last: x/)
    expect(script.connections).toHaveLength(11)
  })

  it('gives up where nothing comes on any connection', async () => {
    const { script, seen } = start()
    await settle()
    for (let second = 0; second < 11 * 41; second++) await script.second()
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^STORE_IO .*10 failures in a row, the last: nothing was heard/)
  })

  it('takes a time-out for the end of a connection only where there was one', async () => {
    const { script, seen } = start()
    script.client.watch = async (_path, _query, _onEvent, done) => {
      await script.sleep(1000)
      done(timeOut)
      return { abort() {} }
    }
    await settle()
    for (let second = 0; second < 11; second++) await script.second()
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^STORE_IO .*10 failures in a row, the last: .*timeout/)
  })

  it('counts anew after a connection that stood and ended without a word', async () => {
    const { script, seen, events } = start()
    await settle()
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 9; i++) {
        script.last.end(new Error('cut'))
        await settle()
      }
      await script.second()
      script.last.end()
      await settle()
    }
    expect(script.retries).toHaveLength(36)
    expect(script.retries.filter((ms) => ms === 100)).toHaveLength(4)
    expect(seen).toEqual([])
    await events.return?.()
  })

  it('counts anew when it has heard something', async () => {
    const { script, events } = start()
    await settle()
    for (let i = 0; i < 15; i++) {
      script.last.tell('BOOKMARK', bookmark(`${101 + i}`))
      script.version = `${101 + i}`
      script.last.end(new Error('cut'))
      await settle()
    }
    expect(script.retries).toEqual(Array(15).fill(100))
    await events.return?.()
  })

  it('is resumed when the server is there again', async () => {
    const { script, seen, events } = start()
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    script.failing = new Error('not yet')
    script.version = '120'
    const { connections } = script
    script.last.end(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
    for (let i = 0; i < 5; i++) await Promise.resolve()
    expect(connections.length).toBe(1)
    script.failing = undefined
    await settle()
    expect(connections.length).toBe(2)
    expect(script.last.query.resourceVersion).toBe('101')
    expect(seen).toEqual(['ADDED a@101'])
    await events.return?.()
  })

  it('says in the end why the server is not there', async () => {
    const { script, seen, reading } = start()
    await settle()
    script.failing = new Error('connect ECONNREFUSED 127.0.0.1:6443')
    script.last.end(new Error('cut'))
    await reading
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^STORE_IO .*ECONNREFUSED/)
    expect(script.retries).toHaveLength(10)
  })

  it('does not continue with a server that has been set back', async () => {
    const { script, seen, reading } = start()
    await settle()
    script.last.tell('ADDED', objectAt('1000'))
    script.version = '999'
    script.last.end(new Error('cut'))
    await reading
    expect(seen).toEqual(['ADDED a@1000', 'STORE_VERSION_GONE {"resourceVersion":"1000","oldest":"0"}'])
  })

  it.each<[string, unknown, string]>([
    [
      'too old, as an event',
      statusOf(410, 'Expired', 'too old resource version: 100 (206)'),
      'STORE_VERSION_GONE {"resourceVersion":"100","oldest":"206"}',
    ],
    [
      'forbidden, as an event',
      statusOf(403, 'Forbidden', 'no'),
      'STORE_IO {"operation":"watch (kubernetes)","problem":"403: no"}',
    ],
  ])('ends with %s', async (_, status, expected) => {
    const { script, seen, reading } = start()
    await settle()
    script.last.tell('ERROR', status)
    await reading
    expect(seen).toEqual([expected])
    expect(script.last.aborted).toBe(true)
  })

  it.each<[number, string]>([
    [410, 'STORE_VERSION_GONE {"resourceVersion":"100","oldest":"0"}'],
    [403, 'STORE_IO {"operation":"watch (kubernetes)","problem":"403: told"}'],
    [404, 'STORE_IO {"operation":"watch (kubernetes)","problem":"404: told"}'],
    [400, 'STORE_INVALID {"object":"Pool","path":"query","problem":"400: told"}'],
  ])('ends with an answer %i', async (statusCode, expected) => {
    for (const field of ['statusCode', 'code']) {
      const { script, seen, reading } = start()
      await settle()
      script.last.end(Object.assign(new Error('told'), { [field]: statusCode }))
      await reading
      expect(seen).toEqual([expected])
      expect(script.retries).toEqual([])
    }
  })

  it.each<[string, (script: Script) => void]>([
    ['an answer 500', (script) => script.last.end(Object.assign(new Error('x'), { statusCode: 500 }))],
    ['an answer 429', (script) => script.last.end(Object.assign(new Error('x'), { statusCode: 429 }))],
    ['an answer 408', (script) => script.last.end(Object.assign(new Error('x'), { statusCode: 408 }))],
    ['an error that is a text', (script) => script.last.end('broken')],
    ['an error event', (script) => script.last.tell('ERROR', statusOf(500, 'InternalError', 'x'))],
    ['an error event that is none', (script) => script.last.tell('ERROR', null)],
    ['an event without an object', (script) => script.last.tell('ADDED', undefined)],
    ['an event with half an object', (script) => script.last.tell('ADDED', { metadata: { name: 'a' } })],
    ['a bookmark without a version', (script) => script.last.tell('BOOKMARK', { metadata: null })],
    ['a bookmark of nothing', (script) => script.last.tell('BOOKMARK', null)],
    ['the end of another request', (script) => script.last.end(Object.assign(new Error('x'), { name: 'AbortError' }))],
  ])('continues after %s', async (_, happen) => {
    const { script, seen, events } = start()
    await settle()
    happen(script)
    await settle()
    expect(script.connections.map(({ query }) => query.resourceVersion)).toEqual(['100', '100'])
    expect(script.connections[0]!.aborted).toBe(true)
    script.last.tell('ADDED', objectAt('101'))
    await settle()
    expect(seen).toEqual(['ADDED a@101'])
    expect(script.retries).toEqual([100])
    await events.return?.()
  })

  it('continues after a connection that could not be made', async () => {
    const { script, seen, events } = start({ resourceVersion: '99' })
    script.refusing = new Error('no')
    for (let i = 0; i < 20; i++) await Promise.resolve()
    script.refusing = undefined
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    await settle()
    expect(seen).toEqual(['ADDED a@101'])
    await events.return?.()
  })

  it('continues with a client that throws instead of rejecting', async () => {
    const { script, seen, events } = start()
    const { watch } = script.client
    let calls = 0
    script.client.watch = ((...given: Parameters<typeof watch>) => {
      if (calls++ === 0) throw new Error('at once')
      return watch(...given)
    }) as typeof watch
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    await settle()
    expect(seen).toEqual(['ADDED a@101'])
    await events.return?.()
  })
})

describe('where a watch begins', () => {
  const cases: [string, string][] = [
    ['yesterday', 'STORE_VERSION_GONE {"resourceVersion":"yesterday","oldest":"0"}'],
    ['0', 'STORE_VERSION_GONE {"resourceVersion":"0","oldest":"0"}'],
    ['', 'STORE_VERSION_GONE {"resourceVersion":"","oldest":"0"}'],
    ['101', 'STORE_VERSION_GONE {"resourceVersion":"101","oldest":"0"}'],
    ['1000', 'STORE_VERSION_GONE {"resourceVersion":"1000","oldest":"0"}'],
  ]
  it.each(cases)('not at %j', async (resourceVersion, expected) => {
    const { script, seen, reading } = start({ resourceVersion })
    await reading
    expect(seen).toEqual([expected])
    expect(script.connections).toEqual([])
  })

  it.each(['100', '99', '1'])('at %j', async (resourceVersion) => {
    const { script, seen, events } = start({ resourceVersion })
    await settle()
    expect(script.last.query.resourceVersion).toBe(resourceVersion)
    expect(seen).toEqual([])
    await events.return?.()
  })

  it('not where the server does not say where it is', async () => {
    const server = new ApiServerModel(kinds)
    for (const [answer, code] of [
      [refusal(403, 'Forbidden', 'no'), 'STORE_IO'],
      [{ status: 200, body: '{}' }, 'STORE_IO'],
      [{ status: 404, body: '404 page not found' }, 'STORE_IO'],
    ] as const) {
      server.before = () => answer
      const store = kubernetesStore(server, { sleep: async () => {}, kinds })
      const { value } = await store.watch(POOLS)[Symbol.asyncIterator]().next()
      expect(value).toMatchObject({ type: 'ERROR', failure: { code } })
    }
    expect(server.watched).toEqual([])
  })

  it('not with a query that is refused', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch({ ...POOLS, labels: { 'a b': 'x' } })[Symbol.asyncIterator]()
    expect(await events.next()).toMatchObject({ value: { type: 'ERROR', failure: { code: 'STORE_INVALID' } } })
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(script.connections).toEqual([])
  })
})

describe('the consumer', () => {
  it('gets what has come before an error', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS, { resourceVersion: '100' })[Symbol.asyncIterator]()
    const first = events.next()
    await settle()
    for (const version of ['101', '102', '103']) script.last.tell('ADDED', objectAt(version))
    script.last.tell('ERROR', statusOf(410, 'Expired', 'too old'))
    await settle()
    const steps = [await first, await events.next(), await events.next(), await events.next(), await events.next()]
    expect(steps.map((step) => (step.done ? 'end' : shown(step.value).slice(0, 18)))).toEqual([
      'ADDED a@101',
      'ADDED a@102',
      'ADDED a@103',
      'STORE_VERSION_GONE',
      'end',
    ])
  })

  it('may ask for several events at once, and gets them in order', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS, { resourceVersion: '100' })[Symbol.asyncIterator]()
    const asked = [events.next(), events.next(), events.next()]
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    script.last.tell('ADDED', objectAt('102'))
    await settle()
    await events.return?.()
    const steps = await Promise.all(asked)
    expect(steps.map((step) => (step.done ? 'end' : shown(step.value)))).toEqual(['ADDED a@101', 'ADDED a@102', 'end'])
    expect(script.last.aborted).toBe(true)
  })

  it('that leaves gets no event that has come meanwhile', async () => {
    const script = new Script()
    const store = kubernetesStore(script.client, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS, { resourceVersion: '100' })[Symbol.asyncIterator]()
    const first = events.next()
    await settle()
    script.last.tell('ADDED', objectAt('101'))
    script.last.tell('ADDED', objectAt('102'))
    await first
    await events.return?.()
    script.last.tell('ADDED', objectAt('103'))
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
  })

  it('that leaves before a connection is made ends it then', async () => {
    const script = new Script()
    let made: (connection: { abort(): void }) => void = () => {}
    let aborted = false
    const watch = () => new Promise<{ abort(): void }>((resolve) => (made = resolve))
    const store = kubernetesStore({ ...script.client, watch }, { sleep: script.sleep, kinds })
    const events = store.watch(POOLS, { resourceVersion: '100' })[Symbol.asyncIterator]()
    void events.next()
    await settle()
    await events.return?.()
    made({ abort: () => (aborted = true) })
    await settle()
    expect(aborted).toBe(true)
  })

  it('that leaves while the server is not there ends the waiting', async () => {
    const { script, events, seen, reading } = start()
    await settle()
    script.failing = new Error('no')
    script.last.end(new Error('cut'))
    await Promise.resolve()
    await events.return?.()
    await reading
    const { length } = script.retries
    await settle()
    expect([script.retries.length - length <= 1, seen]).toEqual([true, []])
  })

  it('that is slow does not have more than 1000 events waiting, and misses none', async () => {
    const server = new ApiServerModel(kinds)
    const store = kubernetesStore(server, { sleep: virtualSleep(), kinds })
    const { resourceVersion } = unwrap(await store.list(POOLS))
    const events = store.watch(POOLS, { resourceVersion })[Symbol.asyncIterator]()
    const names: string[] = []
    const take = async () => {
      const step = await events.next()
      if (!step.done && 'object' in step.value) names.push(step.value.object.metadata.name)
    }
    const expected = Array.from({ length: 2500 }, (_, index) => `p${index}`)
    for (const name of expected) await server.store.create(pool(name))
    while (names.length < 1) await take()
    await allSettled()
    expect([server.openWatches, server.watched.length]).toEqual([0, 1])
    while (names.length < 2500) await take()
    expect(names).toEqual(expected)
    expect(server.watched.length).toBeGreaterThan(1)
    await events.return?.()
    expect(server.openWatches).toBe(0)
  })

  it('that leaves while too many events wait', async () => {
    const server = new ApiServerModel(kinds)
    const store = kubernetesStore(server, { sleep: async () => {}, kinds })
    const { resourceVersion } = unwrap(await store.list(POOLS))
    for (let index = 0; index < 1200; index++) await server.store.create(pool(`p${index}`))
    const events = store.watch(POOLS, { resourceVersion })[Symbol.asyncIterator]()
    await events.next()
    await allSettled()
    await events.return?.()
    await allSettled()
    expect([server.openWatches, server.watched.length]).toEqual([0, 1])
    expect((await server.store.get(ref('p0'))).ok).toBe(true)
  })
})
