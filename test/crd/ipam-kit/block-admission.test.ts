import { admitIPBlock, type IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { Admission } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import type { IPBlockRow } from '../../../src/crd/ipam-kit/ip-block.js'
import { block, domain, row } from './objects.js'

type Fields = { readonly [field: string]: unknown }
type Rows = { readonly [unit: string]: IPBlockRow }

const errorsOf = (admission: Admission) =>
  admission.allowed ? [] : admission.errors.map(({ path, detail }) => `${path}: ${detail}`)
const created = (object: IPBlock) => errorsOf(admitIPBlock({ operation: 'CREATE', object }))
const updated = (before: Fields, after: Fields) =>
  errorsOf(admitIPBlock({ operation: 'UPDATE', object: block(after), oldObject: block(before) }))
const back = { released: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }

describe('creating a block', () => {
  test.each<[string, Fields, string | undefined]>([
    ['without rows', {}, undefined],
    ['with some', { rows: { 0: row(1), 1: row(2, { count: 3 }), 4: row(3), 255: row(9) } }, undefined],
    [
      'with some that were given back',
      { rows: { 0: row(1, { state: 'cooldown', ...back }), 1: row(2, { state: 'held', ...back }) } },
      undefined,
    ],
    ['of prefixes', { cidr: 'fd00::/54', allocationPrefixLength: 64 }, 'default-6-fd000000000000000000000000000000-54'],
  ])('is allowed: %s', (_, spec, name) => {
    expect(admitIPBlock({ operation: 'CREATE', object: block(spec, name) })).toEqual({ allowed: true, warnings: [] })
  })

  test.each<[string, Fields, string?]>([
    ['metadata.name: is not default-4-0a000000-24', {}, 'default-4-0a000001-24'],
    ['metadata.name: is not lab-4-0a000000-24', { domain: 'lab' }],
    ['spec.cidr: is not a CIDR', { cidr: '10.0.0.0' }],
    ['spec.cidr: is not 10.0.0.0/24', { cidr: '10.0.0.7/24' }],
    ['spec.cidr: is not fd00::/120', { cidr: 'FD00::/120', allocationPrefixLength: 128 }],
    ['spec.cidr: a block has 65536 units, more than 1024', { cidr: '10.0.0.0/16' }],
    ['spec.cidr: a block is smaller than a unit', { allocationPrefixLength: 20 }],
    ['spec.cidr: allocationPrefixLength is not from 1 to 32', { allocationPrefixLength: 33 }],
  ])('is refused where it lies: %s', (error, spec, name) => {
    expect(created(block(spec, name))).toEqual([error])
  })

  test('is refused beside the grid of its domain', () => {
    const admit = (spec: Fields) =>
      errorsOf(admitIPBlock({ operation: 'CREATE', object: block(), domain: domain(spec) }))
    expect(admit({})).toEqual([])
    expect(admit({ ipv4: { blockPrefixLength: 25, allocationPrefixLength: 30 } })).toEqual([
      'spec.cidr: blocks of the domain have the length 25',
      'spec.allocationPrefixLength: units of the domain have the length 30',
    ])
    const request = { operation: 'CREATE', object: block(), domain: domain({}, 'lab') } as const
    expect(() => admitIPBlock(request)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  const NOT_A_UNIT = 'spec.rows: the key of a row is the number of a unit'
  test.each<[string[], Rows]>([
    [[NOT_A_UNIT], { '01': row(1) }],
    [[NOT_A_UNIT], { '-1': row(1) }],
    [[NOT_A_UNIT], { '1024': row(1) }],
    [['spec.rows.256: the last unit of the block is 255'], { 256: row(1) }],
    [['spec.rows.255: the last unit of the block is 255'], { 255: row(1, { count: 2 }) }],
    [['spec.rows.3: row 1 has it'], { 1: row(1, { count: 3 }), 3: row(2) }],
    [['spec.rows.2: row 0 has it', 'spec.rows.9: row 0 has it'], { 0: row(1, { count: 10 }), 2: row(2), 9: row(3) }],
    [['spec.rows.1.sequence: row 0 has it'], { 0: row(3), 1: row(3) }],
    [['spec.rows.0.sequence: is above spec.sequence'], { 0: row(10) }],
    [
      ['spec.rows.0.released: of a row with the state held', 'spec.rows.0.until: of a row with the state held'],
      { 0: row(1, { state: 'held' }) },
    ],
    [
      ['spec.rows.0.until: of a row with the state cooldown'],
      { 0: row(1, { state: 'cooldown', released: back.released }) },
    ],
    [
      ['spec.rows.0.until: is before 2026-01-01T00:00:00Z'],
      { 0: row(1, { state: 'held', ...back, until: '2026-01-01T00:00:00+00:01' }) },
    ],
    [
      ["spec.rows.0.mac: spec.rows.0.mac in body should match '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$'"],
      { 0: row(1, { mac: '02-00-00-00-00-01' }) },
    ],
  ])('is refused for its rows: %j', (errors, rows) => {
    expect(created(block({ rows }))).toEqual(errors)
  })
})

describe('changing a block', () => {
  test.each<[string, Fields, Fields]>([
    ['adding a row', { rows: { 0: row(9) } }, { sequence: 10, rows: { 0: row(9), 1: row(10) } }],
    ['taking one away', { rows: { 0: row(9) } }, {}],
    ['giving one back', { rows: { 0: row(9) } }, { rows: { 0: row(9, { state: 'cooldown', ...back }) } }],
    ['keeping less', { rows: { 0: row(9, { count: 4 }) } }, { rows: { 0: row(9, { count: 2 }) } }],
    ['giving to another in one step', { rows: { 0: row(9) } }, { sequence: 10, rows: { 0: row(10, { uid: 'u-1' }) } }],
    [
      'an owner that comes again',
      { rows: { 0: row(9, { state: 'held', ...back }) } },
      { sequence: 10, rows: { 0: row(10, { uid: 'u-1' }) } },
    ],
    ['binding it to a node', {}, { node: 'n1' }],
    [
      'handing a row over to an object of the same name',
      { rows: { 0: row(9) } },
      { sequence: 10, rows: { 0: row(10, { uid: 'u-1', container: 'c2' }) } },
    ],
    [
      'giving back, and remembering the owner before',
      { rows: { 0: row(9), 4: row(8, { count: 3 }) } },
      {
        sequence: 11,
        rows: {
          0: row(10, { owner: 'lab/web-1', uid: 'u-1', state: 'cooldown', ...back }),
          5: row(11, { owner: 'lab/web-1', uid: 'u-1', state: 'held', ...back }),
        },
      },
    ],
    [
      'giving what lies beside',
      { rows: { 2: row(9) } },
      { sequence: 10, rows: { 2: row(9), 0: row(10, { count: 2 }) } },
    ],
    ['noting which was last', {}, { last: 255 }],
  ])('is allowed: %s', (_, before, after) => {
    expect(updated(before, after)).toEqual([])
  })

  test.each<[string[], Fields, Fields]>([
    [['metadata.name: is not default-4-0a000100-24', 'spec.cidr: never changes'], {}, { cidr: '10.0.1.0/24' }],
    [['metadata.name: is not lab-4-0a000000-24', 'spec.domain: never changes'], {}, { domain: 'lab' }],
    [['spec.allocationPrefixLength: never changes'], {}, { allocationPrefixLength: 30 }],
    [['spec.pool: never changes'], {}, { pool: 'red' }],
    [['spec.sequence: never falls'], {}, { sequence: 8 }],
    [['spec.rows.0.sequence: a new row needs a sequence above 9'], {}, { sequence: 10, rows: { 0: row(9) } }],
    [['spec.rows.1.sequence: a new row needs a sequence above 9'], { rows: { 0: row(5) } }, { rows: { 1: row(5) } }],
    [
      [
        'spec.rows.0.owner: lab/web-0 has the unit, and has not released it',
        'spec.rows.0.uid: lab/web-0 has the unit, and has not released it',
      ],
      { rows: { 0: row(9) } },
      { rows: { 0: row(9, { owner: 'lab/web-1', uid: 'u-1' }) } },
    ],
    [
      ['spec.rows.0.owner: lab/web-0 has the unit, and has not released it'],
      { rows: { 0: row(9) } },
      { sequence: 10, rows: { 0: row(10, { owner: 'lab/web-1', uid: 'u-1' }) } },
    ],
    // at another key, and the row of who has the unit goes in the same step
    [
      ['spec.rows.1.owner: lab/web-0 has the unit, and has not released it'],
      { rows: { 2: row(9) } },
      { sequence: 10, rows: { 1: row(10, { owner: 'lab/web-1', uid: 'u-1', count: 2 }) } },
    ],
    [
      ['spec.rows.2.owner: lab/web-0 has the unit, and has not released it'],
      { rows: { 1: row(9, { count: 3 }) } },
      { sequence: 10, rows: { 1: row(9), 2: row(10, { owner: 'lab/web-1', uid: 'u-1' }) } },
    ],
    [
      ['spec.rows.0.interface: lab/web-0 has the unit, and has not released it'],
      { rows: { 0: row(9) } },
      { rows: { 0: row(9, { interface: 'net1' }) } },
    ],
    [
      ['spec.rows.0.uid: lab/web-0 has the unit, and has not released it'],
      { rows: { 0: row(9) } },
      { rows: { 0: row(9, { uid: 'u-1', state: 'held', ...back }) } },
    ],
    [
      ['spec.rows.0.sequence: the next owner of a released unit needs a new row'],
      { rows: { 0: row(9, { state: 'held', ...back }) } },
      { rows: { 0: row(9) } },
    ],
    [['spec.last: the last unit of the block is 255'], {}, { last: 256 }],
    [['spec.rows.0.count: row 9 is for 1'], { rows: { 0: row(9) } }, { rows: { 0: row(9, { count: 2 }) } }],
  ])('is refused: %j', (errors, before, after) => {
    expect(updated(before, after)).toEqual(errors)
  })

  test('is allowed where the spec stays, whatever is wrong with it', () => {
    const wrong = { rows: { 0: row(10) } }
    expect(updated(wrong, wrong)).toEqual([])
    expect(updated(wrong, { ...wrong, node: 'n1' })).toEqual([])
    expect(updated(wrong, { rows: { ...wrong.rows, 1: row(11) } })).toEqual([
      'spec.rows.1.sequence: is above spec.sequence',
    ])
  })
})

test('deleting a block waits for its rows', () => {
  const deleted = (rows: Rows) => admitIPBlock({ operation: 'DELETE', oldObject: block({ rows }) })
  expect(deleted({})).toEqual({ allowed: true, warnings: [] })
  expect(deleted({ 0: row(1), 1: row(2) })).toEqual({
    allowed: true,
    warnings: ['deletion waits for the release of its rows: 2'],
  })
})

test('any other operation is the wrong question', () => {
  const request = { operation: 'CONNECT', object: block() } as never
  expect(() => admitIPBlock(request)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})
