import fc from 'fast-check'
import { type Admission, formatFieldError } from 'ipam-kit/crd/meta'
import { admitClusterCIDR, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { describe, expect, test } from 'vitest'
import { type ClusterCIDRRules, clusterCIDRErrors } from '../../../src/crd/node-ipam/admission.js'
import { API_VERSION, MAX_IPV6_SUBNET_BITS } from '../../../src/crd/node-ipam/names.js'

const json = (spec: unknown, name = 'rack-1') => ({
  apiVersion: API_VERSION,
  kind: 'ClusterCIDR',
  metadata: { name },
  spec,
})
const range = (spec: object, name?: string) => ClusterCIDR.parse(json({ perNodeHostBits: 8, ...spec }, name))
const errorsOf = (admission: Admission) => (admission.allowed ? [] : admission.errors.map(formatFieldError))
const created = (spec: object, rules: ClusterCIDRRules = {}) =>
  errorsOf(admitClusterCIDR({ operation: 'CREATE', object: range(spec) }, rules))
const updated = (before: object, after: object) =>
  errorsOf(admitClusterCIDR({ operation: 'UPDATE', oldObject: range(before), object: range(after) }))
const warningsOf = (spec: object) => admitClusterCIDR({ operation: 'CREATE', object: range(spec) }).warnings

const ipv4 = '10.1.0.0/16'
const ipv6 = 'fd00:1:1::/64'
const selector = (requirement: object) => ({ nodeSelectorTerms: [{ matchExpressions: [requirement] }] })
const nodeSelector = selector({ key: 'zone', operator: 'In', values: ['a'] })

describe('a ClusterCIDR is admitted', () => {
  test.each<[string, object]>([
    ['of IPv4', { ipv4 }],
    ['of IPv6', { ipv6 }],
    ['of both', { ipv4, ipv6, nodeSelector }],
    ['of one subnet', { ipv4, perNodeHostBits: 16 }],
    ['of subnets of 16 addresses', { ipv4, perNodeHostBits: 4 }],
    ['of the whole of IPv4', { ipv4: '0.0.0.0/0', perNodeHostBits: 32 }],
    ['of subnets of IPv6 that upstream cannot allocate', { ipv6 }],
    ['with an empty text for no range, as Go writes it', { ipv4, ipv6: '' }],
    ['for Nodes by their names', { ipv4, nodeSelector: { nodeSelectorTerms: [{ matchFields: [field('In', 'n1')] }] } }],
    ['for no Node: a term without requirements', { ipv4, nodeSelector: { nodeSelectorTerms: [{}] } }],
  ])('%s', (_, spec) => {
    expect(created(spec)).toEqual([])
    expect(warningsOf(spec)).toEqual([])
  })
})

function field(operator: string, ...values: string[]) {
  return { key: 'metadata.name', operator, values }
}

describe('a ClusterCIDR is refused', () => {
  const bits = 'spec.perNodeHostBits: Invalid value:'
  test.each<[string, object, readonly string[]]>([
    ['without a range', {}, ['spec: Required value: one or both of `ipv4` and `ipv6` must be specified']],
    [
      'with empty texts',
      { ipv4: '', ipv6: '' },
      ['spec: Required value: one or both of `ipv4` and `ipv6` must be specified'],
    ],
    ['with 0 host bits', { ipv4, perNodeHostBits: 0 }, [`${bits} 0: must be greater than or equal to 4`]],
    ['with negative host bits', { ipv4, perNodeHostBits: -1 }, [`${bits} -1: must be greater than or equal to 4`]],
    [
      'with more host bits than the range',
      { ipv4, perNodeHostBits: 17 },
      [`${bits} 17: must be less than or equal to 16`],
    ],
    ['with 128 host bits', { ipv6, perNodeHostBits: 128 }, [`${bits} 128: must be less than or equal to 64`]],
    [
      'with a range of fewer than 4 bits: both limits',
      { ipv4: '10.1.0.0/30', perNodeHostBits: 3 },
      [`${bits} 3: must be greater than or equal to 4`, `${bits} 3: must be less than or equal to 2`],
    ],
    [
      'once for each family',
      { ipv4, ipv6: 'fd00::/120', perNodeHostBits: 24 },
      [`${bits} 24: must be less than or equal to 16`, `${bits} 24: must be less than or equal to 8`],
    ],
    ['with a word', { ipv4: 'test' }, ['spec.ipv4: Invalid value: "test": must be a valid CIDR: test']],
    ['with an address', { ipv4: '10.1.0.0' }, ['spec.ipv4: Invalid value: "10.1.0.0": must be a valid CIDR: 10.1.0.0']],
    [
      'with zeros before a number',
      { ipv4: '10.01.0.0/16' },
      ['spec.ipv4: Invalid value: "10.01.0.0/16": must be a valid CIDR: 10.01.0.0/16'],
    ],
    [
      'with IPv6 for IPv4',
      { ipv4: 'fd00::/120', ipv6 },
      [
        'spec.ipv4: Invalid value: "fd00::/120": must be a valid IPv4 CIDR',
        `${bits} 8: must be less than or equal to -88`,
      ],
    ],
    ['with IPv4 for IPv6', { ipv6: ipv4 }, ['spec.ipv6: Invalid value: "10.1.0.0/16": must be a valid IPv6 CIDR']],
    [
      'with IPv4 within IPv6',
      { ipv6: '::ffff:10.1.0.0/112' },
      ['spec.ipv6: Invalid value: "::ffff:10.1.0.0/112": must be a valid IPv6 CIDR'],
    ],
    [
      'with a selector without terms, before what is wrong with ranges',
      { nodeSelector: { nodeSelectorTerms: [] }, ipv6: 'x' },
      [
        'spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
        'spec.ipv6: Invalid value: "x": must be a valid CIDR: x',
      ],
    ],
    [
      'with an unknown operator',
      { ipv4, nodeSelector: selector({ key: 'zone', operator: 'Is', values: ['a'] }) },
      [
        'spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      ],
    ],
    [
      'with a key that no label has',
      { ipv4, nodeSelector: selector({ key: 'a=b', operator: 'Exists' }) },
      [
        'spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a=b": is not the name of a label',
      ],
    ],
    [
      'with two names in one requirement',
      { ipv4, nodeSelector: { nodeSelectorTerms: [{ matchFields: [field('In', 'n1', 'n2')] }] } },
      [
        "spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ],
    ],
  ])('%s', (_, spec, errors) => {
    expect(created(spec)).toEqual(errors)
  })

  test.each([
    ['rack.1', 'must be a lowercase RFC 1123 label'],
    ['a'.repeat(64), 'must be at most 63 characters'],
  ])('with the name %s', (name, problem) => {
    const [error, ...others] = errorsOf(admitClusterCIDR({ operation: 'CREATE', object: range({ ipv4 }, name) }))
    expect(others).toEqual([])
    expect(error).toContain(`metadata.name: Invalid value: "${name}": ${problem}`)
  })

  test('as a whole, with the sentence of an API server', () => {
    expect(admitClusterCIDR({ operation: 'CREATE', object: range({ ipv4, perNodeHostBits: 17 }) })).toMatchObject({
      code: 422,
      message: `ClusterCIDR.networking.x-k8s.io "rack-1" is invalid: ${bits} 17: must be less than or equal to 16`,
    })
  })
})

describe('the limit of upstream for subnets of IPv6', () => {
  const rules = { maxIPv6SubnetBits: MAX_IPV6_SUBNET_BITS }

  test.each([
    [47, ['must be greater than or equal to 48: the IPv6 range has up to 2^16 subnets']],
    [48, []],
    [64, []],
  ])('with %d host bits in a /64', (perNodeHostBits, details) => {
    const errors = clusterCIDRErrors({ ipv6, perNodeHostBits }, rules)
    expect(errors.map(({ path, detail }) => [path, detail])).toEqual(
      details.map((detail) => ['spec.perNodeHostBits', detail]),
    )
    expect(created({ ipv6, perNodeHostBits }, rules)).toEqual(errors.map(formatFieldError))
  })

  test('is not one for IPv4', () => {
    expect(created({ ipv4: '10.0.0.0/8', perNodeHostBits: 4 }, rules)).toEqual([])
    expect(created({ ipv4: '10.0.0.0/8', ipv6: 'fd00::/104', perNodeHostBits: 8 }, rules)).toEqual([])
  })

  test.each([-1, 1.5, 129, Number.NaN, '16'])('cannot be %s', (maxIPv6SubnetBits) => {
    const check = () => clusterCIDRErrors({ ipv4, perNodeHostBits: 8 }, { maxIPv6SubnetBits } as ClusterCIDRRules)
    expect(check).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('warnings tell of', () => {
  test('host bits, and a form that is not canonical', () => {
    expect(warningsOf({ ipv4: '10.1.0.5/16', ipv6: 'FD00::/64' })).toEqual([
      'spec.ipv4: CIDR value "10.1.0.5/16" is ambiguous in this context (should be "10.1.0.0/16" or "10.1.0.5/32"?)',
      expect.stringMatching(/^spec\.ipv6: .*"fd00::\/64"/),
    ])
  })

  test('values for which a term selects no Node', () => {
    const of = (operator: string, value: string) =>
      warningsOf({ ipv4, nodeSelector: selector({ key: 'cpus', operator, values: [value] }) })
    expect(of('Gt', 'many')).toEqual([
      "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"many\": must be an integer when `operator` is 'Lt' or 'Gt': the term selects no Node",
    ])
    expect(of('In', 'a b')).toHaveLength(1)
    expect(of('Gt', '8')).toEqual([])
  })

  test('a misspelt field', () => {
    expect(warningsOf({ ipv4, perNodeHostBit: 8 })).toEqual([
      'unknown field "spec.perNodeHostBit", did you mean "perNodeHostBits"?',
    ])
  })
})

describe('the spec never changes', () => {
  const whole = { ipv4, ipv6, nodeSelector, perNodeHostBits: 8 }
  const without = (field: keyof typeof whole) => ({ ...whole, [field]: undefined })
  const other = selector({ key: 'zone', operator: 'In', values: ['b'] })

  test.each<[string, object, object, readonly string[]]>([
    ['another selector', whole, { ...whole, nodeSelector: other }, ['nodeSelector']],
    ['a selector that is dropped', whole, without('nodeSelector'), ['nodeSelector']],
    ['a selector that is added', without('nodeSelector'), whole, ['nodeSelector']],
    ['other host bits', whole, { ...whole, perNodeHostBits: 9 }, ['perNodeHostBits']],
    ['another range', whole, { ...whole, ipv4: '10.2.0.0/16' }, ['ipv4']],
    ['a range that is dropped', whole, without('ipv4'), ['ipv4']],
    ['a range that is emptied', whole, { ...whole, ipv6: '' }, ['ipv6']],
    ['a range that is added', without('ipv6'), whole, ['ipv6']],
    [
      'all of it, in order',
      whole,
      { perNodeHostBits: 300, ipv4: 'x', ipv6: 'y', nodeSelector: { nodeSelectorTerms: [] } },
      ['nodeSelector', 'perNodeHostBits', 'ipv4', 'ipv6'],
    ],
  ])('%s is refused', (_, before, after, fields) => {
    const errors = updated(before, after)
    expect(errors.map((error) => error.split(':')[0])).toEqual(fields.map((name) => `spec.${name}`))
    for (const error of errors) expect(error).toMatch(/: field is immutable$/)
  })

  test('what it says stays the same: a range left out is one that is empty', () => {
    expect(updated(whole, whole)).toEqual([])
    expect(updated(without('ipv6'), { ...whole, ipv6: '' })).toEqual([])
  })

  test('faults of the old spec refuse no other change', () => {
    const wrong = { ipv4: 'x', perNodeHostBits: -1 }
    expect(updated(wrong, wrong)).toEqual([])
  })
})

test('it can be deleted, and nothing else can be asked', () => {
  expect(admitClusterCIDR({ operation: 'DELETE', oldObject: range({}) })).toEqual({ allowed: true, warnings: [] })
  const ask = () => admitClusterCIDR({ operation: 'CONNECT', object: range({}) } as never)
  expect(ask).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

describe('the model', () => {
  test('reads what an API server stores, also what makes no sense, and keeps fields that it does not know', () => {
    const spec = {
      perNodeHostBits: -1,
      ipv4: 'x',
      nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'a', operator: 'Is', later: 1 }] }], later: {} },
      later: [],
    }
    expect(ClusterCIDR.parse(json(spec))).toEqual(json(spec))
  })

  test.each<[string, unknown, string]>([
    ['no spec', undefined, 'spec'],
    ['no host bits', { ipv4 }, 'spec.perNodeHostBits'],
    ['host bits as text', { ipv4, perNodeHostBits: '8' }, 'spec.perNodeHostBits'],
    ['half a host bit', { ipv4, perNodeHostBits: 8.5 }, 'spec.perNodeHostBits'],
    [
      'a selector without a list',
      { ipv4, perNodeHostBits: 8, nodeSelector: {} },
      'spec.nodeSelector.nodeSelectorTerms',
    ],
  ])('refuses %s, as the definition of the kind does', (_, spec, path) => {
    const read = ClusterCIDR.safeParse(json(spec))
    expect(read.ok ? [] : read.failure.code).toBe('INVALID_OBJECT')
    expect(read).toMatchObject({ failure: { context: { issues: [{ path }] } } })
    expect(ClusterCIDR.validate(json(spec)).map((error) => error.path)).toEqual([path])
  })

  test('and the definition refuses too few host bits', () => {
    expect(ClusterCIDR.validate(json({ ipv4, perNodeHostBits: 3 })).map(formatFieldError)).toEqual([
      'spec.perNodeHostBits: Invalid value: 3: spec.perNodeHostBits in body should be greater than or equal to 4',
    ])
  })
})

test('a spec without errors gives each Node a subnet of at least 16 addresses, in each range', () => {
  const cidr = fc
    .tuple(fc.constantFrom('10.0.0.0', '10.1.2.3', 'fd00::', 'fd00::1'), fc.integer({ min: 0, max: 128 }))
    .map(([address, length]) => `${address}/${length}`)
  const text = fc.option(fc.oneof(cidr, fc.constantFrom('', 'x')), { nil: undefined })
  const specs = fc.record({ perNodeHostBits: fc.integer({ min: -2, max: 130 }), ipv4: text, ipv6: text })
  fc.assert(
    fc.property(specs, (spec) => {
      const lengths = [spec.ipv4, spec.ipv6].flatMap((one) => (one ? [Number(one.split('/')[1])] : []))
      const isRight =
        lengths.length > 0 &&
        (!spec.ipv4 || /^10\..*\/([0-9]|[12][0-9]|3[0-2])$/.test(spec.ipv4)) &&
        (!spec.ipv6 || /^fd00/.test(spec.ipv6)) &&
        spec.perNodeHostBits >= 4 &&
        (!spec.ipv4 || spec.perNodeHostBits <= 32 - Number(spec.ipv4.split('/')[1])) &&
        (!spec.ipv6 || spec.perNodeHostBits <= 128 - Number(spec.ipv6.split('/')[1]))
      expect(clusterCIDRErrors(spec).length === 0).toBe(isRight)
    }),
  )
})
