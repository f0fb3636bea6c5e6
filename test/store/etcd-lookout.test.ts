import { describe, expect, test } from 'vitest'
import type { EtcdHttpResponse } from '../../src/store/etcd/gateway.js'
import { begun, foreign, open, openSilent, type Wire } from './etcd-wires.js'
import { settle } from './settle.js'

const starts = (wires: readonly Wire[]) => wires.map(({ startRevision }) => Number(startRevision))

/** The one that was opened first, of those that are still open: others only look. */
const mainOf = (wires: readonly Wire[]) => wires.find(({ isCanceled }) => !isCanceled)!

describe('a watch to which nothing comes for long', () => {
  test('begins again behind what others have looked at: its own past was compacted', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    const past: number[] = []
    for (let i = 1; i <= 70; i++) {
      past.push(model.put('of others', `${i}`))
      // what is older than two minutes
      if (i > 12) model.compact(past[i - 13]!)
      await clock.pass(10)
      // what fetch of Node does after 300 s
      if (i % 30 === 0) mainOf(wires).cut()
    }
    const places = told.map((each) => Number(each.replace('AT ', '')))
    expect(places).toHaveLength(3)
    expect(places[0]).toBe(1)
    expect(places[1]).toBeGreaterThan(25)
    expect(places[2]).toBeGreaterThan(55)
    expect(starts(wires)).toContain(places[1]! + 1)
    foreign(model, 'a')
    await clock.pass(1)
    expect(told.slice(3)).toEqual(['ADDED a'])
  })

  test('does not continue after a revision that only one other watch has looked at', async () => {
    const { model, clock, wires, told } = await openSilent()
    foreign(model, 'a')
    model.intercept = (path) => {
      if (path !== '/v3/watch') return undefined
      model.intercept = () => undefined
      return begun(model)
    }
    await clock.pass(22)
    model.compact(2)
    for (let i = 0; i < 8; i++) {
      model.put('of others', `${i}`)
      await clock.pass(10)
    }
    expect(told).toEqual(['AT 1'])
    wires[0]!.cut()
    await clock.pass(2)
    expect(told).toEqual(['AT 1', 'ERROR STORE_VERSION_GONE'])
  })

  test('has looked at only what is new', async () => {
    const { model, clock, wires, read } = open()
    void read()
    for (let i = 0; i < 10; i++) {
      model.put('of others', `${i}`)
      await clock.pass(10)
    }
    // each begins where the last but one has
    expect(starts(wires)).toEqual([2, 1, 1, 4, 6])
  })

  test('has one guard, however often its connection has ended', async () => {
    const { clock, wires, read } = open()
    void read()
    for (let i = 0; i < 10; i++) {
      await clock.pass(2)
      mainOf(wires).cut()
    }
    await clock.pass(2)
    expect([wires.length, clock.sleepers]).toEqual([11, 1])
  })

  test('gives another one time to begin, and time to tell', async () => {
    const { model, clock, wires, state, told } = await openSilent()
    model.put('of others', 'x')
    state.delay = () => clock.sleep(4_000)
    await clock.pass(34)
    // it was opened five seconds ago, and has begun one second ago
    wires[1]!.delay = clock.sleep(3_000)
    state.delay = undefined
    foreign(model, 'a')
    await clock.pass(6)
    expect([told, wires.length]).toEqual([['AT 1', 'ADDED a'], 3])
  })

  test('is not looked at any longer because others are told how far they are', async () => {
    const { model, clock, wires } = await openSilent()
    model.put('of others', 'x')
    await clock.pass(29)
    for (let i = 0; i < 6; i++) {
      model.progress()
      await clock.pass(1)
    }
    expect(wires.map(({ isCanceled }) => isCanceled)).toEqual([false, true])
  })

  test('is not looked at any more if its reader has ended', async () => {
    const { model, clock, wires, events, read, asked } = open()
    const reading = read()
    await clock.pass(1)
    let answer = () => {}
    model.intercept = (path) => {
      if (path !== '/v3/kv/range') return undefined
      model.intercept = () => undefined
      model.put('of others', 'x')
      return new Promise((done) => {
        answer = () => done({ status: 200, text: async () => '{"header":{"revision":"2"}}', body: null })
      })
    }
    await clock.pass(30)
    asked()
    await events.return?.()
    await reading
    answer()
    await settle()
    expect([asked(), wires.length]).toEqual([[], 1])
  })

  test('asks once whether its past was compacted', async () => {
    const { model, clock, wires, told } = await openSilent()
    model.compact(model.put('of others', 'x'))
    await clock.pass(35)
    expect([told, starts(wires)]).toEqual([
      ['AT 1', 'ERROR STORE_VERSION_GONE'],
      [2, 1],
    ])
  })

  test('is left as it is if what it has missed was on its way', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    wires[0]!.delay = clock.sleep(29_500)
    foreign(model, 'a')
    await clock.pass(29)
    // another one has told of it
    expect([told, starts(wires), wires[1]?.isCanceled]).toEqual([['AT 1'], [2, 1], true])
    await clock.pass(2)
    expect([told, wires[0]!.isCanceled, clock.sleepers]).toEqual([['AT 1', 'ADDED a'], false, 1])
  })

  test('begins anew if it is not, and leaves no pause behind', async () => {
    const { model, clock, wires } = await openSilent()
    foreign(model, 'a')
    await clock.pass(32)
    expect([wires[1]?.isCanceled, clock.sleepers]).toEqual([true, 1])
  })
})

describe('a watch that no other watch can look at', () => {
  const silent = (path: string) => (path === '/v3/watch' ? new Promise<never>(() => {}) : undefined)

  test('because watches are not answered, as itself, fails after some minutes', async () => {
    const { model, clock, told, read, asked } = open()
    model.intercept = silent
    void read()
    await clock.pass(1)
    foreign(model, 'a')
    await clock.pass(275)
    expect(told).toEqual(['AT 1'])
    await clock.pass(20)
    expect(told).toEqual(['AT 1', 'ERROR STORE_IO'])
    expect(asked().filter((call) => call === 'watch')).toHaveLength(15)
    await clock.pass(2)
    expect(clock.sleepers).toBe(0)
  })

  test('does not fail as long as there is nothing new', async () => {
    const { model, clock, told, read, asked } = open()
    model.intercept = silent
    void read()
    await clock.pass(300)
    expect([told, asked().filter((call) => call === 'watch').length]).toEqual([['AT 1'], 1])
  })

  const canceled = { result: { canceled: true, cancel_reason: 'etcdserver: permission denied' } }
  const value = new TextEncoder().encode(`${JSON.stringify(canceled)}\n`)
  const refused = { getReader: () => ({ read: async () => ({ done: false, value }), cancel: async () => {} }) }
  test.each<[string, () => Promise<EtcdHttpResponse>, string]>([
    ['are not answered any more', () => new Promise<never>(() => {}), 'a watch was not answered'],
    ['end in an error', () => Promise.reject(new TypeError('fetch failed')), 'fetch failed'],
    [
      'are refused',
      async () => ({ status: 200, text: async () => '', body: refused }),
      'a watch was canceled: etcdserver: permission denied',
    ],
  ])('because others %s fails with what is wrong, though it has begun', async (_, answer, problem) => {
    const { model, clock, told, problems, read } = open()
    void read()
    await clock.pass(1)
    model.intercept = (path) => (path === '/v3/watch' ? answer() : undefined)
    model.put('of others', 'x')
    await clock.pass(205)
    expect(told).toEqual(['AT 1'])
    await clock.pass(95)
    expect([told, problems]).toEqual([['AT 1', 'ERROR STORE_IO'], [problem]])
  })

  test('fails no later if its connection ends, and etcd does not always say what is new', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    let calls = 0
    model.intercept = (path) => {
      if (path === '/v3/watch') return silent(path)
      return ++calls % 5 === 0 ? Promise.reject(new TypeError('fetch failed')) : undefined
    }
    model.put('of others', 'x')
    await clock.pass(150)
    wires[0]!.cut()
    await clock.pass(230)
    expect(told).toEqual(['AT 1', 'ERROR STORE_IO'])
  })

  test('is not one of a server that cannot be asked: that is asked again', async () => {
    const { model, clock, told } = await openSilent()
    foreign(model, 'a')
    model.intercept = () => Promise.reject(new TypeError('fetch failed'))
    await clock.pass(400)
    expect(told).toEqual(['AT 1'])
    model.intercept = () => undefined
    await clock.pass(35)
    expect(told).toEqual(['AT 1', 'ADDED a'])
  })

  test('is given the time to tell what is on its way', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    model.intercept = (path) => (path === '/v3/watch' ? Promise.reject(new TypeError('fetch failed')) : undefined)
    foreign(model, 'a')
    // others have been asked for 14 times, from 30 s to 225 s
    wires[0]!.delay = clock.sleep(224_500)
    await clock.pass(224)
    expect(told).toEqual(['AT 1'])
    model.put('of others', 'x')
    await clock.pass(60)
    expect([told, wires[0]!.isCanceled]).toEqual([['AT 1', 'ADDED a'], false])
  })

  test('is not one of which others are answered now and then', async () => {
    const { model, clock, wires, told, read } = open()
    void read()
    await clock.pass(1)
    let watches = 0
    model.intercept = (path) => (path === '/v3/watch' && ++watches % 5 !== 0 ? silent(path) : undefined)
    for (let i = 0; i < 50; i++) {
      model.put('of others', `${i}`)
      await clock.pass(10)
    }
    expect([told, wires[0]!.isCanceled, watches > 20]).toEqual([['AT 1'], false, true])
  })
})
