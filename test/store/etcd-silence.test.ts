import { describe, expect, test } from 'vitest'
import { begun, foreign, open, openSilent, outline, pool, type Wire } from './etcd-wires.js'
import { settle } from './settle.js'

describe('a watch to which nothing comes', () => {
  test('because its connection is silent continues over another, and loses and repeats nothing', async () => {
    const { clock, wires, store, told, read } = open()
    void read()
    await clock.pass(1)
    await store.create(pool('a'))
    await clock.pass(1)
    wires[0]!.isSilent = true
    await store.create(pool('b'))
    await store.create(pool('c'))
    expect(told).toEqual(['AT 1', 'ADDED a'])
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ADDED a', 'ADDED b', 'ADDED c'])
    expect(wires[0]!.isCanceled).toBe(true)
    await store.create(pool('d'))
    await clock.pass(1)
    expect(told.at(-1)).toBe('ADDED d')
  })

  test('because it is silent before it has begun does so, too', async () => {
    const { clock, state, store, told, read } = open()
    state.isSilentAtOpening = true
    void read()
    await clock.pass(1)
    await store.create(pool('a'))
    await clock.pass(5)
    state.isSilentAtOpening = false
    await clock.pass(30)
    expect(told).toEqual(['AT 1', 'ADDED a'])
  })

  test('because nothing was written only asks for the revision', async () => {
    const { clock, wires, told, read, asked } = open()
    void read()
    await clock.pass(1)
    expect(asked()).toEqual(['range', 'watch'])
    await clock.pass(75)
    expect(asked()).toEqual(['range', 'range', 'range', 'range'])
    expect([told, wires.length, wires[0]!.isCanceled]).toEqual([['AT 1'], 1, false])
  })

  test('because only others were written is left as it is: etcd would tell it how far it is', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    for (let i = 0; i < 12; i++) {
      model.put('of others', `${i}`)
      await clock.pass(10)
    }
    // others have looked, and have ended
    expect(wires.map(({ isCanceled }) => isCanceled).slice(0, 2)).toEqual([false, true])
    expect(wires.length).toBeGreaterThan(3)
    expect(told).toEqual(['AT 1'])
    // what it has not seen is compacted: that is nothing to it
    model.compact(12)
    await clock.pass(60)
    expect([told, wires[0]!.isCanceled]).toEqual([['AT 1'], false])
    wires[0]!.isSilent = true
    model.put('ipam-kit/x.dev/Pool/n,a', JSON.stringify(pool('a')))
    await clock.pass(60)
    expect(told).toEqual(['AT 1', 'AT 10', 'ERROR STORE_VERSION_GONE'])
  })

  test('for a moment does not look: events and progress are signs of life', async () => {
    const { model, clock, told, read, asked } = open()
    void read()
    await clock.pass(1)
    asked()
    for (let i = 0; i < 6; i++) {
      if (i % 2 === 0) model.put('ipam-kit/x.dev/Pool/n,a', JSON.stringify({ ...pool('a'), spec: { i } }))
      else model.progress()
      await clock.pass(10)
    }
    expect(asked()).toEqual([])
    expect(told.length).toBe(4)
  })

  test('because its reader does not read is not silent', async () => {
    const { clock, wires, store, events, asked } = open()
    await events.next()
    await store.create(pool('a'))
    expect(outline((await events.next()).value!)).toBe('ADDED a')
    await store.create(pool('b'))
    await settle()
    asked()
    await clock.pass(60)
    expect([asked(), wires.length]).toEqual([[], 1])
    expect(outline((await events.next()).value!)).toBe('ADDED b')
  })

  test('and a server that does not answer: it is asked again', async () => {
    const { model, clock, store, told } = await openSilent()
    await store.create(pool('a'))
    model.intercept = () => Promise.reject(new TypeError('fetch failed'))
    await clock.pass(60)
    expect(told).toEqual(['AT 1'])
    model.intercept = () => undefined
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ADDED a'])
  })

  test('and an answer that cannot be read behind it: it ends with the error', async () => {
    const { model, clock, told } = await openSilent()
    model.revision++
    model.intercept = (path) => {
      if (path !== '/v3/watch') return undefined
      const value = new TextEncoder().encode('{"result":{"created":true}}\n{"result":7}\n')
      const read = async () => ({ done: false, value })
      return { status: 200, text: async () => '', body: { getReader: () => ({ read, cancel: async () => {} }) } }
    }
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ERROR STORE_IO'])
  })

  test('and a reader that takes its time: nothing waits for it, also where sleep takes none', async () => {
    let sleeps = 0
    const sleep = async () => {
      if (sleeps++ === 1_000) throw new Error('an endless loop')
    }
    const { store, events } = open({ sleep })
    await events.next()
    await store.create(pool('a'))
    expect(outline((await events.next()).value!)).toBe('ADDED a')
    sleeps = 0
    await settle()
    expect(sleeps).toBeLessThan(20)
    await store.create(pool('b'))
    expect(outline((await events.next()).value!)).toBe('ADDED b')
    await events.return?.()
  })

  test('leaves nothing behind when its reader has ended, wherever it was', async () => {
    for (const isWaiting of [true, false]) {
      const { clock, wires, store, events } = open()
      await events.next()
      await store.create(pool('a'))
      await events.next()
      const next = isWaiting ? events.next() : undefined
      await clock.pass(10)
      expect(clock.sleepers).toBeGreaterThan(0)
      await events.return?.()
      await next
      await clock.pass(2)
      expect([clock.sleepers, wires.every(({ isCanceled }) => isCanceled)]).toEqual([0, true])
    }
  })
})

describe('a watch to which nothing comes, while the past is compacted', () => {
  const starts = (wires: readonly Wire[]) => wires.map(({ startRevision }) => Number(startRevision))

  test('is gone if it may have missed something, also if nothing comes of it later', async () => {
    const { model, clock, wires, store, told, read } = open()
    void read()
    await clock.pass(1)
    await store.create(pool('a'))
    await clock.pass(1)
    // a network that lets nothing through
    wires[0]!.isSilent = true
    model.intercept = () => Promise.reject(new TypeError('fetch failed'))
    foreign(model, 'b')
    await clock.pass(60)
    model.put('of others', 'x')
    model.compact(model.revision)
    model.intercept = () => undefined
    for (let i = 0; i < 4; i++) {
      model.put('of others', `${i}`)
      await clock.pass(15)
    }
    expect(told).toEqual(['AT 1', 'ADDED a', 'ERROR STORE_VERSION_GONE'])
    expect(wires[0]!.isCanceled).toBe(true)
  })

  test('continues if nothing is kept for longer than half a minute, and others look at what is new', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    const past: number[] = []
    for (let i = 0; i < 50; i++) {
      past.push(model.put('of others', `${i}`))
      if (i >= 6) model.compact(past[i - 6]!)
      await clock.pass(5)
    }
    expect([told, wires[0]!.isCanceled]).toEqual([['AT 1'], false])
    const [, first, ...probes] = starts(wires)
    expect(first).toBe(1)
    expect(probes.length).toBeGreaterThan(7)
    expect(probes.at(-1)).toBeGreaterThan(40)
    wires[0]!.isSilent = true
    foreign(model, 'a')
    await clock.pass(40)
    expect(told).toEqual(['AT 1', 'ERROR STORE_VERSION_GONE'])
  })

  test('has each revision looked at twice: another watch can go silent, too', async () => {
    const { model, clock, told } = await openSilent()
    foreign(model, 'a')
    model.intercept = (path) => {
      if (path !== '/v3/watch') return undefined
      model.intercept = () => undefined
      return begun(model)
    }
    await clock.pass(25)
    expect(told).toEqual(['AT 1'])
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ADDED a'])
  })

  test('is not taken for whole because of others that have ended at once', async () => {
    const { model, clock, told } = await openSilent()
    foreign(model, 'a')
    model.intercept = (path) => (path === '/v3/watch' ? begun(model, true) : undefined)
    await clock.pass(50)
    model.intercept = () => undefined
    await clock.pass(30)
    expect(told).toEqual(['AT 1', 'ADDED a'])
  })

  test('is not taken for whole because of a watch that has not begun', async () => {
    const { model, clock, state, told } = await openSilent()
    foreign(model, 'a')
    state.isSilentAtOpening = true
    await clock.pass(30)
    model.compact(model.put('of others', 'x'))
    state.isSilentAtOpening = false
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ERROR STORE_VERSION_GONE'])
  })

  test('is gone if what follows was compacted: a deletion in it may be forgotten', async () => {
    const { model, clock, wires, told, read } = open()
    model.forgetsTombstones = true
    void read()
    await clock.pass(1)
    foreign(model, 'a')
    await clock.pass(1)
    for (let i = 0; i < 6; i++) {
      model.put('of others', `${i}`)
      await clock.pass(5)
    }
    await clock.pass(45)
    wires[0]!.isSilent = true
    model.put('ipam-kit/x.dev/Pool/n,a', undefined)
    model.compact(model.revision)
    await clock.pass(60)
    expect(told).toEqual(['AT 1', 'ADDED a', 'AT 8', 'ERROR STORE_VERSION_GONE'])
  })

  test('is not ended because another one is refused', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    model.put('of others', 'x')
    model.intercept = (path) => {
      if (path !== '/v3/watch') return undefined
      const line = '{"result":{"canceled":true,"cancel_reason":"etcdserver: permission denied"}}\n'
      const read = async () => ({ done: false, value: new TextEncoder().encode(line) })
      return { status: 200, text: async () => '', body: { getReader: () => ({ read, cancel: async () => {} }) } }
    }
    await clock.pass(90)
    expect([told, wires[0]!.isCanceled]).toEqual([['AT 1'], false])
  })
})

describe('an answer to a watch that cannot be read', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['no JSON', '<html>', 'JSON'],
    ['no message', '"text"', 'none of etcd'],
    ['no result', '{}', 'none of etcd'],
    ['no events', '{"result":{"events":7}}', 'none of etcd'],
    ['no number', '{"result":{"header":{"revision":"x"}}}', 'none of etcd'],
    [
      'no Base64',
      JSON.stringify({ result: { events: [{ kv: { key: '%', mod_revision: '2' } }] } }),
      'no text in UTF-8',
    ],
    [
      'no text',
      JSON.stringify({ result: { events: [{ kv: { key: '//4A', mod_revision: '2' } }] } }),
      'no text in UTF-8',
    ],
    ['a line that is no text', Uint8Array.of(0xff, 0xfe), 'not UTF-8'],
    ['an error that is none', '{"error":"text"}', 'none of etcd'],
  ])('ends it at once, because it would come again: %s', async (_, line, problem) => {
    const { model, wires, events, asked } = open()
    await events.next()
    const next = events.next()
    await settle()
    model.sayText(line)
    model.sayText('\n')
    const context = { problem: expect.stringContaining(problem) }
    expect((await next).value).toMatchObject({ type: 'ERROR', failure: { code: 'STORE_IO', context } })
    expect([asked(), wires[0]!.isCanceled]).toEqual([['range', 'watch'], true])
  })
})
