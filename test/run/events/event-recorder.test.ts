import { fail, unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { EVENT, EventRecorder } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'

const START_MS = Date.UTC(2026, 0, 1)

/** A recorder on a store whose clock is moved by hand, and the writes that it makes. */
class World {
  nowMs = START_MS
  readonly store = memoryStore({ now: () => this.nowMs, kinds: [EVENT] })
  readonly problems: string[] = []
  writes = 0
  readonly recorder: EventRecorder
  #uids = 0

  constructor(over: Partial<Store> = {}) {
    const counted = storeOver(this.store, {
      create: (object) => this.#count(() => (over.create ?? this.store.create)(object)),
      patch: (...args) => this.#count(() => (over.patch ?? this.store.patch)(...args)),
    })
    this.recorder = new EventRecorder({
      store: counted,
      component: 'test',
      now: () => this.nowMs,
      uid: () => `${String(++this.#uids).padStart(8, '0')}-0000-4000-8000-000000000000`,
      onProblem: ({ code }, { name }) => void this.problems.push(`${name} ${code}`),
    })
  }

  async events() {
    return unwrap(await this.store.list(EVENT)).items as readonly object[] as readonly {
      readonly [field: string]: unknown
    }[]
  }

  #count<T>(action: () => T): T {
    this.writes++
    return action()
  }
}

const event = (name = 'web-0', message = 'full', rest: Partial<EventEffect> = {}): EventEffect => ({
  ...{ kind: 'event', type: 'Warning', reason: 'PoolExhausted', message, uid: 'u-1' },
  about: { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name },
  ...rest,
})

test('an event is an Event object beside its object', async () => {
  const world = new World()
  await world.recorder.record(event())
  expect(await world.events()).toMatchObject([
    {
      metadata: { namespace: 'default', name: 'web-0.00000001-0000-4000-8000-000000000000' },
      involvedObject: { kind: 'IPAddressClaim', namespace: 'default', name: 'web-0', uid: 'u-1' },
      ...{ type: 'Warning', reason: 'PoolExhausted', message: 'full', source: { component: 'test' }, count: 1 },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
    },
  ])
})

test('the Event of a cluster-scoped object is in the namespace default, and a long message is cut', async () => {
  const world = new World()
  const about = { apiVersion: 'example.com/v1', kind: 'Pool', name: 'lab' }
  await world.recorder.record(event('', 'x'.repeat(5000), { about }))
  const [object] = await world.events()
  expect(object).toMatchObject({ metadata: { namespace: 'default' }, message: 'x'.repeat(1024) })
})

test.each(['.', '-', '-.'])(
  'the name of an Event is one that the server takes where that of its object is cut at %j',
  async (cut) => {
    const world = new World()
    await world.recorder.record(event(`${'a'.repeat(200 - cut.length)}${cut}${'b'.repeat(53)}`))
    const [object] = unwrap(await world.store.list(EVENT)).items
    expect(object?.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    expect(object?.metadata.name.length).toBeLessThanOrEqual(253)
    expect(world.problems).toEqual([])
  },
)

test('the same event again is counted; another message, reason, type, object or uid is another Event', async () => {
  const world = new World()
  const others = [
    event('web-0', 'fuller'),
    event('web-0', 'full', { reason: 'AllocationFailed' }),
    event('web-0', 'full', { type: 'Normal' }),
    event('web-1'),
    event('web-0', 'full', { uid: 'u-2' }),
  ]
  for (const each of [event(), ...others]) await world.recorder.record(each)
  world.nowMs += 5000
  await world.recorder.record(event())
  const counts = (await world.events()).map(({ count, firstTimestamp, lastTimestamp }) => [
    count,
    firstTimestamp === lastTimestamp,
  ])
  expect(counts.sort()).toEqual([...others.map(() => [1, true]), [2, false]])
})

test('events that come while a write is not answered are counted by the next one', async () => {
  const answers: (() => void)[] = []
  const held: World = new World({
    create: async (object) => {
      await new Promise<void>((resolve) => answers.push(resolve))
      return held.store.create(object)
    },
  })
  const records = [1, 2, 3, 4].map(() => held.recorder.record(event()))
  answers[0]?.()
  await Promise.all(records)
  expect(held.writes).toBe(2)
  expect(await held.events()).toMatchObject([{ count: 4 }])
})

test('an Event that the server has removed is written anew', async () => {
  const world = new World()
  await world.recorder.record(event())
  for (const { metadata } of unwrap(await world.store.list(EVENT)).items) {
    unwrap(await world.store.delete({ ...EVENT, ...metadata, kind: EVENT.kind }))
  }
  world.nowMs += 3_600_000
  await world.recorder.record(event())
  expect(await world.events()).toMatchObject([
    { count: 2, firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T01:00:00Z' },
  ])
})

test('an Event that cannot be written is reported once, and the next one begins anew', async () => {
  let isDown = true
  const world: World = new World({
    create: (object) =>
      isDown
        ? Promise.resolve({
            ok: false,
            failure: fail('STORE_IO', { operation: 'create', problem: 'down' }).failure,
          })
        : world.store.create(object),
  })
  await world.recorder.record(event())
  expect(world.problems).toEqual(['web-0 STORE_IO'])
  isDown = false
  await world.recorder.record(event())
  expect(await world.events()).toMatchObject([{ count: 1 }])
})

test('an object gets 25 writes at once, and one more every 5 minutes', async () => {
  const world = new World()
  for (let n = 0; n < 100; n++) await world.recorder.record(event())
  expect(world.writes).toBe(25)
  await world.recorder.record(event('web-1'))
  expect(world.writes).toBe(26)
  world.nowMs += 299_999
  await world.recorder.record(event())
  expect(world.writes).toBe(26)
  world.nowMs += 1
  // the write counts what was not written
  await world.recorder.record(event())
  expect(world.writes).toBe(27)
  expect((await world.events()).map(({ count }) => count)).toEqual([102, 1])
  // a new event of the object is dropped
  await world.recorder.record(event('web-0', 'other'))
  expect(await world.events()).toHaveLength(2)
})

test('a storm while a write is not answered stays within the writes of its object', async () => {
  const world: World = new World({
    patch: async (...args) => {
      // two more for each that is written
      if (world.writes < 500) for (let n = 0; n < 2; n++) void world.recorder.record(event())
      return world.store.patch(...args)
    },
  })
  await world.recorder.record(event())
  await world.recorder.record(event())
  expect(world.writes).toBe(25)
})

test('events of very many objects do not stay in memory', async () => {
  const world = new World()
  for (let n = 0; n < 4100; n++) await world.recorder.record(event(`web-${n}`))
  // the first ones are forgotten, and are new Events when they come again
  await world.recorder.record(event('web-0'))
  await world.recorder.record(event('web-4099'))
  const counts = (await world.events()).map(({ count }) => count)
  expect(counts).toHaveLength(4101)
  expect(Math.max(...(counts as number[]))).toBe(2)
})

const thrown = () => {
  throw new Error('boom')
}
const rejected = () => Promise.reject(new Error('boom'))
const answered = (answer: unknown) => () => Promise.resolve(answer as never)

test.each([
  ['throws', thrown],
  ['rejects', rejected],
  ['answers undefined', answered(undefined)],
  ['answers null', answered(null)],
  ['answers a text', answered('ok')],
  ['answers a failure without one', answered({ ok: false })],
])('a store that %s is reported, and record never rejects', async (_, answer) => {
  const creating = new World({ create: answer })
  await creating.recorder.record(event())
  expect(creating.problems).toEqual(['web-0 STORE_IO'])
  const patching = new World({ patch: answer })
  await patching.recorder.record(event())
  await patching.recorder.record(event())
  expect(patching.problems).toEqual(['web-0 STORE_IO'])
  // and the next one begins anew
  await patching.recorder.record(event())
  expect(await patching.events()).toHaveLength(2)
})

test.each([
  ['a clock that answers NaN', { now: () => Number.NaN }],
  ['a clock that answers a text', { now: () => 'now' as never }],
  ['a clock that throws', { now: thrown }],
  ['a uid that throws', { uid: thrown }],
])('%s is reported, and record never rejects', async (_, wrong) => {
  const problems: string[] = []
  const recorder = new EventRecorder({
    ...{ store: memoryStore({ now: () => 0 }), component: 'x', now: () => 0, uid: () => 'a' },
    onProblem: ({ code }, { name }) => void problems.push(`${name} ${code}`),
    ...wrong,
  })
  await recorder.record(event())
  expect(problems).toEqual(['web-0 STORE_IO'])
})

test.each([
  ['throws', thrown],
  ['rejects', rejected as () => never],
])('an onProblem that %s leaves nothing undone', async (_, onProblem) => {
  const options = { component: 'x', now: () => 0, uid: () => 'a' }
  const store = { create: rejected, patch: rejected }
  const recorder = new EventRecorder({ ...options, store, onProblem })
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => recorder.record(event(`web-${n}`))))
})

test('a few Events are written at a time, 1,000 wait, and the rest is dropped and reported once', async () => {
  const answers: (() => void)[] = []
  let most = 0
  let inFlight = 0
  const world: World = new World({
    create: async (object) => {
      most = Math.max(most, ++inFlight)
      await new Promise<void>((resolve) => answers.push(resolve))
      inFlight--
      return world.store.create(object)
    },
  })
  const records = Array.from({ length: 1500 }, (_, n) => world.recorder.record(event(`web-${n}`)))
  // one that waits is counted, and so is one that is being written
  records.push(world.recorder.record(event('web-0')), world.recorder.record(event('web-900')))
  expect(world.problems).toEqual(['web-1004 STORE_IO'])
  let isDone = false
  void Promise.all(records).then(() => {
    isDone = true
  })
  while (!isDone) {
    for (const answer of answers.splice(0)) answer()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(most).toBe(4)
  const events = await world.events()
  expect(events).toHaveLength(1004)
  expect(events.filter(({ count }) => count === 2)).toHaveLength(2)
  expect(world.problems).toHaveLength(1)
})

test('an event whose first write is not answered is not forgotten', async () => {
  let answer = () => {}
  const world: World = new World({
    create: async (object) => {
      if (object.metadata.name.startsWith('first.')) await new Promise<void>((resolve) => (answer = resolve))
      return world.store.create(object)
    },
  })
  const first = world.recorder.record(event('first'))
  for (let n = 0; n < 4200; n++) await world.recorder.record(event(`web-${n}`))
  void world.recorder.record(event('first'))
  answer()
  await first
  expect((await world.events()).filter(({ count }) => count === 2)).toHaveLength(1)
})

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

test.each(['2001:db8::1', '::', 'A_b', 'a..b', '.-a-.-b', 'system:node:x', '名', '', '-'.repeat(250)])(
  'the name of an Event about %j is one that the server takes',
  async (name) => {
    const world = new World()
    await world.recorder.record(event(name))
    const [object] = unwrap(await world.store.list(EVENT)).items
    expect(object?.metadata.name).toMatch(NAME)
    expect(object).toMatchObject({ involvedObject: { name } })
  },
)

test('long texts are cut between characters', async () => {
  const world = new World()
  await world.recorder.record(event('a', `${'x'.repeat(1023)}😀`, { reason: `${'R'.repeat(127)}😀` as never }))
  expect(await world.events()).toMatchObject([{ message: 'x'.repeat(1023), reason: 'R'.repeat(127) }])
})

test.each([
  { component: '' },
  { now: 5 },
  { uid: undefined },
  { onProblem: null },
  { store: {} },
  { store: { create() {} } },
])('refuses the options %j', (wrong) => {
  const right = {
    store: memoryStore({ now: () => 0 }),
    component: 'x',
    now: () => 0,
    uid: () => 'a',
    onProblem: () => {},
  }
  expect(() => new EventRecorder(right)).not.toThrow()
  expect(
    () => new EventRecorder({ ...right, ...wrong } as unknown as ConstructorParameters<typeof EventRecorder>[0]),
  ).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})
