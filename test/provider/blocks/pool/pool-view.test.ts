import { Prefix } from 'ipam-kit/cidr'
import { blockName, IPPool } from 'ipam-kit/crd/ipam-kit'
import { describe, expect, test } from 'vitest'
import type { IPBlockRow } from '../../../../src/crd/ipam-kit/ip-block.js'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import { API_VERSION } from '../../../../src/crd/ipam-kit/names.js'
import { ParsedBlock } from '../../../../src/provider/blocks/block/parsed-block.js'
import { ParsedPool } from '../../../../src/provider/blocks/pool/parsed-pool.js'
import { PoolView } from '../../../../src/provider/blocks/pool/pool-view.js'

const NOW = 1_000_000

function view(spec: Partial<IPPoolSpec> & Pick<IPPoolSpec, 'subnets'>): PoolView {
  const status = { domainUID: 'd', ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 } }
  const pool = IPPool.parse({ apiVersion: API_VERSION, kind: 'IPPool', metadata: { name: 'blue' }, spec, status })
  return new PoolView(new ParsedPool(pool))
}

function book(cidr: string, rows: { readonly [unit: string]: IPBlockRow }): ParsedBlock {
  const name = blockName('default', Prefix.parse(cidr))
  const spec = { cidr, domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 9, rows }
  const read = ParsedBlock.parse({ apiVersion: API_VERSION, kind: 'IPBlock', metadata: { name }, spec })
  if (!read.ok) throw new Error(read.problem)
  return read.value
}

const bound: IPBlockRow = { owner: 'ns/a', uid: 'a', sequence: 1 }
const inCooldown = (seconds: number): IPBlockRow => ({
  ...bound,
  state: 'cooldown',
  released: new Date(NOW).toISOString(),
  until: new Date(NOW + seconds * 1000).toISOString(),
})

describe('a block that is full', () => {
  const subnets = [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.0-10.0.0.7', '10.0.0.16-10.0.0.31'] }]

  test('stays so when what is free again is of another pool', () => {
    const pool = view({ subnets, skipEdges: 'never' })
    pool.note(book('10.0.0.0/28', { 0: { ...bound, count: 8 }, 8: inCooldown(10) }), NOW)
    expect(pool.hints(4).full).toEqual(['10.0.0.0/28'])
    expect(pool.dueMs(4)).toBeUndefined()
    pool.refresh(NOW + 20_000)
    expect(pool.hints(4).full).toEqual(['10.0.0.0/28'])
  })

  test('has room again when the first unit of the pool is free, also if the row begins before it', () => {
    const pool = view({ subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.4-10.0.0.7'] }], skipEdges: 'never' })
    const rows = { 0: inCooldown(5), 2: { ...inCooldown(30), count: 3 }, 5: { ...bound, count: 2 }, 7: inCooldown(40) }
    pool.note(book('10.0.0.0/28', rows), NOW)
    expect(pool.dueMs(4)).toBe(NOW + 30_000)
    pool.refresh(NOW + 29_999)
    expect(pool.hints(4).full).toEqual(['10.0.0.0/28'])
    pool.refresh(NOW + 30_000)
    expect(pool.hints(4).full).toEqual([])
    expect(pool.candidate(4, { nowMs: NOW + 30_000, withBound: false })).toEqual(Prefix.parse('10.0.0.0/28'))
  })
})

test('what a block has of a pool is kept while the block is there, and only if it has something', () => {
  const pool = view({ subnets: [{ cidr: '10.0.0.0/27' }] })
  const unitsOf = ({ prefix, name }: ParsedBlock) => pool.unitsOf(prefix, name)
  const [inside, outside] = [book('10.0.0.0/28', {}), book('10.0.1.0/28', {})]
  expect(unitsOf(inside)).not.toBe(unitsOf(inside))
  pool.note(inside, NOW)
  pool.note(outside, NOW)
  expect(unitsOf(inside)).toEqual([{ first: 1, last: 15 }])
  expect(unitsOf(inside)).toBe(unitsOf(inside))
  expect(unitsOf(outside)).toEqual([])
  expect(unitsOf(outside)).not.toBe(unitsOf(outside))
  pool.noteAbsent(inside.prefix, inside.name)
  expect(unitsOf(inside)).not.toBe(unitsOf(inside))
})
