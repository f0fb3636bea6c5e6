import { Address, Prefix } from 'ipam-kit/cidr'
import { IPPool, isKeyOf, readPodref, readRows, rowKey, rowPatch } from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'
import { mergePatch } from '../../../src/crd/meta/patch.js'

const row = (podref = 'default/web-0', more: object = {}) => ({ id: 'c1', podref, ifname: 'net1', ...more })
const pool = (range: string, allocations: object) =>
  IPPool.parse({
    apiVersion: 'whereabouts.cni.cncf.io/v1alpha1',
    kind: 'IPPool',
    metadata: { name: 'p', namespace: 'kube-system' },
    spec: { range, allocations },
  })
const read = (range: string, allocations: object) => {
  const { rows, oddities } = readRows(pool(range, allocations))
  return {
    rows: rows.map(({ key, address }) => [key, Address.format(address)]),
    oddities: oddities.map(({ kind, key, address }) => [kind, key, address && Address.format(address)]),
  }
}

describe('rows of a pool', () => {
  test('count from the literal address of the range', () => {
    expect(read('10.9.0.0/24', { '0': row(), '7': row(), '255': row() })).toEqual({
      rows: [
        ['0', '10.9.0.0'],
        ['7', '10.9.0.7'],
        ['255', '10.9.0.255'],
      ],
      oddities: [],
    })
    // host bits are kept
    expect(read('10.9.0.8/24', { '7': row() }).rows).toEqual([['7', '10.9.0.15']])
    expect(read('10.10.10.0/16', { '1': row() }).rows).toEqual([['1', '10.10.10.1']])
    expect(read('fd00::/64', { '18446744073709551615': row() }).rows).toEqual([
      ['18446744073709551615', 'fd00::ffff:ffff:ffff:ffff'],
    ])
  })

  test('a key that is negative is a signed number of 64 bits', () => {
    // the key of whereabouts issue 83
    expect(read('fd00::/64', { '-3844666706890850303': row() })).toEqual({
      rows: [['-3844666706890850303', 'fd00::caa5:0:0:1']],
      oddities: [['key-spelling', '-3844666706890850303', 'fd00::caa5:0:0:1']],
    })
    expect(read('fd00::/64', { '-9223372036854775808': row() }).rows).toEqual([
      ['-9223372036854775808', 'fd00::8000:0:0:0'],
    ])
    expect(read('fd00::/64', { '-9223372036854775809': row() })).toEqual({
      rows: [],
      oddities: [['key-unreadable', '-9223372036854775809', undefined]],
    })
  })

  test('an offset of 2^63 and more is a row, and odd', () => {
    expect(read('fd00::/64', { '9223372036854775807': row() }).oddities).toEqual([])
    expect(read('fd00::/64', { '9223372036854775808': row() })).toEqual({
      rows: [['9223372036854775808', 'fd00::8000:0:0:0']],
      oddities: [['key-large', '9223372036854775808', 'fd00::8000:0:0:0']],
    })
  })

  test('both 1 and 01 are there', () => {
    expect(read('10.9.0.0/24', { '1': row('a/b'), '01': row('c/d') })).toEqual({
      rows: [
        ['1', '10.9.0.1'],
        ['01', '10.9.0.1'],
      ],
      oddities: [
        ['key-spelling', '01', '10.9.0.1'],
        ['duplicate', '1', '10.9.0.1'],
        ['duplicate', '01', '10.9.0.1'],
      ],
    })
    expect(read('10.9.0.0/24', { '+1': row(), '-0': row() }).rows).toEqual([
      ['+1', '10.9.0.1'],
      ['-0', '10.9.0.0'],
    ])
  })

  test.each(['x', '', ' 1', '1.0', '1e3', '0x1', '1_0', '١', '18446744073709551616', '0'.repeat(65)])(
    'the key %j is no number of 64 bits',
    (key) => {
      expect(read('fd00::/48', { [key]: row() })).toEqual({ rows: [], oddities: [['key-unreadable', key, undefined]] })
    },
  )

  test('a key outside of the range is odd, and its row has no place', () => {
    expect(read('10.9.0.0/24', { '-1': row(), '256': row(), '4294967296': row() })).toEqual({
      rows: [],
      oddities: [
        ['key-outside', '256', '10.9.1.0'],
        ['key-outside', '-1', undefined],
        ['key-outside', '4294967296', undefined],
      ],
    })
    expect(read('10.9.0.8/24', { '247': row(), '248': row() })).toEqual({
      rows: [['247', '10.9.0.255']],
      oddities: [['key-outside', '248', '10.9.1.0']],
    })
  })

  test.each([[{}], [{ id: 'c' }], [{ podref: 'a/b' }], [{ id: 1, podref: 'a/b' }], ['text'], [7], [[]]])(
    '%j is no row',
    (stored) => {
      const { rows, oddities } = readRows(pool('10.9.0.0/24', { '1': stored }))
      expect([rows, oddities]).toMatchObject([[], [{ kind: 'row-unreadable', key: '1', stored }]])
    },
  )

  test('an empty podref is a row, and members that are not known are kept', () => {
    const stored = row('', { claim: 'ns/vm-0', ifname: undefined })
    expect(readRows(pool('10.9.0.0/24', { '1': stored })).rows).toEqual([
      { key: '1', address: Address.parse('10.9.0.1'), id: 'c1', podref: '', stored },
    ])
  })

  test('a range that is not a CIDR has one oddity and no rows', () => {
    const { range, rows, oddities } = readRows(pool('10.9.0.0', { '1': row() }))
    expect([range, rows, oddities]).toMatchObject([undefined, [], [{ kind: 'range', stored: '10.9.0.0' }]])
  })

  test('a pool without rows, and one without allocations', () => {
    expect(read('10.9.0.0/24', {})).toEqual({ rows: [], oddities: [] })
    const { spec } = pool('10.9.0.0/24', {})
    const { allocations: _, ...rest } = spec
    const bare = { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind: 'IPPool', metadata: { name: 'p' }, spec: rest }
    expect(IPPool.parse(bare).spec.allocations).toEqual({})
  })
})

describe('the key of an address', () => {
  const key = (range: string, address: string) => rowKey(Prefix.parse(range), Address.parse(address))

  test.each([
    ['10.9.0.0/24', '10.9.0.7', '7'],
    ['10.9.0.8/24', '10.9.0.15', '7'],
    ['fd00::/64', 'fd00::8000:0:0:0', '9223372036854775808'],
    ['fd00::/48', 'fd00::ffff:ffff:ffff:ffff', '18446744073709551615'],
  ])('in %s: %s', (range, address, value) => {
    expect(key(range, address)).toEqual({ ok: true, value })
  })

  test.each([
    ['10.9.0.0/24', '10.9.1.0'],
    ['10.9.0.0/24', 'fd00::1'],
    ['10.9.0.8/24', '10.9.0.1'],
    ['fd00::/48', 'fd00:0:0:1::'],
  ])('in %s: none for %s', (range, address) => {
    expect(key(range, address)).toMatchObject({
      ok: false,
      failure: { code: 'INVALID_ROW_ADDRESS', context: { range, address } },
    })
  })

  test('is told from other texts', () => {
    const range = Prefix.parse('10.9.0.8/24')
    const keys = ['0', '247', '01', '248', '-1', 'x', '4294967296']
    expect(keys.filter((text) => isKeyOf(range, text))).toEqual(['0', '247', '01'])
    expect(isKeyOf(Prefix.parse('fd00::/64'), '-1')).toBe(true)
  })
})

describe('a patch of one row', () => {
  const before = pool('10.9.0.0/24', { '1': row('a/b', { claim: 'c' }), x: { odd: true } })

  test('writes it, and keeps other rows and members', () => {
    expect(mergePatch(before as never, rowPatch('2', { id: 'i', podref: 'c/d' }) as never)).toMatchObject({
      spec: { range: '10.9.0.0/24', allocations: { ...before.spec.allocations, '2': { id: 'i', podref: 'c/d' } } },
    })
    const again = mergePatch(before as never, rowPatch('1', { id: 'i', podref: 'a/b', ifname: 'net1' }) as never)
    expect(again).toMatchObject({ spec: { allocations: { '1': { id: 'i', podref: 'a/b', claim: 'c' } } } })
  })

  test('deletes it by its literal key', () => {
    expect(rowPatch('01', null)).toEqual({ spec: { allocations: { '01': null } } })
    const after = mergePatch(before as never, rowPatch('1', null) as never) as unknown as IPPool
    expect(after.spec.allocations).toEqual({ x: { odd: true } })
  })
})

test('the Pod of a row', () => {
  expect(readPodref('default/web-0')).toEqual({ namespace: 'default', name: 'web-0' })
  expect(['', '/', 'a/', '/a', 'a', 'a/b/c'].map(readPodref)).toEqual(Array.from({ length: 6 }, () => undefined))
})
