import fc from 'fast-check'
import { AddressPool, rebuildPool } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import type { ObservedHold } from '../../../src/allocator/pool/rebuild.js'
import { property } from '../../cidr/property.js'

const at = (text: string) => Address.parse(text)
const spec = { ranges: RangeSet.parse(['10.0.0.0/28', 'fd00::/124']), exclude: RangeSet.parse(['10.0.0.3']) }

const address = fc.constantFrom(
  ...Array.from({ length: 20 }, (_, i) => Address.add(at('10.0.0.0'), i)),
  ...Array.from({ length: 4 }, (_, i) => Address.add(at('fd00::e'), i)),
)
const observed: fc.Arbitrary<ObservedHold> = fc
  .tuple(
    address,
    fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    fc.constantFrom(undefined, undefined, 'net1'),
    fc.constantFrom(undefined, undefined, 1, 2, 7),
  )
  .map(([where, uid, nic, sequence]) => ({
    address: where,
    owner: nic === undefined ? { uid } : { uid, interface: nic },
    ...(sequence === undefined ? {} : { sequence }),
  }))

/** All that a pool can tell. */
function contentOf(pool: AddressPool) {
  return { entries: pool.entries(), counts: pool.counts(), next: pool.lowestFree() }
}

describe('a pool made of live objects', () => {
  property([fc.array(observed, { maxLength: 30, size: 'max' }), fc.infiniteStream(fc.nat())], 2)(
    'is the same in whichever order they come, and says what is odd about them',
    (holds, random) => {
      const ranked = holds.map((hold) => ({ hold, rank: random.next().value as number }))
      const shuffled = ranked.sort((a, b) => a.rank - b.rank).map(({ hold }) => hold)
      const one = rebuildPool(spec, holds)
      const other = rebuildPool(spec, shuffled)
      expect(contentOf(other.pool)).toEqual(contentOf(one.pool))
      expect(other.findings).toEqual(one.findings)

      // counted without a pool
      const texts = new Map<string, string[]>()
      let repeated = 0
      for (const { address, owner } of holds) {
        const text = Address.format(address)
        const owners = texts.get(text) ?? []
        const id = `${owner.uid} ${owner.interface}`
        if (owners.includes(id)) repeated++
        else texts.set(text, [...owners, id])
      }
      const odd = (kind: string) =>
        one.findings.filter((finding) => finding.kind === kind).map((finding) => Address.format(finding.address))
      const isOutOfPool = (text: string) =>
        !RangeSet.contains(RangeSet.subtract(spec.ranges, spec.exclude), Address.parse(text))
      expect(odd('duplicate').sort()).toEqual(
        [...texts]
          .filter(([, owners]) => owners.length > 1)
          .map(([text]) => text)
          .sort(),
      )
      expect(odd('outOfPool').sort()).toEqual([...texts.keys()].filter(isOutOfPool).sort())
      expect(odd('repeated')).toHaveLength(repeated)
      expect(
        one.pool
          .entries()
          .map((entry) => Address.format(entry.address))
          .sort(),
      ).toEqual([...texts.keys()].sort())
      expect(one.findings.map((finding) => Address.toBigInt(finding.address))).toEqual(
        one.findings.map((finding) => Address.toBigInt(finding.address)).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
      )
    },
  )

  property([fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.boolean()), { maxLength: 30 })])(
    'is the one that they were written from',
    (commands) => {
      const live = new AddressPool(spec)
      for (const [uid, isRelease] of commands) {
        if (isRelease) live.releaseOwner(uid)
        else live.allocate({ owner: { uid }, stickyKey: `mac of ${uid}` })
      }
      const { pool, findings } = rebuildPool(
        spec,
        live.entries().flatMap((entry) => entry.holds),
      )
      expect(findings).toEqual([])
      expect(contentOf(pool)).toEqual(contentOf(live))
    },
  )
})

test.each<[argument: string, make: () => unknown]>([
  ['owner.uid', () => rebuildPool(spec, [{ address: at('10.0.0.1'), owner: { uid: '' } }])],
  ['sequence', () => rebuildPool(spec, [{ address: at('10.0.0.1'), owner: { uid: 'a' }, sequence: -1 }])],
])('%s of a mistake of the caller', (argument, make) => {
  expect(make).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
  )
})
