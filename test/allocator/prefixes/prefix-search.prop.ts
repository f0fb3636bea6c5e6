import fc from 'fast-check'
import { PrefixTree } from 'ipam-kit/allocator'
import { Address, type Address4, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import { property } from '../../cidr/property.js'

describe('a search continues where the last one ended', () => {
  const from = 0x0a400000
  /** Of /22 to /30, in a /20. */
  const unit = (prefix: Prefix): [first: number, behind: number] => {
    const first = ((prefix.address as Address4).value - from) / 4
    return [first, first + 2 ** (30 - prefix.length)]
  }
  const lowest = (taken: Uint8Array, length: number): number => {
    const size = 2 ** (30 - length)
    for (let first = 0; first < taken.length; first += size) {
      if (!taken.subarray(first, first + size).includes(1)) return first
    }
    return -1
  }
  const step = fc.tuple(
    fc.constantFrom('take', 'take', 'take', 'take', 'occupy', 'look', 'release', 'other'),
    fc.integer({ min: 22, max: 30 }),
    fc.nat({ max: 1023 }),
  )

  property([fc.integer({ min: 20, max: 32 }), fc.array(step, { maxLength: 120, size: 'max' })], 3)(
    'as if it had begun anew',
    (childLength, steps) => {
      const tree = new PrefixTree(RangeSet.parse(['10.64.0.0/20']), { childLength })
      const taken = new Uint8Array(1024)
      const held: Prefix[] = []
      let length = 24
      for (const [what, other, place] of steps) {
        // mostly of one length, one behind the other
        if (what === 'other' || what === 'release') length = other
        const first = lowest(taken, length)
        const found = tree.nextFree(length)
        expect(found).toEqual(first < 0 ? undefined : Prefix.of(Address.from4(from + first * 4), length))
        if (what === 'release' && held.length > 0) {
          const [gone] = held.splice(place % held.length, 1) as [Prefix]
          expect(tree.release(gone)).toBe(true)
          taken.fill(0, ...unit(gone))
        }
        if (found === undefined || what === 'look' || what === 'release') continue
        if (what === 'occupy') tree.occupy(found)
        else expect(tree.take({ ...found })).toBe(true)
        expect(taken.subarray(...unit(found)).includes(1)).toBe(false)
        taken.fill(1, ...unit(found))
        held.push(found)
      }
      expect(tree.countFree(30)).toBe(BigInt(taken.filter((used) => used === 0).length))
    },
  )

  property([fc.integer({ min: 18, max: 32 }), fc.integer()], 0.2)(
    'in a full space of mixed lengths where anything is released',
    (childLength, seed) => {
      const tree = new PrefixTree(RangeSet.parse(['10.64.0.0/18']), { childLength })
      const taken = new Uint8Array(4096)
      const held: (Prefix | undefined)[] = Array.from({ length: 120 }, () => undefined)
      let state = seed
      const below = (limit: number) => {
        state = (Math.imul(state, 1664525) + 1013904223) | 0
        return Math.floor(((state >>> 0) / 2 ** 32) * limit)
      }
      for (let operation = 0; operation < 1500; operation++) {
        const at = below(held.length)
        const gone = held[at]
        held[at] = undefined
        if (gone !== undefined) {
          expect(tree.release(gone)).toBe(true)
          taken.fill(0, ...unit(gone))
          continue
        }
        const length = 21 + below(10)
        const first = lowest(taken, length)
        const found = tree.nextFree(length)
        expect(found && unit(found)[0]).toBe(first < 0 ? undefined : first)
        if (found === undefined) continue
        expect(tree.take(found)).toBe(true)
        taken.fill(1, ...unit(found))
        held[at] = found
      }
      expect(tree.countFree(30)).toBe(BigInt(taken.filter((used) => used === 0).length))
      for (const prefix of held) if (prefix !== undefined) tree.release(prefix)
      expect(tree.freePrefixes().map(Prefix.format)).toEqual(['10.64.0.0/18'])
    },
  )
})
