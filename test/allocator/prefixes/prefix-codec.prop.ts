import fc from 'fast-check'
import { PrefixAllocator } from 'ipam-kit/allocator'
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'
import { property } from '../../cidr/property.js'

type Spec = ConstructorParameters<typeof PrefixAllocator>[0]

const ranges = (...texts: string[]) => RangeSet.parse(texts)
const specs: Spec[] = [
  { ranges: ranges('10.0.0.0/26'), childLength: 28 },
  { ranges: ranges('255.255.255.0/24'), exclude: ranges('255.255.255.16'), childLength: 28 },
  { ranges: ranges('fd00::/60', 'fd00:0:0:20::/61'), childLength: 64 },
  { ranges: RangeSet.empty, family: 6, childLength: 64 },
]

type Step = readonly [what: 'allocate' | 'release' | 'occupy' | 'undo', uid: string, nth: number]
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('allocate', 'allocate', 'release', 'occupy', 'undo'),
  fc.constantFrom('a', 'b', 'ü𝄞', 'd', 'e'),
  fc.nat(7),
)
const setup = fc.record({
  spec: fc.constantFrom(...specs),
  kind: fc.constantFrom('lowest' as const, 'next-fit' as const),
  before: fc.array(step, { maxLength: 30, size: 'max' }),
})

const observed = ['10.0.0.16/28', '10.0.0.0/27', '192.0.2.0/28', 'fd00::/64', 'fd00:0:0:20::/62', '255.255.255.240/29']

/** Does the same to an allocator as to another one, and returns the answers. */
function act(allocator: PrefixAllocator, steps: readonly Step[]): unknown[] {
  return steps.map(([what, uid, nth]) => {
    const owner = {
      uid,
      ...(nth % 2 === 0 ? { key: `default/${uid}`, kind: 'Node' } : {}),
      ...(nth % 3 === 0 ? { interface: `net${nth}` } : {}),
    }
    if (what === 'occupy') return allocator.occupy(Prefix.parse(observed[nth % observed.length]!), owner)
    if (what === 'allocate') return allocator.allocate({ owner })
    const delta = allocator.releaseOwner(uid)
    return what === 'release' ? delta : [delta, allocator.undo(delta)]
  })
}

const made = setup.map(({ spec, kind, before }) => {
  const allocator = new PrefixAllocator({ ...spec, strategy: { kind } })
  act(allocator, before)
  return allocator
})

describe('an allocator is read as it was written', () => {
  property([setup, fc.array(step, { maxLength: 25, size: 'max' })], 3)(
    'and continues as the other one does',
    ({ spec, kind, before }, after) => {
      const live = new PrefixAllocator({ ...spec, strategy: { kind } })
      act(live, before)
      const bytes = PrefixAllocator.encode(live)
      const read = PrefixAllocator.decode(bytes)
      expect(read.entries()).toEqual(live.entries())
      expect(read.counts()).toEqual(live.counts())
      expect([read.family, read.childLength]).toEqual([live.family, live.childLength])
      expect(PrefixAllocator.encode(read)).toEqual(bytes)
      expect(act(read, after)).toEqual(act(live, after))
      expect(PrefixAllocator.encode(read)).toEqual(PrefixAllocator.encode(live))
    },
  )

  test('and its bytes do not depend on how it was read back', () => {
    const [one, other] = [new PrefixAllocator(specs[0]!), new PrefixAllocator(specs[0]!)]
    const prefix = Prefix.parse('10.0.0.0/28')
    for (const uid of ['a', 'b']) one.occupy(prefix, { uid })
    for (const uid of ['a', 'b']) other.occupy(prefix, { uid })
    const released = other.release(prefix, { uid: 'a' })
    expect(released.kind === 'released' && other.undo(released.delta)).toBe(true)
    expect(PrefixAllocator.encode(other)).toEqual(PrefixAllocator.encode(one))
  })

  test('a hold takes few bytes', () => {
    const allocator = new PrefixAllocator({ ranges: ranges('fd00::/48'), childLength: 64 })
    for (let i = 0; i < 1000; i++)
      allocator.allocate({ owner: { uid: `0b6f0f3e-5a8f-4c1e-9d5c-${i.toString(16).padStart(12, '0')}` } })
    expect(PrefixAllocator.encode(allocator).length).toBeLessThan(1000 * 72)
  })
})

describe('bytes that no allocator is', () => {
  property([made, fc.nat(), fc.integer({ min: 0, max: 255 })], 3)(
    'are refused or are those of another',
    (allocator, at, byte) => {
      const body = bodyOf(PrefixAllocator.encode(allocator))
      body[at % body.length] = byte
      const result = PrefixAllocator.safeDecode(seal(body))
      if (!result.ok) expect(result.failure.code).toBe('MALFORMED_BYTES')
      else expect(PrefixAllocator.encode(result.value)).toEqual(seal(body))
    },
  )

  property([made])('cut short or continued', (allocator) => {
    const bytes = PrefixAllocator.encode(allocator)
    expect(PrefixAllocator.safeDecode(bytes.subarray(0, -1)).ok).toBe(false)
    expect(PrefixAllocator.safeDecode(Uint8Array.of(...bytes, 0)).ok).toBe(false)
  })

  property([fc.uint8Array({ maxLength: 60 })], 5)('whatever they are', (body) => {
    const bytes = seal([1, ...body])
    const result = PrefixAllocator.safeDecode(bytes)
    if (!result.ok) expect(result.failure.context.position).toBeLessThanOrEqual(bytes.length)
  })

  // version, set of 10.0.0.0/28, family, length, strategy, cursor, sequence, one hold: its family,
  // address, length, uid, three fields that are not there, sequence
  const encoded = () => {
    const allocator = new PrefixAllocator({ ranges: ranges('10.0.0.0/28'), childLength: 30 })
    allocator.occupy(Prefix.parse('0.0.0.4/30'), { uid: 'a' })
    return [...bodyOf(PrefixAllocator.encode(allocator))]
  }
  const TAIL = [4, 30, 0, 0, 1, 0, 1, 4, 4, 30, 0, 1, 97, 0, 0, 0, 1, 0]
  const put = (place: number, ...by: number[]) => {
    const bytes = encoded()
    bytes.splice(bytes.length - TAIL.length + place, by.length, ...by)
    return seal(bytes)
  }

  test('nothing is wrong with those that the others are made of', () => {
    expect(encoded().slice(-TAIL.length)).toEqual(TAIL)
    expect(PrefixAllocator.safeDecode(seal(encoded())).ok).toBe(true)
  })

  test.each<[problem: string, bytes: Uint8Array]>([
    ['version 9, expected 1', seal([9, ...encoded().slice(1)])],
    ['an unknown strategy', put(2, 2)],
    ['a prefix length of 33', put(9, 33)],
    ['a sequence above the last one of the allocator', put(16, 2)],
    ['neither 0 nor 1', put(14, 2)],
    ['more than an allocator', seal([...encoded(), 0])],
    ['not as an allocator is written', put(8, 5)],
    ['the family 5', put(0, 5)],
  ])('%s', (problem, bytes) => {
    expect(PrefixAllocator.safeDecode(bytes)).toMatchObject({
      ok: false,
      failure: { code: 'MALFORMED_BYTES', context: { what: 'an allocator of prefixes', problem } },
    })
  })

  test('a place of next-fit that is not of its family, or of another strategy', () => {
    const problem = 'an address that the strategy cannot continue from'
    const cursor = (strategy: number, ...address: number[]) => {
      const bytes = encoded()
      bytes.splice(bytes.length - TAIL.length + 2, 2, strategy, 1, ...address)
      return PrefixAllocator.safeDecode(seal(bytes))
    }
    expect(cursor(1, 4, 8).ok).toBe(true)
    expect(cursor(0, 4, 8)).toMatchObject({ failure: { context: { problem } } })
    expect(cursor(1, 6, 8)).toMatchObject({ failure: { context: { problem } } })
  })

  test('a hold that is there twice', () => {
    const allocator = new PrefixAllocator({ ranges: ranges('10.0.0.0/28'), childLength: 30 })
    for (const uid of ['a', 'b']) allocator.occupy(Prefix.parse('10.0.0.4/30'), { uid })
    const body = bodyOf(PrefixAllocator.encode(allocator))
    body[body.lastIndexOf(98)] = 97
    expect(PrefixAllocator.safeDecode(seal(body))).toMatchObject({
      failure: { context: { problem: 'an entry that must be unique is there twice' } },
    })
  })

  test('a length that no child has, or a space of another family', () => {
    for (const bytes of [put(1, 33), put(0, 6, 64)]) {
      expect(PrefixAllocator.safeDecode(bytes)).toMatchObject({ failure: { code: 'MALFORMED_BYTES' } })
    }
    expect(() => PrefixAllocator.decode(put(1, 33))).toThrow(expect.objectContaining({ code: 'MALFORMED_BYTES' }))
  })
})
