import { RangeSet } from 'ipam-kit/cidr'
import { asciiMap, table } from 'ipam-kit/render'
import { describe, expect, test } from 'vitest'

function map(addresses: string[], kept: string[], inUse: string[], options = {}): string[] {
  const all = RangeSet.parse(addresses)
  return asciiMap(
    { addresses: all, available: RangeSet.subtract(all, RangeSet.parse(kept)), inUse: RangeSet.parse(inUse) },
    options,
  )
}

describe('asciiMap', () => {
  test('shows each address: kept back, in use, free', () => {
    const lines = map(['10.0.0.0/28'], ['10.0.0.0/31', '10.0.0.15'], ['10.0.0.2-10.0.0.3'], { columns: 16 })
    expect(lines).toEqual(['          0   4   8   12', '10.0.0.0  --##...........-'])
  })

  test('leaves out rows that hold nothing, and aligns rows to their length', () => {
    expect(map(['10.0.0.4-10.0.0.9', '10.0.1.0'], [], [], { columns: 8 })).toEqual([
      '          0   4',
      '10.0.0.0      ....',
      '10.0.0.8  ..',
      '10.0.1.0  .',
    ])
  })

  test('shows what is in use out of range', () => {
    expect(map(['10.0.0.0/30'], ['10.0.0.1'], ['10.0.0.1', '10.0.0.6'], { columns: 8 })).toEqual([
      '          0   4',
      '10.0.0.0  .!..  !',
    ])
  })

  test('puts several addresses in a cell where there are too many rows, and says so', () => {
    expect(map(['10.0.0.0/24'], [], ['10.0.0.0-10.0.0.40'], { columns: 8, maxRows: 2 })).toEqual([
      'each character is 16 addresses',
      '            0   4',
      '10.0.0.0    ##*.....',
      '10.0.0.128  ........',
    ])
  })

  test('draws IPv4 and IPv6 apart, and IPv6 of any size', () => {
    expect(map(['10.0.0.0/30', 'fd00::/64'], [], ['fd00::'], { columns: 8, maxRows: 1 })).toEqual([
      '          0',
      '10.0.0.0  ....',
      'each character is 2^61 addresses',
      '        0   4',
      'fd00::  :.......',
    ])
  })

  test('reaches to both ends of the space', () => {
    expect(map(['::/0'], [], [], { columns: 8, maxRows: 1 })).toEqual([
      'each character is 2^125 addresses',
      '    0   4',
      '::  ........',
    ])
    expect(map(['255.255.255.254-255.255.255.255'], [], [], { columns: 8 })).toEqual([
      '                 0   4',
      '255.255.255.248        ..',
    ])
  })

  test('counts characters on a ruler, in hexadecimal for IPv6', () => {
    const [ruler4, ruler6] = map(['10.0.0.0/26', 'fd00::/122'], [], []).filter((line) => line.startsWith(' '))
    expect(ruler4!.split(/ +/)).toEqual(['', '0', '8', '16', '24', '32', '40', '48', '56'])
    expect(ruler6!.split(/ +/)).toEqual(['', '0', '8', '10', '18', '20', '28', '30', '38'])
    const [ruler, row] = map(['10.0.0.0/26'], [], ['10.0.0.32'])
    expect(row!.indexOf('#')).toBe(ruler!.indexOf('32'))
  })

  test('is empty for an empty pool', () => {
    expect(map([], [], [])).toEqual([])
  })

  test.each([{ columns: 7 }, { columns: 12 }, { columns: 512 }, { maxRows: 0 }, { maxRows: 1.5 }])(
    'refuses %j',
    (options) => {
      expect(() => map(['10.0.0.0/24'], [], [], options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    },
  )
})

describe('table', () => {
  test('aligns columns and ends no line in blanks', () => {
    expect(
      table(
        ['NAME', 'PHASE', 'WHY'],
        [
          ['web-0', 'Bound', ''],
          ['x', 'Error', 'full'],
        ],
      ),
    ).toBe(['NAME   PHASE  WHY', 'web-0  Bound', 'x      Error  full'].join('\n'))
  })

  test('keeps a cell on its line', () => {
    expect(table(['A'], [['one\ntwo']])).toBe('A\none two')
  })

  test('is its header alone without rows', () => {
    expect(table(['A', 'B'], [])).toBe('A  B')
  })
})
