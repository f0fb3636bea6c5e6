import { fc, test } from '@fast-check/vitest'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, test as example, expect } from 'vitest'
import { firstTexts, MarkedBlocks } from '../../../../src/provider/blocks/block/marked-blocks.js'

type Family = 4 | 6

const START = { 4: 0x0a000000n, 6: 0xfd00n << 112n } as const
const blockAt = (family: Family, index: number) =>
  Prefix.of(Address.fromBigInt(family, START[family] + BigInt(index) * 16n), Address.bitsOf(family) - 4)

const step = fc.oneof(
  fc.record({ kind: fc.constant('mark' as const), index: fc.nat(12), isIn: fc.boolean() }),
  fc.record({ kind: fc.constant('add' as const), index: fc.nat(12) }),
  fc.record({ kind: fc.constant('look' as const) }),
)

describe('marked blocks', () => {
  test.prop([fc.constantFrom<Family>(4, 6), fc.array(step)])('are what was said last of each', (family, steps) => {
    const marked = new MarkedBlocks()
    const model = new Set<number>()
    const expected = () => RangeSet.format(RangeSet.fromPrefixes([...model].map((index) => blockAt(family, index))))
    for (const each of steps) {
      if (each.kind === 'mark') {
        marked.mark(blockAt(family, each.index), each.isIn)
        if (each.isIn) model.add(each.index)
        else model.delete(each.index)
      } else if (each.kind === 'add') {
        marked.add(RangeSet.fromPrefixes([blockAt(family, each.index)]))
        model.add(each.index)
      } else expect(RangeSet.format(marked.set)).toEqual(expected())
    }
    expect(RangeSet.format(marked.set)).toEqual(expected())
    expect(marked.set).toBe(marked.set)
  })

  example('are the same however many there are between two looks', () => {
    const marked = new MarkedBlocks()
    for (let index = 0; index < 20_000; index++) marked.mark(blockAt(4, index), index % 2 === 0)
    expect(RangeSet.size(marked.set)).toBe(160_000n)
    for (let index = 0; index < 20_000; index++) marked.mark(blockAt(4, index), index % 2 === 1 && index > 10_000)
    expect(RangeSet.size(marked.set)).toBe(80_000n)
  })

  example('say the first of them', () => {
    const set = RangeSet.fromPrefixes([0, 1, 3, 5, 7].map((index) => blockAt(4, index)))
    expect(firstTexts(set, 9)).toEqual(['10.0.0.0/27', '10.0.0.48/28', '10.0.0.80/28', '10.0.0.112/28'])
    expect(firstTexts(set, 2)).toEqual(['10.0.0.0/27', '10.0.0.48/28'])
    expect(firstTexts(RangeSet.parse(['10.0.0.1-10.0.0.6', '10.0.1.0/24']), 3)).toHaveLength(3)
  })
})
