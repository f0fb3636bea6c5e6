import { defineProvider, handleCalls } from 'ipam-kit/provider/claims'
import { Controller } from 'ipam-kit/run'
import { etcdStore } from 'ipam-kit/store/etcd'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { memoryStore } from 'ipam-kit/store/memory'
import { postgresStore } from 'ipam-kit/store/postgres'
import { redisStore } from 'ipam-kit/store/redis'
import { sqliteStore } from 'ipam-kit/store/sqlite'
import { describe, expect, test } from 'vitest'
import { FakeDatabase } from './sqlite-fake.js'

const options = { now: () => 0, uid: () => 'u', sleep: async () => {} }
const fine = () => {}
const client = { query: fine, request: fine, watch: fine, range: fine, txn: fine }
type Make = (wrong: unknown) => unknown
const MAKERS: readonly (readonly [string, Make])[] = [
  ['memoryStore', (wrong) => memoryStore(wrong as never)],
  ['sqliteStore', (wrong) => sqliteStore(new FakeDatabase(), wrong as never)],
  ['postgresStore', (wrong) => postgresStore(client as never, wrong as never)],
  ['kubernetesStore', (wrong) => kubernetesStore(client as never, wrong as never)],
  ['kubernetesStore', (wrong) => kubernetesStore(wrong as never, options)],
  ['etcdStore', (wrong) => etcdStore(client as never, wrong as never)],
  ['redisStore', (wrong) => redisStore(wrong as never, options)],
  ['Controller', (wrong) => new Controller(wrong as never)],
  [
    'Controller',
    (wrong) => new Controller({ planners: [], timers: { now: fine, after: fine }, store: wrong } as never),
  ],
  ['defineProvider', (wrong) => defineProvider(wrong as never)],
  ['defineProvider', (wrong) => defineProvider({ name: wrong } as never)],
  ['handleCalls', (wrong) => handleCalls(wrong as never, {} as never)],
]

describe.each(MAKERS)('a mistake of a caller of %s', (of, make) => {
  test.each([undefined, null, 5, 'a text', []])('names the function, and the type of what it got: %j', (wrong) => {
    expect(() => make(wrong)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(
          new RegExp(`^${of}: argument [\\w.]+: expected .*, got (undefined|null|5|array|object|the text "a text")`),
        ),
      }),
    )
  })
})

test('a mistake in a call of a store says what the argument is', async () => {
  const call = memoryStore({ now: () => 0 }).get({ apiVersion: 'v1', kind: 5, name: 'a' } as never)
  await expect(call).rejects.toThrow('Store: argument ref.kind: expected a text, got 5')
})

test('a database without tables says what makes them', async () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' } }
  const none = new Error('no such table: ipam_kit_documents')
  const query = () => Promise.reject(Object.assign(new Error('relation "x" does not exist'), { code: '42P01' }))
  for (const [store, made] of [
    [
      sqliteStore(
        new FakeDatabase({ select: none, 'select cast(revision as text) as revision, document': none, insert: none }),
        options,
      ),
      'no such table: .*: call migrateSqlite first',
    ],
    [postgresStore({ query } as never, options), 'relation "x" does not exist: call migratePostgres first'],
  ] as const) {
    for (const answer of [
      await store.get({ ...pod, name: 'a', namespace: 'b' }),
      await store.list(pod),
      await store.create(pod),
    ]) {
      expect(answer).toMatchObject({
        failure: { code: 'STORE_IO', context: { problem: expect.stringMatching(new RegExp(`${made}$`)) } },
      })
    }
  }
})
