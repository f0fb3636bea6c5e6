import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { AddressPool, type AddressPoolSpec, Bitmap, type Strategy } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'
import { property } from '../../cidr/property.js'
import { runOn, slotScript } from '../slots/slots-script.js'

/** What can be stored, and how. */
interface Codec<T> {
  readonly states: fc.Arbitrary<T>
  readonly encode: (state: T) => Uint8Array
  readonly decode: (bytes: Uint8Array) => T
  readonly safeDecode: (bytes: Uint8Array) => { readonly ok: boolean }
}

const STRATEGIES: readonly Strategy[] = [
  { kind: 'lowest' },
  { kind: 'next-fit' },
  { kind: 'random', seed: 77 },
  { kind: 'least-recently-released' },
  { kind: 'hashed' },
]
const SPECS: readonly AddressPoolSpec[] = [
  { ranges: RangeSet.parse(['10.0.0.0/28', 'fd00::ffff:fff8/125']) },
  { ranges: RangeSet.parse(['10.0.0.0/29', 'fd00::/16']), staticBand: 2, cooldownSeconds: 2, holdSeconds: 60 },
  {
    ranges: RangeSet.parse(['10.0.0.1-10.0.0.3', '10.0.0.9', '255.255.255.255', 'ffff::/16']),
    exclude: RangeSet.parse(['10.0.0.2']),
    cooldownSeconds: 1,
    preallocated: [
      ['key-1', Address.parse('10.0.0.9')],
      ['key-1', Address.parse('ffff::1')],
    ],
  },
]
const START_MS = 1_800_000_000_000

type Step = readonly [what: 'allocate' | 'occupy' | 'release', uid: string, key: string | undefined, seconds: number]
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.tuple(
    fc.constantFrom('allocate' as const, 'allocate' as const, 'occupy' as const, 'release' as const),
    fc.constantFrom('a', 'b', 'c', 'ü𝄞', '0b6f0f3e-5a8f-4c1e-9d5c-2f7c5f8e9a01'),
    fc.constantFrom(undefined, 'key-1', 'key-2'),
    fc.nat(2),
  ),
  { maxLength: 16, size: 'max' },
)

const histories = fc.record({ spec: fc.constantFrom(...SPECS), strategy: fc.constantFrom(...STRATEGIES), steps })
type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

/** A pool after some steps, before each of which something else may be done. */
function poolAfter({ spec, strategy, steps }: History, detour: (pool: AddressPool, nowMs: number) => void = () => {}) {
  const pool = new AddressPool({ ...spec, strategy })
  let nowMs = START_MS
  for (const [i, [what, uid, stickyKey, seconds]] of steps.entries()) {
    nowMs += seconds * 1000
    pool.counts({ nowMs })
    detour(pool, nowMs)
    const owner = { uid, ...(i % 2 === 0 ? { interface: 'net1', key: `default/${uid}` } : {}) }
    if (what === 'release') pool.releaseOwner(uid, { nowMs })
    else if (what === 'occupy') pool.occupy(Address.parse(`10.0.0.${i}`), owner, { stickyKey })
    else pool.allocate({ owner, stickyKey, family: i % 4 === 0 ? 6 : undefined }, { nowMs })
  }
  return pool
}

const pools = histories.map((history) => poolAfter(history))

const bitmaps = fc.constantFrom(0, 1, 8, 31, 64, 100, 1000).chain((size) =>
  (size === 0 ? fc.constant([]) : slotScript(size, 6)).map((commands) => {
    const bitmap = new Bitmap(size)
    for (const command of commands) runOn(bitmap, command)
    return bitmap
  }),
)

const sets = fc
  .tuple(rangeSetIn(Address.parse('10.0.0.0'), 64), rangeSetIn(Address.parse('fd00::ffff:ffff:ffff:ffc0'), 128))
  .map(([v4, v6]) => RangeSet.union(v4, v6))

const codecs: readonly [string, Codec<unknown>][] = [
  ['AddressPool', codec(pools, AddressPool)],
  ['Bitmap', codec(bitmaps, Bitmap)],
  ['RangeSet', codec(sets, RangeSet)],
]

function codec<T>(states: fc.Arbitrary<T>, { encode, decode, safeDecode }: Omit<Codec<T>, 'states'>): Codec<unknown> {
  return { states, encode: (state) => encode(state as T), decode, safeDecode }
}

describe.each(codecs)('a stored %s', (_, { states, encode, decode, safeDecode }) => {
  const snapshots = states.map(encode)
  const refused = { ok: false, failure: { code: 'MALFORMED_BYTES' } }

  property([snapshots], 0.2)('is read with not a bit changed, and with any bit changed it is refused', (bytes) => {
    expect(encode(decode(bytes))).toEqual(bytes)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >>> 3]! ^= 1 << (bit & 7)
      if (safeDecode(bytes).ok) expect.fail(`bit ${bit} of ${bytes.length * 8} may be changed`)
      bytes[bit >>> 3]! ^= 1 << (bit & 7)
    }
  })

  const damage = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 12 })
  property([snapshots, damage], 3)('is refused with several bytes changed', (bytes, changes) => {
    const before = bytes.slice()
    for (const [at, by] of changes) bytes[at % bytes.length]! ^= by
    fc.pre(bytes.some((byte, at) => byte !== before[at]))
    expect(safeDecode(bytes)).toMatchObject(refused)
  })

  property([snapshots, snapshots, fc.nat(), fc.nat()], 3)(
    'is refused with a part of another one in it',
    (one, other, at, count) => {
      const bytes = one.slice()
      const from = at % bytes.length
      bytes.set(other.subarray(0, Math.min(other.length, bytes.length - from, (count % 16) + 1)), from)
      fc.pre(bytes.some((byte, i) => byte !== one[i]) && bytes.some((byte, i) => byte !== other[i]))
      expect(safeDecode(bytes)).toMatchObject(refused)
    },
  )

  property([snapshots], 0.2)('is refused when it is cut short anywhere, at either end', (bytes) => {
    for (let length = 0; length < bytes.length; length++) {
      expect(safeDecode(bytes.subarray(0, length)).ok).toBe(false)
      expect(safeDecode(bytes.subarray(bytes.length - length)).ok).toBe(false)
    }
  })

  const more = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 20 }),
    fc.nat(19).map((count) => new Uint8Array(count + 1)),
  )
  property([snapshots, more], 3)('is refused with more behind it or before it', (bytes, extra) => {
    expect(safeDecode(Uint8Array.of(...bytes, ...extra))).toMatchObject(refused)
    expect(safeDecode(Uint8Array.of(...extra, ...bytes))).toMatchObject(refused)
    expect(safeDecode(Uint8Array.of(...bytes, ...bytes))).toMatchObject(refused)
  })

  const edits = fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.oneof(fc.nat(3), fc.nat(255))), {
    minLength: 1,
    maxLength: 3,
  })
  property([snapshots, edits], 4)(
    'that is another one, with a right checksum, is in the form of that one',
    (bytes, changes) => {
      const body = [...bodyOf(bytes)]
      for (const [at, removed, byte] of changes)
        body.splice(at % (body.length + 1), removed, ...(removed === 2 ? [] : [byte]))
      const edited = seal(body)
      const result = safeDecode(edited)
      if (result.ok) expect(encode(decode(edited))).toEqual(edited)
      else expect(result).toMatchObject(refused)
    },
  )

  property([snapshots], 0.2)('of an older version is refused as such', (bytes) => {
    const [version] = bytes
    for (const bytesBefore of [
      seal([1, ...bodyOf(bytes).subarray(1)]),
      Uint8Array.of(1, ...bodyOf(bytes).subarray(1)),
    ]) {
      expect(version).toBeGreaterThan(1)
      expect(safeDecode(bytesBefore)).toMatchObject({
        ok: false,
        failure: { code: 'MALFORMED_BYTES', context: { position: 0, problem: `version 1, expected ${version}` } },
      })
    }
  })

  const [sample] = fc.sample(snapshots, { numRuns: 1, seed: 7 }) as [Uint8Array]

  test('may lie anywhere, and come from another realm or as a Buffer', () => {
    const offset = Uint8Array.of(9, 9, 9, ...sample, 9).subarray(3, -1)
    const foreign = runInNewContext('Uint8Array.from(bytes)', { bytes: [...sample] }) as Uint8Array
    expect(foreign instanceof Uint8Array).toBe(false)
    for (const bytes of [offset, foreign, Buffer.from(sample)]) {
      expect(encode(decode(bytes))).toEqual(sample)
    }
  })

  test.each<[about: string, given: unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['a bigint', 5n],
    ['a text', 'bytes'],
    ['a symbol', Symbol('bytes')],
    ['an array', [...sample]],
    ['an object', {}],
    ['an object with a length', { ...sample, length: sample.length }],
    ['an object that says that it is one', { [Symbol.toStringTag]: 'Uint8Array', length: 9, subarray: () => sample }],
    ['one behind a proxy', new Proxy(sample, {})],
    ['a function', () => sample],
    ['an ArrayBuffer', sample.slice().buffer],
    ['a DataView', new DataView(sample.slice().buffer)],
    ['an Int8Array', Int8Array.from(sample)],
    ['a Uint8ClampedArray', Uint8ClampedArray.from(sample)],
    ['a Uint16Array', Uint16Array.from(sample)],
    [
      'an Int8Array that says that it is one',
      Object.defineProperty(Int8Array.from(sample), Symbol.toStringTag, { value: 'Uint8Array' }),
    ],
  ])('%s is none', (_, given) => {
    const mistake = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      context: expect.objectContaining({ argument: 'bytes', expected: 'a Uint8Array' }),
    })
    expect(() => decode(given as Uint8Array)).toThrow(mistake)
    expect(safeDecode(given as Uint8Array)).toMatchObject({ ok: false, failure: { code: 'MALFORMED_BYTES' } })
  })
})

test('stored bytes of the least length over bits that are set are no other bitmap', () => {
  const around = new Bitmap(1000)
  around.takeRange(0, 63)
  for (let slot = 64; slot < 1000; slot += 2) around.take(slot)
  const inside = Bitmap.encode(new Bitmap(64))
  expect(inside.length).toBe(8)
  const bytes = Bitmap.encode(around)
  expect([...bytes.subarray(4, 12)]).toEqual(Array(8).fill(255))
  bytes.set(inside, 4)
  expect(Bitmap.safeDecode(bytes)).toMatchObject({ ok: false, failure: { code: 'MALFORMED_BYTES' } })
})

describe('two of one state have the same bytes', () => {
  const detours: Readonly<Record<string, (pool: AddressPool, nowMs: number) => void>> = {
    'a release that is undone': (pool, nowMs) => {
      for (const uid of ['a', 'b', 'c']) expect(pool.undo(pool.releaseOwner(uid, { nowMs }))).toBe(true)
    },
    'two releases that are undone, the last one first': (pool, nowMs) => {
      const deltas = ['b', 'a'].map((uid) => pool.releaseOwner(uid, { nowMs }))
      for (const delta of deltas.reverse()) expect(pool.undo(delta)).toBe(true)
    },
    'a request that cannot be met': (pool, nowMs) => {
      const want = { kind: 'run', count: 1000 } as const
      expect(pool.allocate({ owner: { uid: 'z' }, want, family: 4 }, { nowMs }).kind).toBe('exhausted')
    },
    'what is held already, asked for again': (pool, nowMs) => {
      for (const { address, owners } of pool.entries()) for (const owner of owners) pool.occupy(address, owner)
      for (const { owners } of pool.entries()) pool.allocate({ owner: owners[0]! }, { nowMs })
    },
    questions: (pool, nowMs) => {
      pool.counts({ nowMs })
      pool.inCooldown({ nowMs })
      pool.entries()
      pool.lowestFree()
    },
    'storing it': (pool) => {
      AddressPool.encode(pool)
    },
  }

  describe.each(Object.entries(detours))('a pool with or without %s', (_, detour) => {
    property([histories])('on its way', (history) => {
      expect(AddressPool.encode(poolAfter(history, detour))).toEqual(AddressPool.encode(poolAfter(history)))
    })
  })

  const observed = fc.array(
    fc.record({ last: fc.nat(6), uid: fc.constantFrom('a', 'b', 'c'), isOnNet: fc.boolean(), sequence: fc.nat(3) }),
    { maxLength: 12, size: 'max' },
  )
  property(
    [observed.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })))],
    3,
  )('a pool whose holds were read back in another order, several with one number', ([holds, shuffled]) => {
    const byName = new Map(holds.map((hold) => [`${hold.last} ${hold.uid} ${hold.isOnNet}`, hold]))
    const poolOf = (order: readonly (typeof holds)[number][]) => {
      const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/29']) })
      for (const hold of order) {
        if (byName.get(`${hold.last} ${hold.uid} ${hold.isOnNet}`) !== hold) continue
        const { last, uid, isOnNet, sequence } = hold
        pool.occupy(Address.parse(`10.0.0.${last}`), { uid, ...(isOnNet ? { interface: 'net1' } : {}) }, { sequence })
      }
      return pool
    }
    const [one, other] = [poolOf(holds), poolOf(shuffled)]
    expect(AddressPool.encode(one)).toEqual(AddressPool.encode(other))
    expect(one.entries()).toEqual(other.entries())
    for (const uid of ['a', 'b', 'c']) expect(one.addressesOf(uid)).toEqual(other.addressesOf(uid))
    expect(one.releaseOwner('a').holds).toEqual(other.releaseOwner('a').holds)
  })

  test.each(STRATEGIES)('a pool whose addresses came back in one order, by $kind', (strategy) => {
    const pool = () => {
      const made = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/29', 'fd00::/125']), strategy, holdSeconds: 60 })
      for (const uid of ['a', 'b', 'c', 'd'])
        made.occupy(Address.parse(`10.0.0.${uid.charCodeAt(0) - 96}`), { uid }, { stickyKey: 'key' })
      return made
    }
    const [straight, detour] = [pool(), pool()]
    const nowMs = START_MS
    for (const uid of ['c', 'a', 'b']) straight.releaseOwner(uid, { nowMs })
    const early = detour.releaseOwner('a', { nowMs })
    detour.releaseOwner('c', { nowMs })
    expect(detour.undo(early)).toBe(true)
    detour.releaseOwner('a', { nowMs })
    detour.undo(detour.releaseOwner('d', { nowMs }))
    detour.releaseOwner('b', { nowMs })
    expect(AddressPool.encode(detour)).toEqual(AddressPool.encode(straight))
  })

  test('a pool whose parts were named in another order, or twice', () => {
    const preallocated: [string, Address][] = [
      ['b', Address.parse('fd00::2')],
      ['a', Address.parse('10.0.0.9')],
      ['b', Address.parse('10.0.0.1')],
    ]
    const one = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/28', 'fd00::/120']), preallocated })
    const other = new AddressPool({
      ranges: RangeSet.parse(['fd00::/120', '10.0.0.8/29', '10.0.0.0/29', '10.0.0.4/30']),
      preallocated: [...preallocated].reverse(),
    })
    expect(AddressPool.encode(other)).toEqual(AddressPool.encode(one))
  })

  property([bitmaps, fc.array(fc.nat(), { maxLength: 9 })])(
    'a bitmap that had other slots taken and freed',
    (bitmap, slots) => {
      const other = bitmap.fork()
      for (const slot of slots) {
        const index = slot % Math.max(1, other.size)
        if (other.size > 0 && other.take(index)) other.release(index)
      }
      const rebuilt = new Bitmap(bitmap.size)
      for (const { first, last } of [...bitmap.usedRanges()].reverse()) rebuilt.takeRange(first, last)
      const bytes = Bitmap.encode(bitmap)
      const words = Bitmap.fromWords(bitmap.size, bitmap.toWords())
      for (const same of [other, rebuilt, words]) expect(Bitmap.encode(same)).toEqual(bytes)
    },
  )

  property([sets, sets])('a set that was made of other parts', (set, other) => {
    const parts = [RangeSet.subtract(set, other), RangeSet.intersect(other, set), set]
    const [a, b, c] = parts.map(RangeSet.prefixes)
    expect(RangeSet.encode(RangeSet.fromPrefixes([...c!, ...b!, ...a!].reverse()))).toEqual(RangeSet.encode(set))
  })
})

describe('a time that none is', () => {
  const LAST_MS = 8.64e15
  const large = (value: number) => [...varint(value % 2 ** 32), ...varint(Math.floor(value / 2 ** 32))]
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]

  /** The bytes of a pool with one time in them, and the same with another time there. */
  function withTime(pool: AddressPool, before: number, after: number): Uint8Array {
    const body = [...bodyOf(AddressPool.encode(pool))]
    const [from, to] = [large(before), large(after)]
    const at = body.findIndex((_, i) => from.every((byte, k) => body[i + k] === byte))
    expect(at).toBeGreaterThan(0)
    body.splice(at, from.length, ...to)
    return seal(body)
  }

  const NOW_MS = START_MS + 1
  const COOL_MS = NOW_MS + 7000
  const pool = () => {
    const made = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/29']), cooldownSeconds: 7 })
    for (const uid of ['a', 'b']) made.allocate({ owner: { uid } }, { nowMs: START_MS })
    made.releaseOwner('b', { nowMs: NOW_MS })
    return made
  }

  test.each([
    ['of the pool', NOW_MS],
    ['when an address has cooled down', COOL_MS],
  ])('%s', (_, time) => {
    expect(AddressPool.safeDecode(withTime(pool(), time, time)).ok).toBe(true)
    for (const wrong of [LAST_MS + 1, 2 ** 53 - 1]) {
      expect(AddressPool.safeDecode(withTime(pool(), time, wrong))).toMatchObject({
        ok: false,
        failure: { code: 'MALFORMED_BYTES' },
      })
    }
  })
})
