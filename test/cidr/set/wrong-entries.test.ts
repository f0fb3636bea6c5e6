import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const failureOf = (entries: readonly string[]) => {
  const result = RangeSet.safeParse(entries)
  return result.ok ? undefined : result.failure
}

describe('every wrong entry of a list is named', () => {
  test('with its index, and what to write', () => {
    const failure = failureOf(['10.0.0.1', 'banana', '10.0.0.0/24', '10.0.0.0/33', '10.1.0.0/255.255.0.0'])
    expect(failure?.context).toMatchObject({ text: 'banana', index: 1, others: [{ index: 3 }, { index: 4 }] })
    expect(failure?.message).toBe(
      'entry 1 is not an address, range or CIDR: "banana": unable to parse IP (at position 0); ' +
        'entry 3: "10.0.0.0/33": prefix length out of range (at position 9); ' +
        'entry 4: "10.1.0.0/255.255.0.0": bad bits after slash (at position 9): write "10.1.0.0/16"',
    )
  })

  test('up to 10, and the number of the rest', () => {
    const failure = failureOf(Array.from({ length: 25 }, (_, index) => `x${index}`))
    expect(failure?.context.others).toHaveLength(9)
    expect(failure?.context.more).toBe(15)
    expect(failure?.message).toMatch(/; and 15 more$/)
  })

  test('also one that is not a text', () => {
    const failure = failureOf(['banana', 5 as unknown as string])
    expect(failure?.message).toContain('entry 1: "5": not a text, but number')
  })

  test('a list of one entry has no index', () => {
    const failure = failureOf(['banana'])
    expect(failure?.context).not.toHaveProperty('index')
    expect(failure?.message).toBe('not an address, range or CIDR: "banana": unable to parse IP (at position 0)')
  })

  const entry = fc.constantFrom('10.0.0.1', 'fd00::/64', '10.0.0.1-10.0.0.9', 'banana', '10.0.0.0/33', '::1-', '')
  property.prop([fc.array(entry, { maxLength: 30 })])('exactly those that do not parse by themselves', (entries) => {
    const wrong = entries.flatMap((text, index) => (RangeSet.safeParseEntry(text).ok ? [] : [index]))
    const failure = failureOf(entries)
    expect(failure === undefined).toBe(wrong.length === 0)
    if (failure === undefined) return
    const { index, others = [], more = 0 } = failure.context
    expect([index ?? 0, ...others.map((other) => other.index)]).toEqual(wrong.slice(0, 10))
    expect(more).toBe(Math.max(0, wrong.length - 10))
  })
})
