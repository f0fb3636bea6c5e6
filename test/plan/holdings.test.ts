import { Ledger } from 'ipam-kit/allocator'
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { definePlanner, type Effect, type Moved, type Watch } from 'ipam-kit/plan'
import { describe, expect, test } from 'vitest'
import { asModelEntry, heldBy, listed, type Thing, type ThingSpec, thing, thingPlanner } from './model-holdings.js'

let moves: Moved[] = []
let version = 0

function planner() {
  moves = []
  return thingPlanner(moves)
}

function stored(name: string, spec: ThingSpec, uid = `uid-${name}`): Thing {
  return thing('Seat', name, spec, { uid, resourceVersion: String(++version) })
}

function show(to: ReturnType<typeof planner>, object: Thing): readonly string[] {
  moves.length = 0
  return to.observe({ kind: 'present', object })
}

const refOf = (name: string) => ({ apiVersion: 'test.dev/v1', kind: 'Seat', name })
const create = (name: string, spec: ThingSpec): Effect => ({
  kind: 'create',
  object: thing('Seat', name, spec),
  why: 'a test',
})
const patch = (name: string, patch: object): Effect =>
  ({ kind: 'patch', ref: refOf(name), patch, if: {}, why: 'a test' }) as Effect
const begin = (of: ReturnType<typeof planner>, ...effects: Effect[]) =>
  of.begin!({ outcome: { kind: 'test', message: '' }, effects })
const shown = (of: ReturnType<typeof planner>) => listed(of.entries().map(asModelEntry))
const freed = () => moves.flatMap((moved) => moved.freed.map(({ prefix }) => Prefix.format(prefix)))

describe('an object that cannot be read', () => {
  test('holds what its last readable version held, and what its present raw form tells', () => {
    const one = planner()
    show(one, stored('a', { extents: ['10.0.0.1/32'], holder: 'k' }))
    show(one, stored('a', { isBroken: true, rescue: ['10.0.0.2/32'], holder: 'k' }))
    show(one, stored('a', { isBroken: true, rescue: ['10.0.0.3/32'], holder: 'k' }))
    expect(freed()).toEqual(['10.0.0.2/32'])
    expect(shown(one)).toEqual([' 10.0.0.1/32 held k - Seat a uid-a', ' 10.0.0.3/32 held k - Seat a uid-a'])
  })

  test('also where a readable version held the same as the unreadable one before it', () => {
    const one = definePlanner({
      name: 'raw',
      watches: { seats: thingPlanner([]).watches[0] as Watch<Thing> },
      holds: {
        seats: ({ object }) =>
          (object as Thing).spec.extents!.map((text) => ({ prefix: Prefix.parse(text), key: 'k', field: 'spec' })),
      },
      ledger: () => new Ledger({ space: RangeSet.empty }),
      wakes: { seats: () => [] },
      plan: () => undefined,
    })
    const both = ['10.0.0.1/32', '10.0.0.2/32']
    const see = (spec: ThingSpec) => one.observe({ kind: 'present', object: stored('a', spec) })
    see({ extents: ['10.0.0.1/32'], holder: 'k' })
    see({ isBroken: true, extents: both, holder: 'k' })
    see({ extents: both, holder: 'k' })
    see({ isBroken: true, extents: [], holder: 'k' })
    expect(one.entries().map(({ prefix }) => Prefix.format(prefix))).toEqual(both)
  })

  test('holds its raw form alone after a start, and after a deletion that was followed by another object', () => {
    const one = planner()
    show(one, stored('a', { extents: ['10.0.0.1/32'], holder: 'k' }, 'first'))
    show(one, stored('a', { isBroken: true, rescue: ['10.0.0.2/32'], holder: 'k' }, 'second'))
    expect(shown(one)).toEqual([' 10.0.0.2/32 held k - Seat a second'])
  })
})

describe('an extent comes free', () => {
  test('in part, if its object keeps a part of it', () => {
    const one = planner()
    show(one, stored('a', { extents: ['10.0.0.0/30'], holder: 'k' }))
    expect(show(one, stored('a', { extents: ['10.0.0.0/31'], holder: 'k' }))).toEqual(['waiting'])
    expect(freed()).toEqual(['10.0.0.0/30'])
  })

  test('and does not, if other objects hold all parts of it', () => {
    const one = planner()
    show(one, stored('b', { extents: ['10.0.0.0/31', '10.0.0.2/32', '10.0.0.3/32', '10.0.0.3/32'], holder: 'l' }))
    show(one, stored('a', { extents: ['10.0.0.0/30'], holder: 'k' }))
    expect(show(one, stored('a', { extents: [], holder: 'k' }))).toEqual(['l'])
    expect(freed()).toEqual([])
  })

  test('when a plan ends that did not write it, once, and not after a reset', () => {
    const one = planner()
    const end = begin(one, create('a', { extents: ['10.0.0.1/32'], holder: 'k' }))
    expect([end(false), end(false)]).toEqual([['waiting'], []])
    const late = begin(one, create('a', { extents: ['10.0.0.1/32'], holder: 'k' }))
    one.reset()
    expect(late(false)).toEqual([])
  })
})

describe('a plan holds what its effects write', () => {
  test('until it has ended, also what its object holds and the plan deletes first', () => {
    const one = planner()
    const spec = { extents: ['10.0.0.1/32'], holder: 'k' }
    show(one, stored('a', spec, 'first'))
    const end = begin(one, { kind: 'delete', ref: refOf('a'), if: { uid: 'first' }, why: 'a test' }, create('a', spec))
    moves.length = 0
    one.observe({ kind: 'absent', ref: refOf('a'), uid: 'first' })
    expect(freed()).toEqual([])
    expect(shown(one)).toEqual([' 10.0.0.1/32 pending k - Seat a -'])
    expect(end(false)).toEqual(['waiting'])
  })

  test('where effects follow each other on one object', () => {
    const one = planner()
    const add = (value: string) => patch('a', [{ op: 'add', path: '/spec/extents/-', value }])
    begin(one, create('a', { extents: [], holder: 'k' }), add('10.0.0.1/32'), add('10.0.0.2/32'))
    const pending = one.entries().map(({ prefix }) => Prefix.format(prefix))
    expect(new Set(pending)).toEqual(new Set(['10.0.0.1/32', '10.0.0.2/32']))
  })

  test('as it is sent: a field that is undefined is no change', () => {
    const one = planner()
    show(one, stored('a', { isBroken: true, rescue: ['10.0.0.1/32'], extents: ['10.0.0.2/32'], holder: 'k' }))
    begin(one, patch('a', { spec: { extents: undefined, isBroken: null } }))
    expect(shown(one)).toContain(' 10.0.0.2/32 pending k - Seat a uid-a')
  })

  test('as its watch keeps an object', () => {
    const one = planner()
    const object = thing('Link', 'a', { extents: ['10.0.0.1/32'], holder: 'k', noise: { deep: 1 } })
    begin(one, { kind: 'create', object, why: 'a test' })
    expect(shown(one)).toEqual([' 10.0.0.1/32 pending k - Link a -'])
  })
})

describe('what objects hold is read again', () => {
  /** A planner whose seats hold an address of the network that `place` names. */
  function moving(place: { network: string; foreign?: boolean }) {
    const seats = thingPlanner([]).watches[0] as Watch<Thing>
    return definePlanner({
      name: 'moving',
      watches: { seats },
      holds: {
        seats: ({ object }) => {
          const own = { prefix: Prefix.parse(`${place.network}.1/32`), key: object.metadata.name, field: 'spec' }
          return place.foreign === true ? [own, { ...own, pool: 'other', reason: 'foreign' }] : [own]
        },
      },
      ledger: () => new Ledger({ space: RangeSet.empty }),
      wakes: { seats: () => [] },
      moved: ({ freed }) => freed.map(({ prefix }) => Prefix.format(prefix)),
      plan: () => undefined,
      onResult: (_, { holdings }) => {
        holdings.refresh('seats', ['a'])
        return []
      },
    })
  }
  const result = { call: {} as never, answer: { ok: true, value: null }, atMs: 0 } as const

  test('also after the result of a call, and wakes what waits for it', () => {
    const place = { network: '10.0.0' }
    const one = moving(place)
    one.observe({ kind: 'present', object: stored('a', { extents: [], holder: 'k' }) })
    place.network = '10.0.1'
    expect(one.onResult!(result)).toEqual(['10.0.0.1/32'])
  })

  test('for the plans in progress as well', () => {
    const place = { network: '10.0.0' }
    const one = moving(place)
    one.begin!({
      outcome: { kind: 'test', message: '' },
      effects: [create('b', { extents: [], holder: 'k' })],
    })
    place.network = '10.0.1'
    expect(one.onResult!(result)).toEqual(['10.0.0.1/32'])
  })

  test('and what a plan is about to keep from another pool is no entry', () => {
    const one = moving({ network: '10.0.0', foreign: true })
    one.begin!({
      outcome: { kind: 'test', message: '' },
      effects: [create('b', { extents: [], holder: 'k' })],
    })
    expect(one.entries().map(({ holder }) => holder.pool)).toEqual([undefined])
    expect(one.context.holdings.ledger('other').counts().pending).toBe(1)
  })

  test('of no watch but those of holds', () => {
    const one = moving({ network: '10.0.0' })
    expect(() => one.context.holdings.refresh('nodes', [])).toThrow('Holdings.refresh: argument watch')
  })
})

test('a change of an object with many extents reads each of them a few times', () => {
  const reads = (count: number) => {
    let pools = 0
    const counted = (nth: number) => ({
      prefix: Prefix.parse(`10.${nth >> 7}.${(nth & 127) * 2}.0/32`),
      key: 'k',
      field: 'spec',
      get pool() {
        pools++
        return 'one'
      },
    })
    const one = definePlanner({
      name: 'many',
      watches: { seats: thingPlanner([]).watches[0] as Watch<Thing> },
      holds: {
        seats: ({ object }) =>
          Array.from({ length: count }, (_, nth) => counted(nth + Number((object as Thing).spec.domain))),
      },
      ledger: () => new Ledger({ space: RangeSet.empty }),
      wakes: { seats: () => [] },
      plan: () => undefined,
    })
    one.observe({ kind: 'present', object: stored('a', { extents: [], holder: 'k', domain: '0' }) })
    pools = 0
    one.observe({ kind: 'present', object: stored('a', { extents: [], holder: 'k', domain: '1' }) })
    return pools
  }
  expect(reads(1000)).toBeLessThan(20 * reads(100))
})

test.each([
  ['wakes', { wakes: {} }],
  ['holds', { ledger: () => new Ledger({ space: RangeSet.empty }) }],
  ['ledger', { moved: () => [] }],
])('a definition of which a part would never be called is refused: %s', (argument, part) => {
  const seats = thingPlanner([]).watches[0] as Watch<Thing>
  const definition = { name: 'a', watches: { seats }, wakes: { seats: () => [] }, plan: () => undefined, ...part }
  expect(() => definePlanner(definition as never)).toThrow(`definePlanner: argument ${argument}`)
})

const one = { prefix: Prefix.parse('10.0.0.1/32'), key: 'k', field: 'spec' }
const shared = new Ledger<never>({ space: RangeSet.empty })
test.each([
  ['wakes.seats()', { wakes: { seats: () => undefined } }],
  ['wakes.seats()[0]', { wakes: { seats: () => [5] } }],
  ['moved()', { moved: () => undefined }],
  ['ledger()', { ledger: () => undefined }],
  ['ledger().set', { ledger: () => ({}) }],
  ['ledger()', { ledger: () => shared, holds: { seats: () => ['a', 'b'].map((pool) => ({ ...one, pool })) } }],
  ['holds.seats()', { holds: { seats: () => undefined } }],
  ['holds.seats()[0]', { holds: { seats: () => [undefined] } }],
  ['holds.seats()[1].prefix', { holds: { seats: () => [one, { ...one, prefix: '10.0.0.2/32' }] } }],
  ['holds.seats()[0].pool', { holds: { seats: () => [{ ...one, pool: 5 }] } }],
  ['holds.seats()[0].reason', { holds: { seats: () => [{ ...one, reason: 'pending' }] } }],
  ['holds.seats()[0].reason', { holds: { seats: () => [{ ...one, reason: 'kept' }] } }],
])('what a function of a definition returns is checked: %s', (argument, part) => {
  const definition = {
    name: 'a',
    watches: { seats: thingPlanner([]).watches[0] as Watch<Thing> },
    holds: { seats: () => [one] },
    ledger: () => new Ledger({ space: RangeSet.empty }),
    wakes: { seats: () => [] },
    plan: () => undefined,
    ...part,
  }
  const object = stored('a', { extents: [], holder: 'k' })
  const observe = () => definePlanner(definition as never).observe({ kind: 'present', object })
  expect(observe).toThrow(`definePlanner: argument ${argument}: expected `)
})

test('an entry follows each field of what its object holds', () => {
  const one = planner()
  show(one, stored('a', { extents: ['10.0.0.1/32'], holder: 'k', domain: 'd' }))
  show(one, stored('a', { extents: ['10.0.0.1/32'], holder: 'k', domain: 'e' }))
  expect(shown(one)).toEqual([' 10.0.0.1/32 held k e Seat a uid-a'])
})

test('an entry follows the end of the cooldown that its object tells', () => {
  const one = definePlanner({
    name: 'cooldowns',
    watches: { seats: thingPlanner([]).watches[0] as Watch<Thing> },
    holds: {
      seats: ({ object }) => [
        {
          ...heldBy(object as Thing)[0]!,
          domain: undefined,
          reason: 'cooldown',
          untilMs: Number((object as Thing).spec.domain),
        },
      ],
    },
    ledger: () => new Ledger({ space: RangeSet.empty }),
    wakes: { seats: () => [] },
    plan: () => undefined,
  })
  for (const domain of ['1000', '2000']) {
    one.observe({ kind: 'present', object: stored('a', { extents: ['10.0.0.1/32'], holder: 'k', domain }) })
  }
  expect(one.entries().map(({ untilMs }) => untilMs)).toEqual([2000])
})

test('two other holders are woken, and none that the state of a planner has recorded', () => {
  const one = planner()
  for (const key of ['gone', 'left']) {
    const holder = { key, object: refOf(key), field: '' }
    one.context.holdings.ledger().set(key, { prefix: Prefix.parse('10.0.0.0/30'), reason: 'former', holder })
  }
  for (const key of ['l', 'm', 'n']) show(one, stored(key, { extents: ['10.0.0.1/32'], holder: key }))
  expect(show(one, stored('a', { extents: ['10.0.0.1/32'], holder: 'k' }))).toEqual(['l', 'm'])
})

test('entries are in the order of pools and extents, with and without ledgers', () => {
  for (const hasLedger of [true, false]) {
    const one = thingPlanner([], hasLedger)
    show(one, stored('a', { extents: ['10.0.0.2/32', '10.0.0.1/32'], holder: 'k', pool: 'q' }))
    show(one, stored('b', { extents: ['10.0.0.3/32', '10.0.0.1/32'], holder: 'l' }))
    const places = one.entries().map(({ prefix, holder }) => `${holder.pool ?? '-'} ${Prefix.format(prefix)}`)
    expect(places).toEqual(['- 10.0.0.1/32', '- 10.0.0.3/32', 'q 10.0.0.1/32', 'q 10.0.0.2/32'])
  }
})
