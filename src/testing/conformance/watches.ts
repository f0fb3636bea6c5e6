import type { KubeObject } from '../../crd/meta/object.js'
import type { Rules } from './case.js'
import { type Bench, expectEqual, expectOk, expectTrue } from './harness.js'
import { following, inTime, NOT_ENDED, type ObjectEvent, objectEvent, outline, Reader } from './reader.js'

export const watches: Rules = {
  'watch: tells what comes after a list, in order, as it was written': async (bench) => {
    const resourceVersion = await bench.version()
    const made = await bench.create('a')
    const changed = await bench.patch('a', { spec: { x: 1 } })
    const other = await bench.create('b')
    const gone = await bench.delete('a')
    await following(bench, { resourceVersion }, async (reader) => {
      const events = await reader.take(4)
      expectEqual(outline(events), ['ADDED a', 'MODIFIED a', 'ADDED b', 'DELETED a'], 'the events')
      const objects = events.map((event) => event.object)
      expectEqual(objects.slice(0, 3), [made, changed, other], 'the objects')
      const last = objects[3]!
      expectEqual([last.metadata.uid, last.spec], [gone.metadata.uid, { x: 1 }], 'the last state of the deleted object')
      const versions = objects.map(({ metadata }) => BigInt(metadata.resourceVersion!))
      const areRising = versions.every((version, index) => index === 0 || version > versions[index - 1]!)
      expectTrue(areRising, 'the versions rise')
    })
  },
  'watch: continues with later events': async (bench) => {
    await following(bench, { resourceVersion: await bench.version() }, async (reader) => {
      const waiting = reader.take(1)
      await bench.create('a')
      expectEqual(outline(await waiting), ['ADDED a'], 'the first event')
      await bench.create('b')
      await bench.patch('b', { spec: { x: 1 } })
      await bench.delete('a')
      expectEqual(outline(await reader.take(3)), ['ADDED b', 'MODIFIED b', 'DELETED a'], 'the next events')
      // it has the time to ask again, and to tell again what it has told
      const afterWhile = bench.wait(bench.patienceMs / 10).then(() => bench.create('c'))
      const [later] = await Promise.all([reader.take(1), afterWhile])
      expectEqual(outline(later), ['ADDED c'], 'the event after a while')
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
  'watch: without a version begins with the first next': async (bench) => {
    await following(bench, {}, async (reader) => {
      const before = await bench.create('before')
      const first = await reader.next()
      const from = first.type === 'BOOKMARK' ? first.resourceVersion : first.type
      expectTrue(/^\d+$/.test(from), `the first event is a bookmark, got ${from}`)
      expectTrue(BigInt(from) >= BigInt(before.metadata.resourceVersion!), 'it is not older than what was there')
      await bench.create('after')
      expectEqual(outline(await reader.take(1)), ['ADDED after'], 'the events')
    })
  },
  'watch: a bookmark comes after all events up to it': async (bench) => {
    const resourceVersion = await bench.version()
    const left = new Set<string>()
    for (const name of ['a', 'b', 'c']) left.add((await bench.create(name)).metadata.resourceVersion!)
    await following(bench, { resourceVersion }, async (reader) => {
      await reader.until((event) => {
        if ('object' in event) {
          left.delete(event.object.metadata.resourceVersion!)
          return left.size === 0 || undefined
        }
        const at = event.type === 'BOOKMARK' ? event.resourceVersion : event.failure.code
        expectTrue(/^\d+$/.test(at), `the watch continues, got ${at}`)
        for (const version of left)
          expectTrue(BigInt(version) > BigInt(at), `${version} is told before a bookmark ${at}`)
        return undefined
      })
    })
  },
  'watch: resumes from the version of any event': async (bench) => {
    const resourceVersion = await bench.version()
    for (const name of ['a', 'b']) {
      await bench.create(name)
      for (const x of [1, 2]) await bench.patch(name, { spec: { x } })
      await bench.delete(name)
    }
    let events: ObjectEvent[] = []
    await following(bench, { resourceVersion }, async (reader) => {
      events = await reader.take(8)
    })
    for (const [index, event] of events.slice(0, -1).entries()) {
      await following(bench, { resourceVersion: event.object.metadata.resourceVersion }, async (reader) => {
        expectEqual(await reader.one(), events[index + 1], `the event after ${outline([event])}`)
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
    await bench.patchStatus('a', { used: 1 })
    await bench.delete('a')
    await bench.patch('a', { metadata: { finalizers: null } })
    await following(bench, { resourceVersion }, async (reader) => {
      const events = await reader.take(4)
      expectEqual(outline(events), ['ADDED a', 'MODIFIED a', 'MODIFIED a', 'DELETED a'], 'the events')
      const { object } = events[2]!
      expectTrue(object.metadata.deletionTimestamp !== undefined, 'the third has a deletionTimestamp')
    })
  },
  'watch: a version that the store cannot have is gone': async (bench) => {
    const far = String(BigInt(await bench.version()) + 1_000_000_000n)
    for (const resourceVersion of ['yesterday', far]) {
      await following(bench, { resourceVersion }, async (reader) => {
        const event = await reader.next()
        const code = event.type === 'ERROR' ? event.failure.code : event.type
        expectTrue(code === 'STORE_VERSION_GONE' || code === 'STORE_INVALID', `${resourceVersion}: got ${code}`)
      })
    }
  },
  'watch: ends when the consumer ends it, also while it waits': async (bench) => {
    await following(bench, {}, async (reader) => {
      await reader.next()
      await bench.create('a')
      await reader.one()
      // all has been told, so that the next call waits, but a bookmark may come at any time
      const { events } = reader
      const waiting = events.next()
      const [ended, waited] = await Promise.all([
        inTime(bench, Promise.resolve(events.return?.()), NOT_ENDED),
        inTime(bench, waiting, 'the call that waited was not ended'),
      ])
      expectEqual(ended?.done, true, 'the answer of return')
      expectTrue(waited.done === true || waited.value.type === 'BOOKMARK', 'the call that waited is done')
      const later = await inTime(bench, events.next(), 'a call after the end had no answer')
      expectEqual(later.done, true, 'a later call')
    })
  },
  'watch: several see the same': async (bench) => {
    const resourceVersion = await bench.version()
    const other = await bench.open()
    const readers = [bench.store, bench.store, other].map(
      (store) => new Reader(bench, bench.pools, { resourceVersion }, store),
    )
    const compare = async () => {
      for (let i = 0; i < 5; i++) await bench.create(`a${i}`)
      const seen = await Promise.all(readers.map((reader) => reader.take(5)))
      for (const events of seen) expectEqual(events, seen[0], 'the events of each')
    }
    await readers.reduce((body, reader) => () => reader.during(body), compare)()
  },
  'watch: with the list before it loses and repeats nothing while others write': async (bench) => {
    const writing = churn(bench, 60)
    const copy = new Map<string, KubeObject>()
    const { items, resourceVersion } = expectOk(await bench.store.list(bench.pools), 'list')
    for (const object of items) copy.set(object.metadata.name, object)
    await following(bench, { resourceVersion }, async (reader) => {
      await writing
      const marker = await bench.create('zz-end')
      let last = resourceVersion
      await reader.until((told) => {
        const event = objectEvent(told)
        if (event === undefined) return undefined
        const { name, resourceVersion: version = '' } = event.object.metadata
        expectTrue(BigInt(version) > BigInt(last), `${event.type} ${name} ${version} comes after ${last}`)
        last = version
        expectEqual(copy.has(name), event.type !== 'ADDED', `${event.type} ${name}: whether it was known`)
        if (event.type === 'DELETED') copy.delete(name)
        else copy.set(name, event.object)
        return name === marker.metadata.name || undefined
      })
    })
    const now = expectOk(await bench.store.list(bench.pools), 'list').items
    const kept = [...copy.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    expectEqual(kept, now, 'the list before with all events, and the list of now')
  },
  'watch: continues from the same version after its connection is cut': async (bench) => {
    const { interruptWatches } = bench.options
    let resourceVersion = await bench.version()
    const seen: string[] = []
    for (let round = 0; round < 3; round++) {
      const last = `b${round}`
      const see = ({ object: { metadata } }: ObjectEvent) => {
        seen.push(metadata.name)
        resourceVersion = metadata.resourceVersion!
        return metadata.name === last || undefined
      }
      await following(bench, { resourceVersion }, async (reader) => {
        await bench.create(`a${round}`)
        await interruptWatches?.()
        await bench.create(last)
        await reader.until((event) => {
          if ('object' in event) return see(event)
          if (event.type === 'BOOKMARK') {
            resourceVersion = event.resourceVersion
            return undefined
          }
          // it may have to be watched again, but nothing is lost
          expectEqual(event.failure.code, 'STORE_IO', 'the failure of a watch that was cut')
          return true
        })
      })
      if (seen.includes(last)) continue
      await following(bench, { resourceVersion }, async (again) => {
        await again.until((event) => {
          const told = objectEvent(event)
          return told === undefined ? undefined : see(told)
        })
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
      if (i % 3 === 0) await bench.delete(name)
      else await bench.patch(name, change)
    }
  }
  await Promise.all([writer('a'), writer('b')])
}
