import { redisStore } from 'ipam-kit/store/redis'
import { describe, expect, test } from 'vitest'
import { failureOf } from './failure-of.js'
import { RedisModel } from './redis-model.js'

const object = { apiVersion: 'x.dev/v1', kind: 'Pool', metadata: { namespace: 'n', name: 'a' }, spec: { x: 1 } }
const ref = { apiVersion: 'x.dev/v1', kind: 'Pool', namespace: 'n', name: 'a' }

/** A store whose writes fail with an error, before or after they are done. */
function open(error: unknown, when: 'before' | 'after') {
  const model = new RedisModel()
  let uids = 0
  const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
  const options = { now: Date.now, uid: () => `u${++uids}`, sleep }
  const store = redisStore({ call: (...words) => model.send(...words) }, options)
  const fail = () => {
    model[when] = (name) => {
      if (name === 'commit') throw error
    }
  }
  const heal = () => {
    model[when] = () => {}
  }
  return { store, fail, heal }
}

// as ioredis and node-redis have them: their classes differ, and bundlers rename classes
const reply = (message: string) =>
  Object.assign(new Error(message), { name: 'ReplyError', command: { name: 'EVALSHA' } })
const system = (message: string, code: string) =>
  Object.assign(new Error(message), { code, errno: -104, syscall: 'read' })

/** The server has said no, or the command never left: nothing was written. */
const REFUSALS = [
  "OOM command not allowed when used memory > 'maxmemory'. script: 7959, on @user_script:47.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  'NOREPLICAS Not enough good replicas to write.',
  "READONLY You can't write against a read only replica.",
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'LOADING Redis is loading the dataset in memory',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'CLUSTERDOWN Hash slot not served',
  'CLUSTERDOWN The cluster is down',
  'MOVED 3999 127.0.0.1:6381',
  'ASK 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  "CROSSSLOT Keys in request don't hash to the same slot",
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  'NOPERM this user may not run ZADD on the keys of the store',
  'DENIED Redis is running in protected mode',
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 7959, on @user_script:36.',
  'EXECABORT Transaction discarded because of previous errors.',
  "ERR unknown command 'EVALSHA', with args beginning with:",
  'ERR value is not an integer or out of range script: 7959, on @user_script:62.',
  'ERR Error running script (call to f_7959): @user_script:30: Script killed by user with SCRIPT KILL...',
  'ERR max number of clients reached',
  'The client is offline',
  'The client is closed',
  'The queue is full',
]

/** Whoever says this does not know whether the server has done it. */
const UNKNOWNS: readonly unknown[] = [
  system('read ECONNRESET', 'ECONNRESET'),
  system('write EPIPE', 'EPIPE'),
  // of the next attempt to connect: the command may have been sent on a connection before
  system('connect ECONNREFUSED 127.0.0.1:6379', 'ECONNREFUSED'),
  system('connect ETIMEDOUT', 'ETIMEDOUT'),
  new Error('Connection is closed.'),
  new Error('Command timed out'),
  new Error('Socket closed unexpectedly'),
  new Error('Disconnects client'),
  new Error("Socket timeout timeout. Expecting data, but didn't receive any in 5000ms."),
  new Error("Stream isn't writeable and enableOfflineQueue options is false"),
  Object.assign(
    new Error(
      'Reached the max retries per request limit (which is 1). Refer to "maxRetriesPerRequest" option for details.',
    ),
    { name: 'MaxRetriesPerRequestError' },
  ),
  // of proxies, about the server behind them
  reply('ERR Connection timed out'),
  reply('ERR Connection reset by peer'),
  reply('ERR upstream failure'),
  reply('upstream failure'),
  reply('no upstream host'),
  // what no server is known to say
  reply('TLS handshake failed'),
  reply('IO error'),
  reply('NEWCODE that comes one day'),
  new Error('ERROR'),
  new Error(''),
  'text',
  undefined,
  null,
]

describe('an error that says that nothing was written', () => {
  test.each(REFUSALS)('%s', async (message) => {
    const error = reply(message)
    const { store, fail, heal } = open(error, 'before')
    fail()
    const problem = message.length > 300 ? expect.any(String) : message
    const failure = failureOf(await store.create(object))
    expect(failure).toMatchObject({ code: 'STORE_IO', context: { problem } })
    expect(failure.cause).toBe(error)
    heal()
    expect(await store.get(ref)).toMatchObject({ ok: false, failure: { code: 'STORE_NOT_FOUND' } })
    const made = await store.create(object)
    expect(made.ok).toBe(true)
    fail()
    const context = { operation: 'patch (redis)', problem }
    expect(await store.patch(ref, { spec: { x: 2 } })).toMatchObject({
      ok: false,
      failure: { code: 'STORE_IO', context },
    })
    expect(await store.delete(ref)).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
    expect(await store.get(ref)).toEqual(made)
  })
})

describe('an error that says nothing of it', () => {
  test.each(UNKNOWNS.map((error) => [String(error), error]))('%s', async (_, error) => {
    for (const when of ['before', 'after'] as const) {
      const { store, fail } = open(error, when)
      fail()
      expect(await store.create(object)).toMatchObject({ ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN' } })
      // whoever reads then knows
      expect((await store.get(ref)).ok).toBe(when === 'after')
    }
  })

  test('a script that stopped halfway', async () => {
    const call = async () => ['partial', 'ERR something that Redis has never said']
    const store = redisStore({ call }, { now: Date.now, uid: () => 'u', sleep: async () => {} })
    expect(await store.create(object)).toMatchObject({
      ok: false,
      failure: { code: 'STORE_OUTCOME_UNKNOWN', context: { problem: expect.stringContaining('never said') } },
    })
  })
})

describe('a refusal of a command that may have been sent before', () => {
  const refusal = reply('LOADING Redis is loading the dataset in memory')
  let uids = 0
  const options = { now: Date.now, uid: () => `u${++uids}`, sleep: async () => {} }

  test('is no refusal if it was done before', async () => {
    const { store, fail } = open(refusal, 'after')
    fail()
    const made = await store.create(object)
    expect(made).toEqual(await store.get(ref))
    const deleted = await store.delete(ref)
    expect(deleted.ok).toBe(true)
    expect((await store.get(ref)).ok).toBe(false)
  })

  test('that was done before is told to the watches of the store', async () => {
    const model = new RedisModel()
    model.after = (name) => {
      if (name === 'commit') throw refusal
    }
    const never = () => new Promise(() => {})
    const store = redisStore({ call: (...words) => model.send(...words) }, { ...options, sleep: never })
    const events = store.watch({ apiVersion: ref.apiVersion, kind: ref.kind })[Symbol.asyncIterator]()
    await events.next()
    const next = events.next()
    await store.create(object)
    expect((await next).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } })
    await events.return?.()
  })

  test('of a client with sentinels is none either: it sends again what was not answered', async () => {
    const model = new RedisModel()
    let errors: unknown[] = []
    model.after = (name) => {
      if (name === 'commit' && errors.length > 1) throw errors.shift()
    }
    model.before = (name) => {
      if (name === 'commit' && errors.length === 1) throw errors.shift()
    }
    const sentinel = {
      async sendCommand(_: boolean, words: string[]): Promise<unknown> {
        for (let tries = 16; ; tries--) {
          try {
            return await model.send(...(words as [string]))
          } catch (error) {
            if (tries === 0 || (error as Error).message !== 'Socket closed unexpectedly') throw error
          }
        }
      },
    }
    // as said at RedisClient
    const store = redisStore({ call: (...words) => sentinel.sendCommand(false, words) }, options)
    expect((await store.create({ ...object, metadata: { namespace: 'n', name: 'first' } })).ok).toBe(true)
    errors = [new Error('Socket closed unexpectedly'), refusal]
    const made = await store.create(object)
    expect(errors).toEqual([])
    expect(made).toEqual(await store.get(ref))
  })

  test('says nothing if that cannot be found out', async () => {
    const store = redisStore({ call: () => Promise.reject(refusal) }, options)
    expect(await store.create(object)).toMatchObject({ ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN' } })
  })

  test('is one from a client that does not do that', async () => {
    const store = redisStore({ sendCommand: () => Promise.reject(refusal) }, options)
    expect(await store.create(object)).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
  })
})

describe('an error of a read', () => {
  test.each([REFUSALS[0]!, 'Connection is closed.'])('%s', async (message) => {
    const store = redisStore(
      { call: () => Promise.reject(reply(message)) },
      { now: Date.now, uid: () => 'u', sleep: async () => {} },
    )
    const expected = { ok: false, failure: { code: 'STORE_IO', context: { problem: message } } }
    expect(await store.get(ref)).toMatchObject(expected)
    expect(await store.list(ref)).toMatchObject(expected)
    expect(await store.patch(ref, { spec: {} })).toMatchObject(expected)
    for await (const event of store.watch(ref)) {
      expect(event).toMatchObject({ type: 'ERROR', failure: { code: 'STORE_IO' } })
    }
  })

  test('a client that throws instead of rejecting', async () => {
    const call = () => {
      throw new Error('Connection is closed.')
    }
    const store = redisStore({ call }, { now: Date.now, uid: () => 'u', sleep: async () => {} })
    expect(await store.get(ref)).toMatchObject({ ok: false, failure: { code: 'STORE_IO' } })
    expect(await store.create(object)).toMatchObject({ ok: false, failure: { code: 'STORE_OUTCOME_UNKNOWN' } })
  })
})
