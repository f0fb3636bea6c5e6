import { unwrap } from 'ipam-kit/errors'
import type { Store, WatchEvent } from 'ipam-kit/store'
import {
  type DocumentChange,
  type DocumentWrite,
  engineStore,
  type StoredDocument,
  type StoreEngine,
} from 'ipam-kit/store/engine'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Commit, DocumentScope, EngineEvent, Stop } from '../../src/store/engine/engine.js'
import { failure, POOL, pool, query, REGION, ref } from './memory-fixture.js'

/** An engine in memory, of which every function can be replaced. */
class TestEngine implements StoreEngine {
  readonly name = 'test'
  readonly documents = new Map<string, StoredDocument>()
  readonly writes: DocumentWrite[] = []
  readonly calls: string[] = []
  changes: DocumentChange[] = []
  revision = 0
  wakes = new Set<() => void>()

  async read({ namespace, name }: { namespace: string; name: string }): Promise<StoredDocument | undefined> {
    this.calls.push('read')
    return this.documents.get(`${namespace} ${name}`)
  }

  async scan(_: DocumentScope, { after, limit = Number.POSITIVE_INFINITY }: Parameters<StoreEngine['scan']>[1]) {
    this.calls.push('scan')
    const keys = [...this.documents.keys()].sort().filter((key) => !after || key > `${after.namespace} ${after.name}`)
    const documents = keys.slice(0, limit).map((key) => this.documents.get(key)!)
    return { documents, revision: String(this.revision), hasMore: keys.length > limit }
  }

  async commit(write: DocumentWrite): Promise<Commit> {
    this.calls.push('commit')
    const key = `${write.key.namespace} ${write.key.name}`
    if (this.documents.get(key)?.revision !== write.before?.revision) return { kind: 'stale' }
    this.writes.push(write)
    const revision = String(++this.revision)
    if (write.after === undefined) this.documents.delete(key)
    else this.documents.set(key, { text: write.after, revision })
    this.changes.push({ revision, before: write.before?.text, after: write.after })
    for (const wake of this.wakes) wake()
    return { kind: 'done', revision }
  }

  async *follow(_scope: DocumentScope, _after: string | undefined, _stop: Stop): AsyncGenerator<EngineEvent> {}
}

let engine: TestEngine
let store: Store
let uids: number

beforeEach(() => {
  engine = new TestEngine()
  uids = 0
  store = engineStore(engine, { now: () => 0, uid: () => `uid-${++uids}`, kinds: [POOL, REGION] })
})

const create = async (name: string, spec: unknown = {}) => unwrap(await store.create(pool(name, { spec })))

describe('writes', () => {
  it('of a new object are one call, all others two', async () => {
    const made = await create('a')
    expect(engine.calls).toEqual(['commit'])
    engine.calls.length = 0
    await store.update({ ...made, spec: 1 })
    expect(engine.calls).toEqual(['read', 'commit'])
  })

  it('that change nothing are not done', async () => {
    const made = await create('a', { x: 1 })
    engine.calls.length = 0
    expect(unwrap(await store.patch(ref('a'), { spec: { x: 1 } }))).toEqual(made)
    expect(unwrap(await store.update(made))).toEqual(made)
    expect(engine.calls).toEqual(['read', 'read'])
  })

  it('keep the version out of the text', async () => {
    const made = await create('a')
    const [{ after }] = engine.writes as [DocumentWrite]
    expect(made.metadata.resourceVersion).toBe('1')
    expect(JSON.parse(after!).metadata).not.toHaveProperty('resourceVersion')
  })

  it('answer with the revision of a deletion, and the object as it was', async () => {
    const made = await create('a', { x: 1 })
    const gone = unwrap(await store.delete(ref('a')))
    expect(gone).toEqual({ ...made, metadata: { ...made.metadata, resourceVersion: '2' } })
  })

  it('that meet another writer decide again on what is there now', async () => {
    await create('a', { count: 1 })
    const { commit } = engine
    let others = 3
    engine.commit = async (write) => {
      if (others-- > 0)
        await commit.call(engine, {
          ...write,
          after: JSON.stringify({ ...JSON.parse(write.before!.text), spec: { others } }),
        })
      return commit.call(engine, write)
    }
    expect(unwrap(await store.patch(ref('a'), { spec: { mine: true } })).spec).toEqual({ others: 0, mine: true })
  })

  it('that were made from a version end with a conflict when another writer was there', async () => {
    const made = await create('a')
    const { commit } = engine
    engine.commit = async (write) => {
      engine.commit = commit
      await store.patch(ref('a'), { spec: { other: true } })
      return commit.call(engine, write)
    }
    expect(failure(await store.update({ ...made, spec: 1 }))).toMatchObject({ code: 'STORE_CONFLICT' })
  })

  it('of a new object whose name was taken meanwhile fail, and are done if the name is free again', async () => {
    await create('a')
    expect(failure(await store.create(pool('a')))).toMatchObject({ code: 'STORE_ALREADY_EXISTS' })
    const { read } = engine
    engine.read = async (key) => {
      engine.read = read
      await store.delete(ref('a'))
      return read.call(engine, key)
    }
    expect(unwrap(await store.create(pool('a', { spec: 'new' }))).spec).toBe('new')
  })

  it('give up where others are faster for ever', async () => {
    await create('a')
    engine.commit = async () => ({ kind: 'stale' })
    engine.calls.length = 0
    expect(failure(await store.patch(ref('a'), { spec: 2 }))).toMatchObject({ code: 'STORE_CONFLICT' })
    expect(engine.calls.length).toBe(100)
  })

  it.each(['create', 'patch', 'update', 'delete'] as const)(
    '%s: what rejects is not known, what is refused was not done',
    async (operation) => {
      const made = await create('a')
      const write = () =>
        operation === 'create'
          ? store.create(pool('b'))
          : operation === 'patch'
            ? store.patch(ref('a'), { spec: 1 })
            : operation === 'update'
              ? store.update({ ...made, spec: 1 })
              : store.delete(ref('a'))
      const shown = operation === 'create' ? 'Pool ns/b' : 'Pool ns/a'
      const cause = new Error('connection reset')
      engine.commit = () => Promise.reject(cause)
      const unknown = await write()
      expect(unknown).toMatchObject({
        failure: {
          code: 'STORE_OUTCOME_UNKNOWN',
          context: { object: shown, problem: 'connection reset', operation: `${operation} (test)` },
        },
      })
      expect(!unknown.ok && unknown.failure.cause).toBe(cause)
      engine.commit = async () => ({ kind: 'refused', problem: 'read-only', cause })
      expect(failure(await write())).toEqual({
        code: 'STORE_IO',
        context: { operation: `${operation} (test)`, problem: 'read-only' },
      })
      engine.commit = async () => ({ kind: 'too-large', sizeBytes: 7, maxBytes: 5 })
      expect(failure(await write())).toEqual({
        code: 'STORE_OBJECT_TOO_LARGE',
        context: { object: shown, sizeBytes: 7, maxBytes: 5 },
      })
    },
  )

  it('that cannot read first have written nothing', async () => {
    await create('a')
    engine.read = () => Promise.reject(new Error('down'))
    expect(failure(await store.patch(ref('a'), { spec: 1 }))).toEqual({
      code: 'STORE_IO',
      context: { operation: 'patch (test)', problem: 'down' },
    })
  })
})

describe('reads', () => {
  it.each(['{', 'null', '7', '{}', '{"metadata":[]}', '{"metadata":{}}'])(
    'say so if what is stored is %s',
    async (text) => {
      engine.documents.set('ns a', { text, revision: '1' })
      for (const read of [() => store.get(ref('a')), () => store.list(query), () => store.patch(ref('a'), {})]) {
        expect(failure(await read())).toMatchObject({ code: 'STORE_IO' })
      }
    },
  )

  it.each(['A', 'a b', 'a/b', '../a', '', 'a\u0000'])('do not ask the engine for the name %j', async (name) => {
    engine.read = () => Promise.reject(new Error('asked'))
    expect(failure(await store.get(ref(name)))).toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(failure(await store.delete(ref(name)))).toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(failure(await store.patch(ref(name), { spec: 1 }))).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it.each([{ kind: 'P ool' }, { apiVersion: 'a b/v1' }, { namespace: 'N S' }])('list nothing of %j', async (parts) => {
    await create('a')
    expect(unwrap(await store.list({ ...query, ...parts }))).toEqual({ items: [], resourceVersion: '1' })
  })

  it('end a list of an engine that promises more and gives none', async () => {
    engine.scan = async () => ({ documents: [], revision: '5', hasMore: true })
    expect(unwrap(await store.list(query, { limit: 3 }))).toEqual({ items: [], resourceVersion: '5' })
  })

  it('find the few that a selector chooses in a few steps, whatever the page is', async () => {
    for (let i = 0; i < 1000; i++) await create(`p-${String(i).padStart(3, '0')}`)
    engine.calls.length = 0
    const chosen: string[] = []
    let token: string | undefined
    do {
      const page = unwrap(
        await store.list({ ...query, fields: { 'metadata.name': 'p-998' } }, { limit: 1, continue: token }),
      )
      chosen.push(...page.items.map(({ metadata }) => metadata.name))
      token = page.continue
    } while (token !== undefined)
    expect(chosen).toEqual(['p-998'])
    expect(engine.calls.length).toBeLessThan(15)
  })

  it('shorten what an engine says of its trouble', async () => {
    engine.read = () => Promise.reject(new Error('x'.repeat(5000)))
    const got = failure(await store.get(ref('a'))) as { context: { problem: string } }
    expect(got.context.problem.length).toBeLessThan(1_100)
    engine.read = () => Promise.reject('a text')
    expect(failure(await store.get(ref('a')))).toMatchObject({ context: { problem: 'a text' } })
  })
})

describe('options', () => {
  it.each([
    [undefined],
    [{}],
    [{ now: Date.now }],
    [{ now: 1, uid: String }],
    [{ now: Date.now, uid: String, maxObjectBytes: 0 }],
  ])('%j are refused', (options) => {
    expect(() => engineStore(engine, options as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('tell what the store cannot do by itself', () => {
    expect(store.capabilities).toEqual({
      collectsGarbage: false,
      checksSchemas: false,
      convertsVersions: false,
      maxObjectBytes: 1_572_864,
    })
  })
})

/** Lets everything that is ready go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('watch', () => {
  it('ends with STORE_IO if the engine throws', async () => {
    engine.follow = async function* () {
      yield { kind: 'at', revision: '3' }
      throw new Error('cut')
    }
    const events = store.watch(query, { resourceVersion: '3' })[Symbol.asyncIterator]()
    expect((await events.next()).value).toEqual({ type: 'BOOKMARK', resourceVersion: '3' })
    expect((await events.next()).value).toMatchObject({
      type: 'ERROR',
      failure: { code: 'STORE_IO', context: { problem: 'cut' } },
    })
    expect((await events.next()).done).toBe(true)
  })

  describe('whose engine throws when it is to end', () => {
    const callbacks: string[] = []
    const watchThrowing = (problem?: Error) => {
      callbacks.length = 0
      engine.follow = async function* (_scope, _after, stop) {
        stop.onStop(() => {
          callbacks.push('first')
          throw new Error('unlisten failed')
        })
        stop.onStop(() => void callbacks.push('second'))
        yield { kind: 'at', revision: '3' }
        if (problem !== undefined) throw problem
        await new Promise(() => {})
      }
      return store.watch(query, { resourceVersion: '3' })[Symbol.asyncIterator]()
    }

    it('ends the call that waits, calls all back and rejects', async () => {
      const events = watchThrowing()
      await events.next()
      const waiting = events.next()
      await settle()
      await expect(events.return?.()).rejects.toThrow('unlisten failed')
      expect(await waiting).toEqual({ done: true, value: undefined })
      expect(callbacks).toEqual(['first', 'second'])
      expect([await events.return?.(), await events.next()].map((step) => step?.done)).toEqual([true, true])
    })

    it('tells what it has to tell first', async () => {
      const events = watchThrowing(new Error('cut'))
      await events.next()
      expect((await events.next()).value).toMatchObject({ failure: { context: { problem: 'cut' } } })
      expect((await events.next()).done).toBe(true)
      await expect(events.return?.()).rejects.toThrow('unlisten failed')
    })

    it('tells it later if it comes later', async () => {
      callbacks.length = 0
      let isAsked = () => {}
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve
      })
      engine.follow = async function* (_scope, _after, stop) {
        yield { kind: 'at', revision: '3' }
        isAsked()
        await settle()
        stop.onStop(() => {
          callbacks.push('late')
          throw new Error('late')
        })
      }
      const events = store.watch(query, { resourceVersion: '3' })[Symbol.asyncIterator]()
      await events.next()
      void events.next()
      await asked
      expect((await events.return?.())?.done).toBe(true)
      await settle()
      await settle()
      await expect(events.return?.()).rejects.toThrow('late')
      expect(callbacks).toEqual(['late'])
    })
  })

  it('ends when the engine ends', async () => {
    expect((await store.watch(query)[Symbol.asyncIterator]().next()).done).toBe(true)
  })

  it('tells which version no longer exists', async () => {
    engine.follow = async function* () {
      yield { kind: 'gone', oldest: '9' }
    }
    const [event] = await take(store.watch(query, { resourceVersion: '3' }), 1)
    expect(event).toMatchObject({
      failure: { code: 'STORE_VERSION_GONE', context: { resourceVersion: '3', oldest: '9' } },
    })
  })

  it.each(['x', '-1', '1.5', '01', '', '1'.repeat(20)])(
    'does not ask the engine for the version %j',
    async (resourceVersion) => {
      engine.follow = () => {
        throw new Error('asked')
      }
      const [event] = await take(store.watch(query, { resourceVersion }), 1)
      expect(event).toMatchObject({ failure: { code: 'STORE_VERSION_GONE' } })
    },
  )

  it.each([
    { kind: 'Pool\u0000' },
    { kind: 'P ool' },
    { apiVersion: 'x\u0000/v1' },
    { namespace: 'n\u0000' },
    { namespace: 'N' },
  ])('and list of %j ask the engine only for what can hold nothing', async (parts) => {
    const scopes: DocumentScope[] = []
    engine.scan = async (scope) => {
      scopes.push(scope)
      return { documents: [], revision: '5', hasMore: false }
    }
    engine.follow = async function* (scope, after) {
      scopes.push(scope)
      yield { kind: 'at', revision: after ?? '5' }
      yield { kind: 'at', revision: '6' }
    }
    const bookmarks = ['3', '6'].map((resourceVersion) => ({ type: 'BOOKMARK', resourceVersion }))
    expect(await take(store.watch({ ...query, ...parts }, { resourceVersion: '3' }), 3)).toEqual(bookmarks)
    unwrap(await store.list({ ...query, ...parts }))
    // no kind begins like that
    expect(scopes).toEqual(scopes.map(() => ({ group: '', kind: '-' })))
    expect(scopes.length).toBe(2)
  })

  it('ends for the consumer also if the engine does not', async () => {
    engine.follow = async function* () {
      yield { kind: 'at', revision: '1' }
      await new Promise(() => {})
    }
    const events = store.watch(query)[Symbol.asyncIterator]()
    await events.next()
    const waiting = events.next()
    await settle()
    await events.return?.()
    expect((await waiting).done).toBe(true)
  })

  it('tells the engine once that it has no listener, however it is ended', async () => {
    const stops: Stop[] = []
    engine.follow = async function* (_scope, _after, stop) {
      stops.push(stop)
      yield { kind: 'at', revision: '1' }
      await new Promise<void>((resolve) => stop.onStop(resolve))
    }
    const events = store.watch(query)[Symbol.asyncIterator]()
    expect(stops).toEqual([])
    await events.next()
    expect(stops.map(({ isStopped }) => isStopped)).toEqual([false])
    const waiting = [events.next(), events.next()]
    await settle()
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    for (const step of await Promise.all(waiting)) expect(step.done).toBe(true)
    expect(stops[0]!.isStopped).toBe(true)
    let isCalled = false
    stops[0]!.onStop(() => {
      isCalled = true
    })
    expect(isCalled).toBe(true)
  })
})

async function take(events: AsyncIterable<WatchEvent>, count: number): Promise<WatchEvent[]> {
  const seen: WatchEvent[] = []
  for await (const event of events) if (seen.push(event) === count) break
  return seen
}
