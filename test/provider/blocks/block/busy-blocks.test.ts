import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { KnownBlocks } from 'ipam-kit/provider/blocks'
import { describe, expect, test } from 'vitest'
import { busyOf } from '../../../../src/provider/blocks/block/busy-blocks.js'

const others = ['10.0.0.16/28', '10.0.0.32/28', '10.0.0.48/28', '10.0.0.64/28'].map((text) => Prefix.parse(text))

/**
 * What is left out, one after the other, where this process writes 10.0.0.0/28 and the task has met
 * somebody in 10.0.0.16/28.
 */
function tries(usesLocks: boolean): readonly string[] {
  const known = new KnownBlocks()
  known.inFlightAt = () => RangeSet.parse(['10.0.0.0/28'])
  known.othersAt = () => [
    { prefix: Prefix.parse('10.0.0.80/28'), isLast: false },
    ...others.map((prefix) => ({ prefix, isLast: true })),
  ]
  const busy = busyOf({ known, contended: RangeSet.parse(['10.0.0.16/28']), nowMs: 0, usesLocks })
  return [...busy.tries()].map((set) =>
    RangeSet.format(RangeSet.intersect(set, RangeSet.parse(['10.0.0.0/24']))).join(' '),
  )
}

describe('blocks that another task writes are left out', () => {
  test('all of them, and then those in which a task would meet another of its process, or has met a writer', () => {
    expect(tries(false)).toEqual(['10.0.0.0-10.0.0.95', '10.0.0.0-10.0.0.31'])
  })

  test('where tasks share locks first those of others, then all but those of the process, then those that others wrote last', () => {
    expect(tries(true)).toEqual([
      '10.0.0.0-10.0.0.95',
      '10.0.0.16-10.0.0.79',
      '10.0.0.16-10.0.0.255',
      '10.0.0.0-10.0.0.15 10.0.0.32-10.0.0.79',
      '10.0.0.0-10.0.0.15 10.0.0.48-10.0.0.79',
      '10.0.0.0-10.0.0.15 10.0.0.64-10.0.0.79',
      '10.0.0.0-10.0.0.31',
    ])
  })
})
