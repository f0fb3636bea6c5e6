import { API_VERSION, IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import {
  BlockReadings,
  type BlockReadingsOptions,
  blockClaims,
  blocksOperator,
  blocksSweep,
  KnownBlocks,
} from 'ipam-kit/provider/blocks'
import { describe, expect, test } from 'vitest'
import { BlockBook } from '../../../src/provider/blocks/book.js'
import { PoolView } from '../../../src/provider/blocks/pool-view.js'
import { PoolReading } from '../../../src/provider/blocks/readings.js'

const name = 'default-4-0a000000-28'
const spec = { cidr: '10.0.0.0/28', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1, rows: {} }
const status = { domainUID: 'd', ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 } }

function block(resourceVersion: string | undefined = '5', uid: string | undefined = 'u') {
  return { apiVersion: API_VERSION, kind: 'IPBlock', metadata: { name, uid, resourceVersion }, spec }
}

function pool(resourceVersion: string, more: { readonly cidr?: string; readonly free?: string } = {}) {
  const { cidr = '10.0.0.0/24', free = '1' } = more
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'blue', uid: 'p', resourceVersion },
    spec: { subnets: [{ cidr }] },
    status: { ...status, ipv4: { ...status.ipv4, free } },
  }
}

describe('a block', () => {
  test('is read once in each version', () => {
    const readings = new BlockReadings()
    const first = readings.block(block())
    expect(first).toBeInstanceOf(BlockBook)
    expect(readings.block(block())).toBe(first)
    expect(readings.block(block('6'))).not.toBe(first)
    expect(readings.block(block())).toBe(first)
  })

  test('is another one under another uid', () => {
    const readings = new BlockReadings()
    expect(readings.block(block('5', 'u'))).not.toBe(readings.block(block('5', 'v')))
  })

  test('is read as the API version says', () => {
    const readings = new BlockReadings()
    expect(readings.block(block())).toBeInstanceOf(BlockBook)
    expect(readings.block({ ...block(), apiVersion: 'ipam-kit.dev/v9' })).toContain('ipam-kit.dev/v9')
    expect(readings.block(block())).toBeInstanceOf(BlockBook)
  })

  test('of which the uid or the version is not known is read each time', () => {
    const readings = new BlockReadings()
    const { metadata } = block()
    for (const left of [{ uid: 'u' }, { resourceVersion: '5' }]) {
      const object = { ...block(), metadata: { name, ...left } }
      expect(readings.block(object)).not.toBe(readings.block({ ...object, spec: { ...spec, sequence: 2 } }))
      expect((readings.block({ ...object, spec: { ...spec, sequence: 2 } }) as BlockBook).object.spec.sequence).toBe(2)
    }
    expect(metadata).toEqual({ name, uid: 'u', resourceVersion: '5' })
  })

  test('that can not be read is not read again either', () => {
    const readings = new BlockReadings()
    const wrong = { ...block(), spec: { ...spec, cidr: 'all' } }
    expect(readings.block(wrong)).toContain('spec.cidr')
    expect(readings.block(block())).toContain('spec.cidr')
  })
})

describe('a pool', () => {
  test('is read once in each version', () => {
    const readings = new BlockReadings()
    const first = readings.pool(pool('1'))
    expect(first).toBeInstanceOf(PoolReading)
    expect(readings.pool(pool('1'))).toBe(first)
    expect(readings.pool(pool('2'))).not.toBe(first)
  })

  test('has one space in all versions that give the same', () => {
    const readings = new BlockReadings({ versions: 3 })
    const read = (version: string, more = {}) => readings.pool(pool(version, more)) as PoolReading
    const { space } = read('1')
    expect(read('2', { free: '9' }).space).toBe(space)
    expect(read('3', { cidr: '10.0.0.0/25' }).space).not.toEqual(space)
    expect(read('4').space).toBe(space)
    expect(read('4').object.metadata.resourceVersion).toBe('4')
  })

  test('that can not be read says why', () => {
    const readings = new BlockReadings()
    expect(readings.pool({ ...pool('1'), spec: { subnets: 'all' } })).toContain('spec.subnets')
    expect(readings.pool(pool('2'))).toBeInstanceOf(PoolReading)
  })
})

describe('what is kept', () => {
  const isKept = (readings: BlockReadings, version: string, uid = 'u') => {
    const read = readings.block(block(version, uid)) as BlockBook
    return readings.block({ ...block(version, uid), spec: { ...spec, sequence: 2 } }) === read
  }

  test('are the last versions of an object', () => {
    for (const versions of [1, 2, 5]) {
      const readings = new BlockReadings({ versions })
      const books = ['1', '2', '3', '4', '5', '6'].map((version) => readings.block(block(version)))
      const again = ['6', '5', '4', '3', '2', '1'].map((version) => readings.block(block(version)))
      const same = again.filter((book, index) => book === books[5 - index])
      expect(same).toHaveLength(versions)
    }
  })

  test('are so many objects, and those that came first go first', () => {
    const readings = new BlockReadings({ objects: 2 })
    const [a, b] = ['a', 'b'].map((uid) => readings.block(block('1', uid)))
    expect(readings.block(block('1', 'a'))).toBe(a)
    expect(isKept(readings, '1', 'c')).toBe(true)
    expect(readings.block(block('1', 'b'))).toBe(b)
    expect(readings.block(block('1', 'a'))).not.toBe(a)
  })

  test('is nothing of what has gone, as soon as one was told', () => {
    const readings = new BlockReadings()
    const known = new KnownBlocks({ isComplete: true, readings })
    known.observe({ kind: 'present', object: block() }, { nowMs: 0 })
    known.observe({ kind: 'present', object: pool('1') }, { nowMs: 0 })
    const [book, read] = [readings.block(block()), readings.pool(pool('1'))]
    expect(known.book(name)).toBe(book)
    const ref = (of: typeof IPBlock | typeof IPPool, at: string) => ({ ...of.info, name: at })
    known.observe({ kind: 'absent', ref: ref(IPBlock, name), uid: 'u' }, { nowMs: 0 })
    known.observe({ kind: 'absent', ref: ref(IPPool, 'blue'), uid: 'p' }, { nowMs: 0 })
    expect(readings.block(block())).not.toBe(book)
    expect(readings.pool(pool('1'))).not.toBe(read)
  })
})

test('several of one process share what they have read, and each knows what it was shown', () => {
  const readings = new BlockReadings()
  const [one, other] = [1, 2].map(() => new KnownBlocks({ isComplete: true, readings })) as [KnownBlocks, KnownBlocks]
  for (const object of [pool('1'), block('2')]) one.observe({ kind: 'present', object }, { nowMs: 0 })
  expect(other.book(name)).toBe('absent')
  for (const object of [pool('1'), block('2')]) other.observe({ kind: 'present', object }, { nowMs: 0 })
  expect(other.book(name)).toBe(one.book(name))
  const spaceOf = (known: KnownBlocks) => (known.pool('blue') as PoolView).space
  expect(spaceOf(other)).toBe(spaceOf(one))
  expect(other.pool('blue')).toBeInstanceOf(PoolView)
  expect(other.pool('blue')).not.toBe(one.pool('blue'))
  one.observe({ kind: 'present', object: pool('3', { cidr: '10.0.0.0/25' }) }, { nowMs: 0 })
  expect(spaceOf(other)).not.toEqual(spaceOf(one))
})

test('with a reset nothing of it is believed: a version of before a restore of the database may be another one after it', () => {
  const readings = new BlockReadings()
  const planners = [
    blockClaims({ readings }),
    blocksOperator({ readings }),
    blocksSweep({ owners: [IPPool.info], readings }),
  ] as const
  const taken = { ...block(), spec: { ...spec, rows: { 1: { owner: 'ns/a', uid: 'a', sequence: 1 } } } }
  for (const planner of planners) {
    planner.observe({ kind: 'present', object: block() })
    planner.reset()
    planner.observe({ kind: 'present', object: taken })
    const book = readings.block(taken)
    expect(book instanceof BlockBook && book.entries.length, planner.name).toBe(1)
    readings.clear()
  }
})

test('planners of one process share what they have read', () => {
  const read: string[] = []
  class Counting extends BlockReadings {
    override block(object: Parameters<BlockReadings['block']>[0]) {
      read.push(object.metadata.name)
      return super.block(object)
    }
  }
  const readings = new Counting()
  const planners = [blocksOperator({ readings }), blocksSweep({ owners: [IPPool.info], readings })]
  for (const planner of planners) {
    planner.observe({ kind: 'present', object: block() })
    planner.reset()
    planner.observe({ kind: 'present', object: block() })
  }
  expect(read).toEqual([name, name, name, name])
})

test.each<[BlockReadingsOptions, string]>([
  [{ versions: 0 }, 'versions'],
  [{ versions: 65 }, 'versions'],
  [{ versions: 1.5 }, 'versions'],
  [{ objects: 0 }, 'objects'],
  [{ objects: 1_000_001 }, 'objects'],
  [{ objects: Number.NaN }, 'objects'],
])('%j is refused', (options, argument) => {
  expect(() => new BlockReadings(options)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
  )
})
