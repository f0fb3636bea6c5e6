import fc from 'fast-check'
import { AddressPool, type AddressPoolSpec, type AllocationOutcome, type Strategy } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'
import { property } from '../../cidr/property.js'

const at = (text: string) => Address.parse(text)
const specs: AddressPoolSpec[] = [
  { ranges: RangeSet.parse(['10.0.0.0/28', 'fd00::ffff:fff8/125']) },
  {
    ranges: RangeSet.parse(['10.0.0.0/28', '255.255.255.248/29', 'ffff::/16']),
    exclude: RangeSet.parse(['10.0.0.4/31']),
    gateway: at('10.0.0.1'),
    staticBand: 3,
    cooldownSeconds: 0.5,
    holdSeconds: 3600,
    preallocated: [
      ['mac-1', at('10.0.0.2')],
      ['mac-1', at('ffff::1')],
      ['mac-2', at('192.0.2.1')],
    ],
  },
]
const strategies: Strategy[] = [
  { kind: 'lowest' },
  { kind: 'next-fit' },
  { kind: 'random', seed: -5 },
  { kind: 'least-recently-released' },
  { kind: 'hashed' },
]

type Step = readonly [what: 'allocate' | 'release' | 'occupy', uid: string, key: string | undefined, seconds: number]
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('allocate' as const, 'allocate' as const, 'release' as const, 'occupy' as const),
  fc.constantFrom('a', 'b', 'ü𝄞', 'd', 'e', 'f', 'g'),
  fc.constantFrom(undefined, undefined, 'mac-1', 'mac-3'),
  fc.nat(3),
)

/** An answer without the numbers of releases: what is stored is their order. */
function told(outcome: AllocationOutcome): unknown {
  if (outcome.kind !== 'allocated') return outcome
  const { undo, ...delta } = outcome.delta
  const releases = undo.releases.map(({ order: _, ...released }) => released)
  return { ...outcome, delta: { ...delta, undo: { ...undo, releases } } }
}

/** Does the same to a pool as to another one, and returns the answers. */
function act(pool: AddressPool, steps: readonly Step[], startMs: number): unknown[] {
  let nowMs = startMs
  return steps.map(([what, uid, stickyKey, seconds], i) => {
    nowMs += seconds * 1000
    const owner = {
      uid,
      key: `default/${uid}`,
      ...(i % 3 === 0 ? { interface: 'net1' } : {}),
      ...(i % 4 === 0 ? { kind: 'Pod' } : {}),
    }
    if (what === 'release') return pool.releaseOwner(uid, { nowMs })
    if (what === 'occupy') return pool.occupy(Address.add(at('10.0.0.10'), i % 9), owner, { stickyKey })
    return told(pool.allocate({ owner, stickyKey }, { nowMs }))
  })
}

const setup = fc.record({
  spec: fc.constantFrom(...specs),
  strategy: fc.constantFrom(...strategies),
  before: fc.array(step, { maxLength: 30, size: 'max' }),
})

/** 2100: more milliseconds than 32 bits hold. */
const START = 4_102_444_800_000

const made = setup.map(({ spec, strategy, before }) => {
  const pool = new AddressPool({ ...spec, strategy })
  act(pool, before, START)
  return pool
})

describe('a pool is read as it was written', () => {
  property([setup, fc.array(step, { maxLength: 25, size: 'max' })], 3)(
    'and continues as the other one does',
    ({ spec, strategy, before }, after) => {
      const live = new AddressPool({ ...spec, strategy })
      act(live, before, START)
      const bytes = AddressPool.encode(live)
      const read = AddressPool.decode(bytes)
      expect(read.entries()).toEqual(live.entries())
      expect(read.counts()).toEqual(live.counts())
      expect(read.available).toEqual(live.available)
      expect(AddressPool.encode(read)).toEqual(bytes)
      expect(act(read, after, START + 100_000)).toEqual(act(live, after, START + 100_000))
      expect(AddressPool.encode(read)).toEqual(AddressPool.encode(live))
    },
  )
})

describe('bytes that no pool is', () => {
  property([made, fc.nat(), fc.integer({ min: 0, max: 255 })], 3)(
    'are refused or are those of another',
    (pool, at, byte) => {
      const body = bodyOf(AddressPool.encode(pool))
      body[at % body.length] = byte
      const result = AddressPool.safeDecode(seal(body))
      if (!result.ok) expect(result.failure.code).toBe('MALFORMED_BYTES')
      else expect(AddressPool.safeDecode(AddressPool.encode(result.value)).ok).toBe(true)
    },
  )

  property([made])('cut short or continued', (pool) => {
    const bytes = AddressPool.encode(pool)
    expect(AddressPool.safeDecode(bytes.subarray(0, -1)).ok).toBe(false)
    expect(AddressPool.safeDecode(Uint8Array.of(...bytes, 0)).ok).toBe(false)
  })

  property([fc.uint8Array({ maxLength: 60 })], 5)('whatever they are', (body) => {
    const bytes = seal([2, ...body])
    const result = AddressPool.safeDecode(bytes)
    if (!result.ok) expect(result.failure.context.position).toBeLessThanOrEqual(bytes.length)
  })

  test('of another version', () => {
    expect(AddressPool.safeDecode(Uint8Array.of(9))).toMatchObject({
      ok: false,
      failure: { context: { what: 'a pool of addresses', position: 0, problem: 'version 9, expected 3' } },
    })
    expect(() => AddressPool.decode(Uint8Array.of(9))).toThrow(expect.objectContaining({ code: 'MALFORMED_BYTES' }))
  })
})

test('a hold takes few bytes', () => {
  const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/16']) })
  for (let i = 0; i < 1000; i++)
    pool.allocate({ owner: { uid: `0b6f0f3e-5a8f-4c1e-9d5c-${i.toString(16).padStart(12, '0')}` } })
  expect(AddressPool.encode(pool).length).toBeLessThan(1000 * 56)
  expect(RangeSet.decode(RangeSet.encode(pool.inUse()))).toEqual(RangeSet.parse(['10.0.0.0-10.0.3.231']))
})
