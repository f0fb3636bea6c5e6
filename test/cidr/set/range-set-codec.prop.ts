import fc from 'fast-check'
import { RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'
import { property } from '../property.js'
import { expectWellFormed, large, windows } from '../windows.js'

describe.each(windows)('at $base', ({ base, size }) => {
  property([rangeSetIn(base, size)])('decode reads what encode writes', (set) => {
    expect(RangeSet.decode(RangeSet.encode(set))).toEqual(set)
  })
})

property([large], 2)('decode reads what encode writes, of large sets', (set) => {
  expect(RangeSet.decode(RangeSet.encode(set))).toEqual(set)
})

property([fc.uint8Array({ minLength: 1, maxLength: 40 })], 30)(
  'bytes are refused, or are what encode writes',
  (bytes) => {
    bytes[0] = 2
    const sealed = seal(bytes)
    const decoded = RangeSet.safeDecode(sealed)
    if (!decoded.ok) return
    expectWellFormed(decoded.value)
    expect(RangeSet.encode(decoded.value)).toEqual(sealed)
  },
)

property([large, fc.nat(), fc.nat(255)], 3)('one changed byte gives another set, or none', (set, where, value) => {
  const body = bodyOf(RangeSet.encode(set))
  const at = where % body.length
  fc.pre(body[at] !== value)
  body[at] = value
  const decoded = RangeSet.safeDecode(seal(body))
  if (!decoded.ok) return
  expectWellFormed(decoded.value)
  expect(RangeSet.equals(decoded.value, set)).toBe(false)
})

property([large, fc.nat()], 2)('no part of the bytes is a set', (set, cut) => {
  const bytes = RangeSet.encode(set)
  expect(RangeSet.safeDecode(bytes.slice(0, cut % bytes.length)).ok).toBe(false)
})

test.each([
  [[2], 1, 'the bytes end too early'],
  [[1, 0, 0], 0, 'version 1, expected 2'],
  [[2, 0], 2, 'the bytes end too early'],
  [[2, 0, 0, 0], 3, 'more than a set'],
  [[2, 128, 0, 0], 1, 'a number in more bytes than it needs'],
  [[2, 1, 128, 0, 0, 0], 2, 'a number in more bytes than it needs'],
  [[2, 255, 255, 255, 255, 15, 0, 0], 1, 'more things than there are bytes for'],
  [[2, 3, 0, 0, 0, 0, 0], 1, 'more things than there are bytes for'],
  [[2, 0, 3, 0, 0, 0, 0, 0], 2, 'more things than there are bytes for'],
  [[2, 1, 255, 255, 255, 255, 31, 0, 0], 2, 'a number of more than 32 bits'],
  [[2, 1, 255, 255, 255, 255, 15, 1, 0], 2, 'a range that goes beyond the last address'],
  [[2, 2, 254, 255, 255, 255, 15, 0, 0, 0, 0], 8, 'a range that goes beyond the last address'],
  [[2, 0, 1, ...Array(18).fill(255), 4, 0], 3, 'a number of more than 128 bits'],
  [[2, 0, 1, ...Array(18).fill(255), 3, 1], 3, 'a range that goes beyond the last address'],
  // the last address but nine, and a gap from there that would lead to the beginning again
  [[2, 0, 2, 0xf6, ...Array(17).fill(255), 3, 0, 100, 0], 23, 'a range that goes beyond the last address'],
])('%j is refused at %i: %s', (body, position, problem) => {
  const bytes = seal(body)
  const decoded = RangeSet.safeDecode(bytes)
  expect(decoded).toEqual({
    ok: false,
    failure: { code: 'MALFORMED_BYTES', context: { what: 'a set of addresses', position, problem } },
  })
  expect(() => RangeSet.decode(bytes)).toThrow(expect.objectContaining({ code: 'MALFORMED_BYTES' }))
})

test.each<[about: string, entries: string[]]>([
  // found by a property
  ['a gap that carries two', ['::ab:e000:0-::ab:ffff:ffff', '::ad:0:0']],
  ['in the next word', ['0:0:0:ab::-::ab:ffff:ffff:ffff:ffff', '0:0:0:ad::']],
  ['in the first word', ['0:ab::-0:ab:ffff:ffff:ffff:ffff:ffff:ffff', '0:ad::']],
])('decode reads what encode writes: %s', (_, entries) => {
  const set = RangeSet.parse(entries)
  expect(RangeSet.format(RangeSet.decode(RangeSet.encode(set)))).toEqual(RangeSet.format(set))
})

test('both whole spaces take few bytes', () => {
  const everything = RangeSet.parse(['0.0.0.0/0', '::/0'])
  expect(RangeSet.encode(everything).length).toBe(1 + 1 + 1 + 5 + 1 + 1 + 19 + 4)
  expect(RangeSet.decode(RangeSet.encode(everything))).toEqual(everything)
})
