import fc from 'fast-check'
import { AddressPool, type AllocationDelta, PrefixAllocator, type Want } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import type { PrefixDelta } from '../../../src/allocator/prefixes/prefix-request.js'
import { property } from '../../cidr/property.js'

const uids = ['a', 'b', 'c', 'd']
const owner = fc
  .tuple(fc.constantFrom(...uids), fc.constantFrom(undefined, undefined, 'net1'))
  .map(([uid, name]) => (name === undefined ? { uid } : { uid, interface: name }))

type Command =
  | {
      readonly do: 'allocate' | 'release' | 'releaseOwner'
      readonly owner: { readonly uid: string }
      readonly which: number
    }
  /** A delta of any time before, also one that was undone. */
  | { readonly do: 'undo'; readonly which: number }
  | { readonly do: 'wait' }

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('allocate' as const, 'allocate' as const, 'release' as const, 'releaseOwner' as const),
      owner,
      which: fc.nat(20),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('undo' as const), which: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'wait' as const }) },
)

const wants: readonly Want[] = [
  { kind: 'any' },
  { kind: 'dualStack' },
  { kind: 'run', count: 2 },
  { kind: 'address', address: Address.parse('10.0.0.1') },
]

describe('whatever is undone, and however late', () => {
  property(
    [
      fc.constantFrom('lowest' as const, 'next-fit' as const, 'least-recently-released' as const),
      fc.constantFrom(0, 5),
      fc.boolean(),
      fc.array(command, { maxLength: 40, size: 'max' }),
    ],
    4,
  )('an address has one owner, and is free when that is gone', (kind, cooldownSeconds, isCopied, commands) => {
    const ranges = RangeSet.parse(['10.0.0.0/30', 'fd00::/127'])
    const pool = new AddressPool({ ranges, cooldownSeconds, strategy: { kind } })
    const deltas: AllocationDelta[] = []
    let nowMs = 0
    for (const step of commands) {
      if (step.do === 'wait') nowMs += 3000
      else if (step.do === 'undo') {
        const delta = deltas[step.which % Math.max(1, deltas.length)]
        // a delta may have been stored
        if (delta !== undefined) pool.undo(isCopied ? structuredClone(delta) : delta)
      } else if (step.do === 'allocate') {
        const outcome = pool.allocate({ owner: step.owner, want: wants[step.which % wants.length] }, { nowMs })
        if (outcome.kind === 'allocated') deltas.push(outcome.delta)
      } else if (step.do === 'releaseOwner') deltas.push(pool.releaseOwner(step.owner.uid, { nowMs }))
      else {
        const address = pool.addressesOf(step.owner.uid)[0] ?? Address.parse('10.0.0.0')
        const outcome = pool.release(address, step.owner, { nowMs })
        if (outcome.kind === 'released') deltas.push(outcome.delta)
      }
      const entries = pool.entries()
      for (const { address, owners } of entries) {
        expect([Address.format(address), owners.length]).toEqual([Address.format(address), 1])
      }
      const listed = uids.flatMap((uid) => pool.addressesOf(uid).map(Address.format))
      expect(listed.sort()).toEqual(entries.map(({ address }) => Address.format(address)).sort())
      const { total, used, cooldown, free } = pool.counts()
      expect([used, total]).toEqual([BigInt(entries.length), used + cooldown + free])
    }
    for (const uid of uids) pool.releaseOwner(uid, { nowMs })
    expect(pool.counts({ nowMs: nowMs + 60_000 }).free).toBe(6n)
  })

  property([fc.boolean(), fc.array(command, { maxLength: 40, size: 'max' })], 4)(
    'prefixes of different owners do not overlap',
    (isNextFit, commands) => {
      const strategy = { kind: isNextFit ? 'next-fit' : 'lowest' } as const
      const parents = RangeSet.parse(['10.0.0.0/28'])
      const allocator = new PrefixAllocator({ ranges: parents, childLength: 30, strategy })
      const deltas: PrefixDelta[] = []
      for (const step of commands) {
        if (step.do === 'undo') {
          const delta = deltas[step.which % Math.max(1, deltas.length)]
          if (delta !== undefined) allocator.undo(delta)
        } else if (step.do === 'allocate') {
          const outcome = allocator.allocate({ owner: step.owner, length: 28 + (step.which % 4) })
          if (outcome.kind === 'allocated') deltas.push(outcome.delta)
        } else if (step.do === 'release' || step.do === 'releaseOwner')
          deltas.push(allocator.releaseOwner(step.owner.uid))
        const held = allocator.entries()
        for (const [i, { prefix, owners }] of held.entries()) {
          expect(owners).toHaveLength(1)
          for (const other of held.slice(i + 1)) expect(Prefix.overlaps(prefix, other.prefix)).toBe(false)
        }
      }
      for (const uid of uids) allocator.releaseOwner(uid)
      expect([allocator.entries(), allocator.free()]).toEqual([[], 4n])
    },
  )
})
