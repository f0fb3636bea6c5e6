import { admitIPDomain, admitIPPool, type IPPool } from 'ipam-kit/crd/ipam-kit'
import type { Admission } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import type { IPPoolAdmissionRequest } from '../../../src/crd/ipam-kit/admission.js'
import { gridOf } from '../../../src/crd/ipam-kit/grid.js'
import { block, domain, pool, row } from './objects.js'

type Fields = { readonly [field: string]: unknown }

const errorsOf = (admission: Admission) =>
  admission.allowed ? [] : admission.errors.map(({ path, detail }) => (detail === '' ? path : `${path}: ${detail}`))
const warningsOf = (admission: Admission) => {
  if (!admission.allowed) throw new Error(admission.message)
  return admission.warnings
}
const created = (spec: Fields, more: Partial<IPPoolAdmissionRequest> = {}) =>
  errorsOf(admitIPPool({ operation: 'CREATE', object: pool(spec), ...more } as IPPoolAdmissionRequest))
const updated = (before: Fields, after: Fields, more: Partial<IPPoolAdmissionRequest> = {}) =>
  admitIPPool({ operation: 'UPDATE', object: pool(after), oldObject: pool(before), ...more } as IPPoolAdmissionRequest)

describe('creating a pool', () => {
  test.each<[string, Fields]>([
    ['of one subnet', {}],
    [
      'of both families',
      {
        subnets: [
          { cidr: '10.0.0.0/24', gateway: '10.0.0.1' },
          { cidr: 'fd00::/64', gateway: 'fe80::1' },
        ],
      },
    ],
    ['of prefixes', { ipv4: { blockPrefixLength: 20, allocationPrefixLength: 28 } }],
    [
      'with everything at its limits',
      {
        reuseAfterSeconds: 31_622_400,
        sticky: { by: 'mac', forSeconds: 1 },
        affinity: { by: 'node', maxBlocksPerNode: 1 },
      },
    ],
    ['for all namespaces, said in full', { namespaceSelector: {} }],
    [
      'for some of them',
      {
        namespaceSelector: { matchLabels: { 'example.com/team': 'a', plain: '' } },
        nodeSelector: {
          matchExpressions: [
            { key: 'zone', operator: 'In', values: ['a', 'b'] },
            { key: 'old', operator: 'DoesNotExist' },
          ],
        },
      },
    ],
  ])('is allowed: %s', (_, spec) => {
    expect(admitIPPool({ operation: 'CREATE', object: pool(spec) })).toEqual({ allowed: true, warnings: [] })
  })

  test.each<[string[], Fields]>([
    [
      ['spec.subnets[0].cidr: has host bits', 'spec.subnets[1].gateway: is not an address'],
      { subnets: [{ cidr: '10.0.0.1/24' }, { cidr: '10.1.0.0/24', gateway: '10' }] },
    ],
    [['spec.subnets: spec.subnets in body should have at least 1 items'], { subnets: [] }],
    [
      [
        "spec.domain: spec.domain in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
      ],
      { domain: 'Lab' },
    ],
    [
      ['spec.reuseAfterSeconds: spec.reuseAfterSeconds in body should be less than or equal to 31622400'],
      { reuseAfterSeconds: 31_622_401 },
    ],
    [
      ['spec.sticky.forSeconds: spec.sticky.forSeconds in body should be greater than or equal to 1'],
      { sticky: { by: 'mac', forSeconds: 0 } },
    ],
    [
      ['spec.affinity.maxBlocksPerNode: spec.affinity.maxBlocksPerNode in body should be greater than or equal to 1'],
      { affinity: { by: 'node', maxBlocksPerNode: 0 } },
    ],
    [['spec.ipv4: a block has 4096 units, more than 1024'], { ipv4: { blockPrefixLength: 20 } }],
    [['spec.ipv6: a block is smaller than a unit'], { ipv6: { blockPrefixLength: 100, allocationPrefixLength: 96 } }],
    [
      [
        'spec.namespaceSelector.matchLabels: is not the name of a label',
        'spec.namespaceSelector.matchLabels: is not a value of a label',
        'spec.nodeSelector.matchExpressions[0].key: is not the name of a label',
        "spec.nodeSelector.matchExpressions[0].values: must be specified when `operator` is 'In' or 'NotIn'",
        "spec.nodeSelector.matchExpressions[1].values: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        'spec.nodeSelector.matchExpressions[1].values[0]: is not a value of a label',
      ],
      {
        namespaceSelector: { matchLabels: { 'a/b/c': '-' } },
        nodeSelector: {
          matchExpressions: [
            { key: 'Example.com/x', operator: 'NotIn' },
            { key: 'x', operator: 'Exists', values: ['a b'] },
          ],
        },
      },
    ],
  ])('is refused: %j', (errors, spec) => {
    expect(created(spec)).toEqual(errors)
  })

  test.each([
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    [`${'a'.repeat(253)}/b`, true],
    [`${'a'.repeat(254)}/b`, false],
    ['a/b/c', false],
    ['/b', false],
    ['a/', false],
    ['a_b.C-d', true],
    ['a-', false],
  ])('selects by the label %j: %s', (key, isOne) => {
    const nodeSelector = { matchExpressions: [{ key, operator: 'Exists' }] }
    const error = 'spec.nodeSelector.matchExpressions[0].key: is not the name of a label'
    expect(created({ nodeSelector })).toEqual(isOne ? [] : [error])
  })

  test('is refused with a name that names of blocks have no room for', () => {
    const long = (length: number) => admitIPPool({ operation: 'CREATE', object: pool({}, 'a'.repeat(length)) })
    expect(errorsOf(long(200))).toEqual([])
    expect(errorsOf(long(201))).toEqual(['metadata.name: has more than 200 characters'])
  })

  test('is told in one sentence', () => {
    expect(admitIPPool({ operation: 'CREATE', object: pool({ subnets: [{ cidr: '10.0.0.0/33' }] }) })).toMatchObject({
      allowed: false,
      code: 422,
      message:
        'IPPool.ipam-kit.dev "blue" is invalid: spec.subnets[0].cidr: Invalid value: "10.0.0.0/33": is not a CIDR',
    })
  })
})

describe('the grid of a pool', () => {
  const ipv4 = { blockPrefixLength: 26, allocationPrefixLength: 32 }

  test('is that of the domain, or not said', () => {
    expect(created({ ipv4 }, { domain: domain({ ipv4 }) })).toEqual([])
    expect(created({ ipv4: { allocationPrefixLength: 32 } }, { domain: domain() })).toEqual([])
    expect(created({ ipv4, ipv6: { allocationPrefixLength: 64 } }, { domain: domain() })).toEqual([
      'spec.ipv4.blockPrefixLength: domain "default" has 24',
      'spec.ipv6.allocationPrefixLength: domain "default" has 128',
    ])
  })

  test('is that of the other pools of the domain, where they ask for one', () => {
    const others = [pool({}, 'a'), pool({ ipv4: { blockPrefixLength: 25 } }, 'b'), pool({ domain: 'lab', ipv4 }, 'c')]
    expect(created({ ipv4 }, { others })).toEqual(['spec.ipv4.blockPrefixLength: pool "b" has 25'])
    expect(created({ ipv4, domain: 'lab' }, { others })).toEqual([])
  })

  test('is not compared with what the pool itself was', () => {
    const others = [pool({ ipv4: { blockPrefixLength: 25 } })]
    expect(created({ ipv4 }, { others })).toEqual([])
  })

  test('has to be one together with what others ask for', () => {
    const others = [pool({ ipv4: { allocationPrefixLength: 28 } }, 'b')]
    expect(created({ ipv4: { blockPrefixLength: 18 } }, { others })).toEqual([])
    expect(created({ ipv4: { blockPrefixLength: 17 } }, { others })).toEqual([
      'spec.ipv4: a block has 2048 units, more than 1024',
    ])
  })

  test.each([
    [4, {}, 'shared', 24, 32],
    [4, {}, 'node', 26, 32],
    [6, {}, 'shared', 120, 128],
    [6, { allocationPrefixLength: 64 }, 'node', 58, 64],
    [4, { allocationPrefixLength: 4 }, 'shared', 1, 4],
    [4, { blockPrefixLength: 22 }, 'node', 22, 32],
  ] as const)('of IPv%i, %j, %s, is /%i of /%i', (family, wish, use, blockPrefixLength, allocationPrefixLength) => {
    expect(gridOf(family, wish, use)).toEqual({ blockPrefixLength, allocationPrefixLength })
  })

  test('a domain of another name is the wrong one to ask', () => {
    const request = { operation: 'CREATE', object: pool(), domain: domain({}, 'lab') } as const
    expect(() => admitIPPool(request)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('changing a pool', () => {
  const ipv4 = { blockPrefixLength: 26 }

  test.each<[string, Fields, Fields]>([
    ['what it gives', {}, { subnets: [{ cidr: '10.9.0.0/24', ranges: ['10.9.0.1'] }] }],
    ['to whom', { namespaceSelector: {} }, {}],
    ['a grid that it had not asked for', {}, { ipv4 }],
  ])('is allowed: %s', (_, before, after) => {
    expect(errorsOf(updated(before, after))).toEqual([])
  })

  test.each<[string, Fields, Fields]>([
    ['spec.domain: never changes', { domain: 'a' }, { domain: 'b' }],
    ['spec.ipv4: never changes once it is set', { ipv4 }, {}],
    ['spec.ipv4: never changes once it is set', { ipv4 }, { ipv4: { blockPrefixLength: 25 } }],
    ['spec.ipv6: never changes once it is set', { ipv6: {} }, { ipv6: { blockPrefixLength: 120 } }],
  ])('is refused: %s', (error, before, after) => {
    expect(errorsOf(updated(before, after))).toEqual([error])
  })

  test('is allowed where the spec stays, whatever is wrong with it: finalizers come and go', () => {
    const wrong = { subnets: [{ cidr: 'x' }] }
    const warnings = [
      'spec.subnets[0].cidr: Invalid value: "x": spec.subnets[0].cidr in body should be at least 4 chars long',
      'spec.subnets[0].cidr: Invalid value: "x": is not a CIDR',
    ]
    expect(updated(wrong, wrong)).toEqual({ allowed: true, warnings })
    expect(updated(wrong, { ...wrong, disabled: true })).toEqual({ allowed: true, warnings })
    expect(errorsOf(updated(wrong, { subnets: [{ cidr: 'y' }] }))).toEqual([
      'spec.subnets[0].cidr: spec.subnets[0].cidr in body should be at least 4 chars long',
    ])
  })

  test('tells how many rows are not of the pool any more', () => {
    const rows = {
      4: row(1),
      5: row(2),
      6: row(3, { count: 2 }),
      8: row(4, { pool: 'red' }),
      // the last unit is never given, and the one behind it is no unit
      255: row(6),
      256: row(7),
      9: row(5, { state: 'held', released: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }),
    }
    const blocks = [
      block({ rows }),
      block({ rows, domain: 'lab' }, 'lab-4-0a000000-24'),
      block({ rows, cidr: 'x' }, 'y'),
    ]
    const ranges = (range: string) => ({ subnets: [{ cidr: '10.0.0.0/24', ranges: [range] }] })
    expect(warningsOf(updated({}, { ...ranges('10.0.0.4-10.0.0.255'), skipEdges: 'never' }, { blocks }))).toEqual([])
    expect(warningsOf(updated({}, ranges('10.0.0.4-10.0.0.255'), { blocks }))).toEqual([
      'rows whose addresses the pool no longer contains: 1. They stay until they are released',
    ])
    expect(warningsOf(updated({}, ranges('10.0.0.5-10.0.0.6'), { blocks }))).toEqual([
      'rows whose addresses the pool no longer contains: 3. They stay until they are released',
    ])
  })
})

describe('warnings', () => {
  const net = (cidr: string, name: string, more: Fields = {}) => pool({ subnets: [{ cidr }], ...more }, name)
  const warned = (object: IPPool, others: readonly IPPool[]) =>
    warningsOf(admitIPPool({ operation: 'CREATE', object, others }))

  test('name pools of the domain with addresses in common', () => {
    const others = [
      net('10.0.0.128/25', 'b'),
      net('10.0.0.0/8', 'a'),
      net('10.0.1.0/24', 'c'),
      net('10.0.0.0/24', 'd', { domain: 'lab' }),
      net('10.0.0.255/32', 'e'),
      net('x', 'f'),
    ]
    expect(warned(pool(), others)).toEqual([
      'has addresses in common with a, b: each address is allocated by one of them only',
    ])
    expect(
      warned(
        pool(),
        Array.from({ length: 7 }, (_, index) => net('10.0.0.0/24', `p${index}`)),
      ),
    ).toEqual([
      'has addresses in common with p0, p1, p2, p3, p4 and 2 more: each address is allocated by one of them only',
    ])
  })

  test('tell of subnets that give nothing', () => {
    const subnets = [{ cidr: '10.0.0.0/30', exclude: ['10.0.0.0/30'] }, { cidr: '10.1.0.0/24' }]
    expect(warned(pool({ subnets }), [])).toEqual(['1 of 2 subnets have no address to allocate'])
  })
})

describe('deleting', () => {
  const blocks = [
    block({ rows: { 1: row(1), 2: row(2, { pool: 'red' }) } }),
    block({ rows: { 1: row(1) }, cidr: '10.0.1.0/24' }, 'default-4-0a000100-24'),
    block({ rows: { 1: row(1) }, domain: 'lab' }, 'lab-4-0a000000-24'),
  ]

  test('a pool waits for its rows', () => {
    const deleted = (name: string) =>
      warningsOf(admitIPPool({ operation: 'DELETE', oldObject: pool({}, name), blocks }))
    expect(deleted('blue')).toEqual(['deletion waits for the release of its rows: 2 (blocks: 2)'])
    expect(deleted('red')).toEqual(['deletion waits for the release of its rows: 1 (blocks: 1)'])
    expect(deleted('green')).toEqual([])
    expect(admitIPPool({ operation: 'DELETE', oldObject: pool() })).toEqual({ allowed: true, warnings: [] })
  })

  test('a domain waits for all rows', () => {
    const deleted = (name: string) =>
      warningsOf(admitIPDomain({ operation: 'DELETE', oldObject: domain({}, name), blocks }))
    expect(deleted('default')).toEqual(['deletion waits for the release of its rows: 3 (blocks: 2)'])
    expect(deleted('other')).toEqual([])
  })
})

describe('a domain', () => {
  const made = (spec: Fields, name = 'default') =>
    errorsOf(admitIPDomain({ operation: 'CREATE', object: domain(spec, name) }))

  test('has a grid that is one', () => {
    expect(made({})).toEqual([])
    expect(made({ ipv4: { blockPrefixLength: 22, allocationPrefixLength: 32 } })).toEqual([])
    expect(
      made({
        ipv4: { blockPrefixLength: 21, allocationPrefixLength: 32 },
        ipv6: { blockPrefixLength: 64, allocationPrefixLength: 56 },
      }),
    ).toEqual(['spec.ipv4: a block has 2048 units, more than 1024', 'spec.ipv6: a block is smaller than a unit'])
    expect(made({ ipv4: { blockPrefixLength: 24, allocationPrefixLength: 33 } })).toEqual([
      'spec.ipv4.allocationPrefixLength: spec.ipv4.allocationPrefixLength in body should be less than or equal to 32',
    ])
    expect(made({}, 'a'.repeat(201))).toEqual(['metadata.name: has more than 200 characters'])
  })

  test('never changes', () => {
    const other = domain({ ipv4: { blockPrefixLength: 25, allocationPrefixLength: 32 } })
    expect(errorsOf(admitIPDomain({ operation: 'UPDATE', object: other, oldObject: domain() }))).toEqual([
      'spec: never changes',
    ])
    expect(errorsOf(admitIPDomain({ operation: 'UPDATE', object: other, oldObject: other }))).toEqual([])
  })
})

test.each([admitIPPool, admitIPDomain])('any other operation is the wrong question', (admit) => {
  const request = { operation: 'CONNECT', object: pool() } as never
  expect(() => admit(request)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})
