import { createHash } from 'node:crypto'
import { redisStore } from 'ipam-kit/store/redis'
import { conformanceKinds, storeConformance } from 'ipam-kit/testing'
import { describe, expect, it, test } from 'vitest'
import type { DocumentScope } from '../../src/store/engine/engine.js'
import type { WatchEvent } from '../../src/store/index.js'
import { RedisEngine } from '../../src/store/redis/engine.js'
import type { RedisStoreOptions } from '../../src/store/redis/redis-store.js'
import * as scripts from '../../src/store/redis/scripts.js'
import { RedisModel } from './redis-model.js'
import { virtualSleep } from './virtual-sleep.js'

const sleep = virtualSleep()
let uids = 0
const uid = () => `uid-${++uids}`

function options(more: Partial<RedisStoreOptions> = {}): RedisStoreOptions {
  return { now: Date.now, uid, kinds: conformanceKinds, sleep, pollMs: 20, ...more }
}

const callers = {
  'a client with call': (model: RedisModel) => ({ call: (...words: string[]) => model.send(...(words as [string])) }),
  'a client with sendCommand': (model: RedisModel) => ({
    sendCommand: (words: string[]) => model.send(...(words as [string])),
  }),
  'a client that sends everything twice': (model: RedisModel) => ({ call: RedisModel.resending(model) }),
}

for (const [name, callerOf] of Object.entries(callers)) {
  describe(name, () => {
    const model = new RedisModel()
    for (const { name, run } of storeConformance({ open: () => redisStore(callerOf(model), options()), sleep })) {
      it(name, run)
    }
  })
}

test('each script is known by the SHA-1 of its text', () => {
  for (const { text, sha } of Object.values(scripts)) expect(createHash('sha1').update(text).digest('hex')).toBe(sha)
})

const pool = (name: string, spec: object = {}) => ({
  apiVersion: 'x.dev/v1',
  kind: 'Pool',
  metadata: { namespace: 'n', name },
  spec,
})
const pools = { apiVersion: 'x.dev/v1', kind: 'Pool' }
const ref = (name: string) => ({ ...pools, namespace: 'n', name })

function open(more: Partial<RedisStoreOptions> = {}) {
  const model = new RedisModel()
  return { model, store: redisStore(callers['a client with call'](model), options(more)) }
}

describe('scripts', () => {
  test('are sent as a text only if the server does not know them', async () => {
    const { model, store } = open()
    await store.create(pool('a'))
    await store.create(pool('b'))
    model.forgetScripts()
    expect((await store.create(pool('c'))).ok).toBe(true)
    const once = ['EVALSHA commit', 'EVAL commit']
    expect(model.sent).toEqual([...once, 'EVALSHA commit', ...once])
  })

  test('have all their keys behind one hash tag', async () => {
    const keys: string[] = []
    const model = new RedisModel()
    const call = (...words: string[]) => {
      keys.push(...words.slice(3, 3 + Number(words[2])))
      return model.send(...(words as [string]))
    }
    const store = redisStore({ call }, options({ prefix: 'my:ipam' }))
    await store.create(pool('a'))
    await store.get(ref('a'))
    await store.list(pools)
    const events = store.watch(pools)[Symbol.asyncIterator]()
    await events.next()
    await events.return?.()
    expect(keys.length).toBeGreaterThan(10)
    expect(keys.filter((key) => !key.startsWith('{my:ipam}:'))).toEqual([])
  })
})

describe('the client', () => {
  test('call is used where there is sendCommand too, which is another one then', async () => {
    const model = new RedisModel()
    const client = {
      ...callers['a client with call'](model),
      sendCommand: () => Promise.reject(new Error('not for you')),
    }
    expect((await redisStore(client, options()).create(pool('a'))).ok).toBe(true)
  })

  test('one that answers other things than texts is told so, and a write through it is unknown', async () => {
    for (const answer of [Buffer.from('done'), [Buffer.from('done')], 'done', 7, {}, [[1]]]) {
      const store = redisStore({ call: async () => answer }, options())
      const made = await store.create(pool('a'))
      expect(!made.ok && made.failure.code).toBe('STORE_OUTCOME_UNKNOWN')
      const read = await store.list(pools)
      expect(!read.ok && read.failure.code).toBe('STORE_IO')
    }
  })

  test('one that answers nothing, as those with callbacks do, has not said that there is nothing', async () => {
    const store = redisStore({ call: async () => undefined }, options())
    expect(await store.get(ref('a'))).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
    for (const cuts of [
      ['f'],
      ['f', []],
      ['f\ng', ['1\n{}']],
      ['f', ['1\n{}', '2\n{}']],
      ['f', [null]],
      ['f', ['{}']],
    ]) {
      const cut = redisStore({ call: async () => ['1', '', ...cuts] }, options())
      const problem = expect.stringContaining('no script of this store answers')
      expect(await cut.list(pools)).toMatchObject({ ok: false, failure: { code: 'STORE_IO', context: { problem } } })
    }
  })
})

describe('a request', () => {
  test('whose id another one had is refused, and nothing is written', async () => {
    const { store } = open({ uid: () => 'always the same' })
    expect((await store.create(pool('a'))).ok).toBe(true)
    const second = await store.create(pool('b'))
    const problem = expect.stringContaining('options.uid')
    expect(second).toMatchObject({ ok: false, failure: { code: 'STORE_IO', context: { problem } } })
    expect(await store.get(ref('b'))).toMatchObject({ ok: false, failure: { code: 'STORE_NOT_FOUND' } })
  })

  test('that cannot have an id is not sent', async () => {
    for (const bad of [
      () => undefined as unknown as string,
      () => {
        throw new Error('no randomness')
      },
    ]) {
      let calls = 0
      const { store, model } = open({ uid: () => (++calls % 2 === 1 ? `u${calls}` : bad()) })
      const made = await store.create(pool('a'))
      expect(!made.ok && made.failure.code).toBe('STORE_IO')
      expect(model.sent).toEqual([])
    }
  })

  test('that is repeated after another client has deleted its object is still not a conflict', async () => {
    const model = new RedisModel()
    const direct = redisStore(callers['a client with call'](model), options())
    const late = redisStore(
      {
        call: async (...words) => {
          const first = await model.send(...words)
          if (Array.isArray(first) && first[0] === 'done') await direct.delete(ref('a'))
          return Array.isArray(first) && first[0] === 'done' ? model.send(...words) : first
        },
      },
      options(),
    )
    // so that the script is known
    await model.send('EVAL', scripts.commitScript.text, '6', '', '', '', '', '', 'r', 'x', '9', '', 'k', '1', '1', '1')
    // done once, deleted by another, and sent again: it must not come back
    expect((await late.create(pool('a'))).ok).toBe(true)
    expect(await direct.get(ref('a'))).toMatchObject({ ok: false, failure: { code: 'STORE_NOT_FOUND' } })
  })
})

describe('a long list', () => {
  const scope: DocumentScope = { group: 'g', kind: 'K' }
  const document = (name: string, text = `"${name}"`) => ({ key: { ...scope, namespace: 'n', name }, text })

  function engineOver(model: RedisModel, history = 1000) {
    const parts = { prefix: 'p', history, historyBytes: 1_000_000, requestId: uid, polling: { sleep }, answerBytes: 60 }
    return new RedisEngine({ send: (...words) => model.send(...words), repeats: false }, parts)
  }

  async function fill(engine: RedisEngine, names: readonly string[]) {
    for (const name of names) {
      const { key, text } = document(name)
      await engine.commit({ key, before: undefined, after: text })
    }
  }

  /** Does something between the scripts of a list. */
  function between(model: RedisModel, steps: readonly (() => Promise<unknown>)[]) {
    const left = [...steps]
    let scans = 0
    const send = model.send.bind(model)
    model.send = async (...words) => {
      const answer = await send(...words)
      if (model.sent.at(-1)?.endsWith(' scan') && scans++ < steps.length) await left.shift()?.()
      return answer
    }
  }

  test('is of one moment, whatever happens between its parts', async () => {
    const model = new RedisModel()
    const [reader, writer] = [engineOver(model), engineOver(model)]
    const names = ['b', 'd', 'f', 'h', 'j', 'l', 'n', 'p']
    await fill(reader, names)
    const change = async (name: string, after: string | undefined) => {
      const { key } = document(name)
      await writer.commit({ key, before: await writer.read(key), after })
    }
    between(model, [
      async () => {
        await change('a', '"made before where the list is"')
        await change('b', '"changed behind it"')
        await change('p', '"changed before it is read"')
      },
      async () => {
        await change('d', undefined)
        await change('c', '"made"')
        await change('c', undefined)
        await change('o', '"new"')
      },
    ])
    const page = await reader.scan(scope, {})
    expect(page.documents.map(({ text }) => JSON.parse(text))).toEqual([
      ...['made before where the list is', 'changed behind it', 'f', 'h', 'j', 'l', 'n', 'new'],
      'changed before it is read',
    ])
    expect(page).toMatchObject({ hasMore: false, revision: (await reader.scan(scope, {})).revision })
    for (const { text, revision } of page.documents) {
      const found = (await reader.scan(scope, {})).documents.find((each) => each.text === text)
      expect(found?.revision).toBe(revision)
    }
    const rest = await reader.scan(scope, { after: { namespace: 'n', name: 'h' } })
    expect(rest.documents.map(({ text }) => text)).toEqual(page.documents.slice(4).map(({ text }) => text))
  })

  test('behind a place has nothing before it, also of what changed meanwhile', async () => {
    const model = new RedisModel()
    const [reader, writer] = [engineOver(model), engineOver(model)]
    await fill(reader, ['b', 'd', 'f', 'h', 'j', 'l'])
    between(model, [() => fill(writer, ['a', 'c', 'e', 'k'])])
    const { documents } = await reader.scan(scope, { after: { namespace: 'n', name: 'd' } })
    expect(documents.map(({ text }) => JSON.parse(text))).toEqual(['e', 'f', 'h', 'j', 'k', 'l'])
  })

  test('is read in one go in the end, if more is written than is kept of the past', async () => {
    const model = new RedisModel()
    const [reader, writer] = [engineOver(model), engineOver(model, 1)]
    await fill(reader, ['b', 'd', 'f', 'h', 'j', 'l', 'n', 'p'])
    let more = 0
    between(
      model,
      Array.from({ length: 50 }, () => () => fill(writer, [`a${++more}`, `aa${more}`])),
    )
    const { documents, revision } = await reader.scan(scope, {})
    // twice in parts, then in one: nothing was written between the last script and its answer
    expect(more).toBeGreaterThan(8)
    expect(documents.length).toBe(8 + 2 * (more - 1))
    expect(BigInt(revision)).toBe(1_700_000_000_000_000n + BigInt(8 + 2 * (more - 1)))
  })

  test('of a namespace has that of no other, before or behind it', async () => {
    const engine = engineOver(new RedisModel())
    for (const namespace of ['', 'm', 'n', 'n-1', 'n0', 'o']) {
      await engine.commit({ key: { ...scope, namespace, name: 'a' }, before: undefined, after: `"${namespace}"` })
    }
    const { documents, hasMore } = await engine.scan({ ...scope, namespace: 'n' }, { limit: 1 })
    expect([documents.map(({ text }) => text), hasMore]).toEqual([['"n"'], false])
    const all = await engine.scan({ ...scope, namespace: 'n' }, {})
    expect(all.documents).toEqual(documents)
    const page = await engine.changes({ ...scope, namespace: 'n' }, '0', 10)
    expect(page).toMatchObject({ kind: 'page', changes: [{ after: '"n"' }] })
  })

  test('with a limit may have less than that, and says so', async () => {
    const model = new RedisModel()
    const engine = engineOver(model)
    await fill(engine, ['b', 'd', 'f', 'h', 'j', 'l'])
    const page = await engine.scan(scope, { limit: 5 })
    expect(page.hasMore).toBe(true)
    expect(page.documents.length).toBeLessThan(5)
    const all = await engine.scan(scope, { limit: 2 })
    expect([all.documents.length, all.hasMore]).toEqual([2, true])
  })
})

describe('a watch', () => {
  async function firstOf(events: AsyncIterable<WatchEvent>): Promise<WatchEvent> {
    for await (const event of events) return event
    throw new Error('it has ended')
  }

  test('from before the oldest change that is kept is told to list again, and how far back it could begin', async () => {
    const { store } = open({ history: 3 })
    const versions: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const made = await store.create(pool(name))
      if (made.ok) versions.push(made.value.metadata.resourceVersion!)
    }
    const gone = await firstOf(store.watch(pools, { resourceVersion: versions[0] }))
    expect(gone).toMatchObject({
      type: 'ERROR',
      failure: { code: 'STORE_VERSION_GONE', context: { resourceVersion: versions[0], oldest: versions[1] } },
    })
    const next = await firstOf(store.watch(pools, { resourceVersion: versions[1] }))
    expect(next).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'c' } } })
  })

  test('of a store that was emptied is told so, whatever was written since', async () => {
    const { store, model } = open()
    const made = await store.create(pool('a'))
    const resourceVersion = made.ok ? made.value.metadata.resourceVersion! : ''
    const live = store.watch(pools, { resourceVersion })[Symbol.asyncIterator]()
    expect((await live.next()).value).toMatchObject({ type: 'BOOKMARK', resourceVersion })
    model.flush()
    expect((await live.next()).value).toMatchObject({ type: 'ERROR', failure: { code: 'STORE_VERSION_GONE' } })
    for (let i = 0; i < 20; i++) await store.create(pool(`b${i}`))
    const later = await firstOf(store.watch(pools, { resourceVersion }))
    expect(later).toMatchObject({ type: 'ERROR', failure: { code: 'STORE_VERSION_GONE' } })
  })

  test('of one namespace passes over many changes of others, some at a time', async () => {
    const { store, model } = open()
    const { metadata, ...rest } = pool('a')
    for (let i = 0; i < 4500; i++) await store.create({ ...rest, metadata: { namespace: 'other', name: `o${i}` } })
    await store.create({ ...rest, metadata })
    let scripts = 0
    model.before = () => scripts++
    const event = await firstOf(store.watch({ ...pools, namespace: 'n' }, { resourceVersion: '0' }))
    expect(event).toMatchObject({ type: 'ADDED', object: { metadata } })
    expect(scripts).toBe(3)
  })

  test('whose subscription fails says so', async () => {
    const subscribe = () => {
      throw new Error('no subscription')
    }
    const event = await firstOf(open({ subscribe }).store.watch(pools))
    const context = { problem: 'no subscription' }
    expect(event).toMatchObject({ type: 'ERROR', failure: { code: 'STORE_IO', context } })
  })

  const never = () => new Promise(() => {})

  test('need not wait for what its own store writes', async () => {
    const model = new RedisModel()
    const store = redisStore(callers['a client with call'](model), options({ sleep: never }))
    const events = store.watch(pools)[Symbol.asyncIterator]()
    await events.next()
    const own = events.next()
    await store.create(pool('a'))
    expect((await own).value).toMatchObject({ object: { metadata: { name: 'a' } } })
    await events.return?.()
  })

  test('that is told of what is published need not wait for any write, and looks once for each', async () => {
    const model = new RedisModel()
    let publish = () => {}
    const subscribe = (wake: () => void) => {
      publish = wake
      return () => {}
    }
    const store = redisStore(callers['a client with call'](model), options({ sleep: never, subscribe }))
    const other = redisStore(callers['a client with call'](model), options())
    const events = store.watch(pools)[Symbol.asyncIterator]()
    await events.next()
    for (const [name, writer] of Object.entries({ a: store, b: other })) {
      const next = events.next()
      await writer.create(pool(name))
      let scripts = 0
      model.before = () => scripts++
      publish()
      expect((await next).value).toMatchObject({ object: { metadata: { name } } })
      expect(scripts).toBe(1)
    }
    await events.return?.()
  })
})

describe('options', () => {
  test.each<[string, object]>([
    ['prefix', { prefix: '' }],
    ['prefix', { prefix: 'a{b}' }],
    ['prefix', { prefix: 'with space' }],
    ['prefix', { prefix: 7 }],
    ['history', { history: 0 }],
    ['historyBytes', { historyBytes: 0 }],
    ['sleep', { sleep: undefined }],
    ['pollMs', { pollMs: 0 }],
    ['uid', { uid: 'x' }],
  ])('%s: %j is refused', (argument, wrong) => {
    const make = () => redisStore({ call: async () => null }, { ...options(), ...wrong } as RedisStoreOptions)
    expect(make).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(argument) }),
    )
  })

  test.each<unknown>([undefined, null, 'redis', {}, { call: 'x' }, { sendCommand: 1 }])(
    'the client %j is refused',
    (client) => {
      const make = () => redisStore(client as never, options())
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    },
  )
})
