import type { KubeObject } from '../../crd/meta/object.js'
import type { ListQuery, Store, WatchEvent, WatchOptions } from '../../store/index.js'
import type { Rules } from './case.js'
import { type Bench, ConformanceError, expectEqual, expectOk, expectTrue, OTHER_VERSION } from './harness.js'

/** What became of an object. */
type ObjectEvent = Extract<WatchEvent, { object: KubeObject }>

/** Reads a watch, and gives up when an event takes too long. */
class Reader {
  readonly #events: AsyncIterator<WatchEvent>
  readonly #bench: Bench

  constructor(bench: Bench, query: ListQuery, options: WatchOptions, store: Store = bench.store) {
    this.#bench = bench
    this.#events = store.watch(query, options)[Symbol.asyncIterator]()
  }

  async next(): Promise<WatchEvent> {
    const { sleep, patienceMs = 10_000 } = this.#bench.options
    const late = sleep(patienceMs).then(() => 'late' as const)
    const step = await Promise.race([this.#events.next(), late])
    if (step === 'late') throw new ConformanceError(`a watch had nothing to tell for ${patienceMs} ms`)
    if (step.done === true) throw new ConformanceError('a watch has ended without being asked to')
    return step.value
  }

  /** The next events that are no bookmarks. */
  async take(count: number): Promise<ObjectEvent[]> {
    const seen: ObjectEvent[] = []
    while (seen.length < count) {
      const event = await this.next()
      if (event.type === 'BOOKMARK') continue
      if (event.type === 'ERROR') throw new ConformanceError(`a watch has failed: ${event.failure.code}`)
      seen.push(event)
    }
    return seen
  }

  async one(): Promise<ObjectEvent> {
    return (await this.take(1))[0]!
  }

  async bookmark(): Promise<string> {
    for (;;) {
      const event = await this.next()
      if (event.type === 'BOOKMARK') return event.resourceVersion
    }
  }

  async end(): Promise<void> {
    await this.#events.return?.()
  }
}

/** `TYPE name`, one an event. */
function outline(events: readonly WatchEvent[]): string[] {
  return events.map((event) => ('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type))
}

async function following(
  bench: Bench,
  options: WatchOptions,
  body: (reader: Reader) => Promise<void>,
  query: object = {},
): Promise<void> {
  const reader = new Reader(bench, { ...bench.pools, ...query }, options)
  try {
    await body(reader)
  } finally {
    await reader.end()
  }
}

export const watches: Rules = {
  'watch: tells what comes after a list, in order, as it was written': async (bench) => {
    const resourceVersion = await bench.version()
    const made = await bench.create('a')
    const changed = expectOk(await bench.store.patch(bench.ref('a'), { spec: { x: 1 } }), 'patch')
    const other = await bench.create('b')
    const gone = expectOk(await bench.store.delete(bench.ref('a')), 'delete')
    await following(bench, { resourceVersion }, async (reader) => {
      const events = await reader.take(4)
      expectEqual(outline(events), ['ADDED a', 'MODIFIED a', 'ADDED b', 'DELETED a'], 'the events')
      const objects = events.map((event) => event.object)
      expectEqual(objects.slice(0, 3), [made, changed, other], 'the objects')
      const last = objects[3]!
      expectEqual([last.metadata.uid, last.spec], [gone.metadata.uid, { x: 1 }], 'the last state of what has gone')
      const versions = objects.map(({ metadata }) => BigInt(metadata.resourceVersion!))
      expectTrue(
        versions.every((version, index) => index === 0 || version > versions[index - 1]!),
        'the versions rise',
      )
    })
  },
  'watch: goes on with what is still to come': async (bench) => {
    await following(bench, { resourceVersion: await bench.version() }, async (reader) => {
      const waiting = reader.take(1)
      await bench.create('a')
      expectEqual(outline(await waiting), ['ADDED a'], 'the first event')
      await bench.create('b')
      expectOk(await bench.store.delete(bench.ref('a')), 'delete')
      expectEqual(outline(await reader.take(2)), ['ADDED b', 'DELETED a'], 'the next events')
    })
  },
  'watch: without a version begins where its first bookmark says': async (bench) => {
    await bench.create('before')
    await following(bench, {}, async (reader) => {
      const first = await reader.next()
      expectEqual(first.type, 'BOOKMARK', 'the first event')
      await bench.create('after')
      expectEqual(outline(await reader.take(1)), ['ADDED after'], 'the events')
    })
  },
  'watch: resumes from the version of any event': async (bench) => {
    const resourceVersion = await bench.version()
    for (let i = 0; i < 6; i++) await bench.create(`a${i}`)
    let events: ObjectEvent[] = []
    await following(bench, { resourceVersion }, async (reader) => {
      events = await reader.take(6)
    })
    for (const [index, { object }] of events.slice(0, -1).entries()) {
      await following(bench, { resourceVersion: object.metadata.resourceVersion }, async (reader) => {
        expectEqual(outline(await reader.take(1)), [`ADDED a${index + 1}`], `the event after a${index}`)
      })
    }
  },
  'watch: resumes from a bookmark': async (bench) => {
    await bench.create('a')
    let resourceVersion = ''
    await following(bench, {}, async (reader) => {
      resourceVersion = await reader.bookmark()
    })
    await bench.create('b')
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual(outline(await reader.take(1)), ['ADDED b'], 'the events')
    })
  },
  'watch: tells the status and the finalizers too': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    expectOk(await bench.store.patch(bench.ref('a'), { status: { used: 1 } }, { subresource: 'status' }), 'status')
    expectOk(await bench.store.delete(bench.ref('a')), 'delete')
    expectOk(await bench.store.patch(bench.ref('a'), { metadata: { finalizers: null } }), 'release')
    await following(bench, { resourceVersion }, async (reader) => {
      const events = await reader.take(4)
      expectEqual(outline(events), ['ADDED a', 'MODIFIED a', 'MODIFIED a', 'DELETED a'], 'the events')
      const { object } = events[2]!
      expectTrue(object.metadata.deletionTimestamp !== undefined, 'the third has a deletionTimestamp')
    })
  },
  'watch: is of one kind and one namespace, or all': async (bench) => {
    const resourceVersion = await bench.version()
    const elsewhere = bench.pool('b', { metadata: { namespace: bench.otherNamespace } })
    expectOk(await bench.store.create(elsewhere), 'create')
    await bench.create('a')
    await following(bench, { resourceVersion }, async (reader) => {
      expectEqual(outline(await reader.take(1)), ['ADDED a'], 'one namespace')
    })
    const query = { namespace: undefined, apiVersion: OTHER_VERSION }
    await following(
      bench,
      { resourceVersion },
      async (reader) => {
        const events: string[] = []
        // others may be at work on the same kind
        while (events.length < 2) {
          const event = await reader.one()
          const { namespace, name } = event.object.metadata
          if (namespace === bench.namespace || namespace === bench.otherNamespace) events.push(name)
        }
        expectEqual(events, ['b', 'a'], 'all namespaces, under another version')
      },
      query,
    )
  },
  'watch: shows objects come and go as they match its labels': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { metadata: { labels: { l: '1' } } })
    await bench.create('b')
    expectOk(await bench.store.patch(bench.ref('a'), { metadata: { labels: { l: '2' } } }), 'a goes')
    expectOk(await bench.store.patch(bench.ref('b'), { metadata: { labels: { l: '1' } } }), 'b comes')
    expectOk(await bench.store.patch(bench.ref('a'), { spec: { x: 1 } }), 'a changes unseen')
    expectOk(await bench.store.patch(bench.ref('b'), { spec: { x: 1 } }), 'b changes')
    expectOk(await bench.store.delete(bench.ref('b')), 'b goes')
    const expected = ['ADDED a', 'DELETED a', 'ADDED b', 'MODIFIED b', 'DELETED b']
    for (const query of [
      { labels: { l: '1' } },
      { labelExpressions: [{ key: 'l', operator: 'In', values: ['1', '7'] }] },
    ]) {
      await following(
        bench,
        { resourceVersion },
        async (reader) => expectEqual(outline(await reader.take(5)), expected, JSON.stringify(query)),
        query,
      )
    }
  },
  'watch: shows objects come and go as they match its fields': async (bench) => {
    const resourceVersion = await bench.version()
    await bench.create('a', { spec: { color: 'blue' } })
    await bench.create('b', { spec: { color: 'red' } })
    expectOk(await bench.store.patch(bench.ref('a'), { spec: { color: 'red' } }), 'patch')
    expectOk(await bench.store.patch(bench.ref('b'), { spec: { color: 'blue' } }), 'patch')
    await following(
      bench,
      { resourceVersion },
      async (reader) => expectEqual(outline(await reader.take(3)), ['ADDED a', 'DELETED a', 'ADDED b'], 'the events'),
      { fields: { 'spec.color': 'blue' } },
    )
  },
  'watch: a version that the store can not know is gone': async (bench) => {
    const far = String(BigInt(await bench.version()) + 1_000_000_000n)
    for (const resourceVersion of ['yesterday', far]) {
      const reader = new Reader(bench, bench.pools, { resourceVersion })
      const event = await reader.next()
      await reader.end()
      const code = event.type === 'ERROR' ? event.failure.code : event.type
      expectTrue(code === 'STORE_VERSION_GONE' || code === 'STORE_INVALID', `${resourceVersion}: got ${code}`)
    }
  },
  'watch: ends when the consumer ends it, also while it waits': async (bench) => {
    const events = bench.store.watch(bench.pools)[Symbol.asyncIterator]()
    await events.next()
    const waiting = events.next()
    const ended = await events.return?.()
    expectEqual(ended?.done, true, 'the answer of return')
    expectEqual((await waiting).done, true, 'the call that waited')
    expectEqual((await events.next()).done, true, 'a later call')
  },
  'watch: several see the same': async (bench) => {
    const resourceVersion = await bench.version()
    const other = await bench.open()
    const readers = [bench.store, bench.store, other].map(
      (store) => new Reader(bench, bench.pools, { resourceVersion }, store),
    )
    for (let i = 0; i < 5; i++) await bench.create(`a${i}`)
    const seen = await Promise.all(readers.map((reader) => reader.take(5)))
    for (const reader of readers) await reader.end()
    for (const events of seen) expectEqual(events, seen[0], 'the events of each')
  },
  'watch: with the list before it loses and repeats nothing while others write': async (bench) => {
    const writing = churn(bench, 60)
    const copy = new Map<string, KubeObject>()
    const { items, resourceVersion } = expectOk(await bench.store.list(bench.pools), 'list')
    for (const object of items) copy.set(object.metadata.name, object)
    await following(bench, { resourceVersion }, async (reader) => {
      await writing
      const marker = await bench.create('zz-end')
      for (;;) {
        const event = await reader.one()
        const { name } = event.object.metadata
        expectEqual(copy.has(name), event.type !== 'ADDED', `${event.type} ${name}: whether it was known`)
        if (event.type === 'DELETED') copy.delete(name)
        else copy.set(name, event.object)
        if (name === marker.metadata.name) break
      }
    })
    const now = expectOk(await bench.store.list(bench.pools), 'list').items
    const kept = [...copy.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    expectEqual(kept, now, 'the list before with all events, and the list of now')
  },
  'watch: goes on where it was when its connection is cut': async (bench) => {
    const { interruptWatches } = bench.options
    let resourceVersion = await bench.version()
    const seen: string[] = []
    for (let round = 0; round < 3; round++) {
      const reader = new Reader(bench, bench.pools, { resourceVersion })
      await bench.create(`a${round}`)
      await interruptWatches?.()
      await bench.create(`b${round}`)
      while (!seen.includes(`b${round}`)) {
        const event = await reader.next()
        if (event.type === 'BOOKMARK') resourceVersion = event.resourceVersion
        else if (event.type === 'ERROR') {
          // it may have to be watched again, but nothing is lost
          expectEqual(event.failure.code, 'STORE_IO', 'the failure of a watch that was cut')
          break
        } else {
          seen.push(event.object.metadata.name)
          resourceVersion = event.object.metadata.resourceVersion!
        }
      }
      await reader.end()
      if (seen.includes(`b${round}`)) continue
      await following(bench, { resourceVersion }, async (again) => {
        while (!seen.includes(`b${round}`)) {
          const event = await again.one()
          seen.push(event.object.metadata.name)
          resourceVersion = event.object.metadata.resourceVersion!
        }
      })
    }
    expectEqual(seen, ['a0', 'b0', 'a1', 'b1', 'a2', 'b2'], 'all events, each once')
  },
}

/** Creates, changes and removes a few objects over and over, by two writers. */
async function churn(bench: Bench, steps: number): Promise<void> {
  const writer = async (prefix: string) => {
    for (let i = 0; i < steps; i++) {
      const name = `${prefix}${i % 4}`
      const made = await bench.store.create(bench.pool(name, { spec: { i } }))
      if (made.ok) continue
      const change = { spec: { i, more: i * 2 } }
      if (i % 3 === 0) expectOk(await bench.store.delete(bench.ref(name)), 'delete')
      else expectOk(await bench.store.patch(bench.ref(name), change), 'patch')
    }
  }
  await Promise.all([writer('a'), writer('b')])
}
