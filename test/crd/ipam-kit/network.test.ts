import { admitClusterNetwork, ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { type Admission, formatFieldError } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import { MAX_ANSWERS, MAX_CONSUMERS, MAX_KNOWN_PREFIXES, MAX_RANGES } from '../../../src/crd/ipam-kit/names.js'
import type { StructuralSchema } from '../../../src/crd/manifest/structural-schema.js'
import { largestStatus, network, networkStatus } from './networks.js'

const { apiVersion, kind } = ClusterNetwork.info
const errorsOf = (admission: Admission) => (admission.allowed ? [] : admission.errors.map(formatFieldError))
const created = (spec: object) => errorsOf(admitClusterNetwork({ operation: 'CREATE', object: network(spec) }))
const statusErrors = (status: object) =>
  ClusterNetwork.validate({ apiVersion, kind, metadata: { name: 'pods' }, status }).map(formatFieldError)

const consumers = [{ name: 'kube-proxy' }, { name: 'flannel' }]
const [family] = networkStatus.families
const [range] = networkStatus.ranges
const answer = { cidr: '10.1.0.0/16', consumer: 'flannel', accepted: false, reason: 'Overlaps the network of nodes.' }

describe('a ClusterNetwork is admitted', () => {
  test.each<[string, object]>([
    ['without consumers', {}],
    ['with consumers', { consumers }],
    ['with a time limit', { consumers, acceptanceSeconds: 1 }],
    ['with as many consumers as there can be', { consumers: names(MAX_CONSUMERS) }],
  ])('%s', (_, spec) => {
    expect(admitClusterNetwork({ operation: 'CREATE', object: network(spec) })).toEqual({ allowed: true, warnings: [] })
  })

  test('with a warning of a time limit without consumers', () => {
    const { warnings } = admitClusterNetwork({ operation: 'CREATE', object: network({ acceptanceSeconds: 60 }) })
    expect(warnings).toEqual(['spec.acceptanceSeconds has no effect: spec.consumers names no consumer'])
  })

  test('when its spec changes: nothing of it is fixed', () => {
    const request = { operation: 'UPDATE', oldObject: network(), object: network({ consumers }) } as const
    expect(admitClusterNetwork(request)).toEqual({ allowed: true, warnings: [] })
    expect(admitClusterNetwork({ operation: 'DELETE', oldObject: network() }).allowed).toBe(true)
  })

  test('when the status changes, whatever it is: the spec is not looked at again', () => {
    const wrong = network({ acceptanceSeconds: 0 })
    const object = { ...wrong, status: {} }
    expect(admitClusterNetwork({ operation: 'UPDATE', oldObject: wrong, object }).allowed).toBe(true)
  })
})

function names(count: number) {
  return Array.from({ length: count }, (_, index) => ({ name: `c${index}` }))
}

describe('a ClusterNetwork is refused', () => {
  test.each<[string, object, readonly string[]]>([
    [
      'with a consumer that is named twice',
      { consumers: [...consumers, { name: 'flannel' }] },
      ['spec.consumers[2]: Duplicate value: {"name":"flannel"}'],
    ],
    [
      'with a consumer without a name',
      { consumers: [{ name: '' }] },
      [expect.stringContaining('should be at least 1 chars long'), expect.stringContaining('should match')],
    ],
    [
      'with a name that no component has',
      { consumers: [{ name: 'Kube Proxy' }] },
      [expect.stringContaining('should match')],
    ],
    [
      'with more consumers than there can be',
      { consumers: names(MAX_CONSUMERS + 1) },
      [`spec.consumers: Too many: ${MAX_CONSUMERS + 1}: must have at most ${MAX_CONSUMERS} items`],
    ],
    [
      'with no time at all',
      { consumers, acceptanceSeconds: 0 },
      ['spec.acceptanceSeconds: Invalid value: 0: spec.acceptanceSeconds in body should be greater than or equal to 1'],
    ],
    ['with more time than a year', { consumers, acceptanceSeconds: 31_622_401 }, [expect.stringContaining('31622400')]],
  ])('%s', (_, spec, errors) => {
    expect(created(spec)).toEqual(errors)
  })
})

describe('the status', () => {
  test('of two families, with answers', () => {
    expect(statusErrors({ ...networkStatus, answers: [answer, { ...answer, consumer: 'kube-proxy' }] })).toEqual([])
  })

  test.each<[string, object, string]>([
    ['an unknown assigner', { assigner: 'Cilium' }, 'status.assigner: Unsupported value'],
    ['a family twice', { families: [family, family] }, 'status.families[1]: Duplicate value'],
    [
      'more CIDRs than there can be',
      { families: [{ ...family, known: many(MAX_KNOWN_PREFIXES + 1) }] },
      'Too many: 65',
    ],
    ['a count as a number', { families: [{ ...family, foreignAddresses: 0 }] }, 'status.families[0].foreignAddresses'],
    ['a count below 0', { families: [{ ...family, nodes: -1 }] }, 'status.families[0].nodes'],
    ['a family without counts', { families: [{ family: 'IPv4' }] }, 'status.families[0].known: Required value'],
    ['a range twice', { ranges: [range, { ...range, state: 'Active' }] }, 'status.ranges[1]: Duplicate value'],
    ['an unknown state', { ranges: [{ ...range, state: 'Idle' }] }, 'status.ranges[0].state: Unsupported value'],
    [
      'a range without a time',
      { ranges: [{ ...range, proposedAt: undefined }] },
      'status.ranges[0].proposedAt: Required',
    ],
    [
      'more ranges than there can be',
      { ranges: many(MAX_RANGES + 1).map((cidr) => ({ ...range, cidr })) },
      `Too many: ${MAX_RANGES + 1}`,
    ],
    [
      'two answers of one consumer',
      { answers: [answer, { ...answer, accepted: true }] },
      'status.answers[1]: Duplicate value',
    ],
    [
      'an answer that is neither',
      { answers: [{ ...answer, accepted: undefined }] },
      'status.answers[0].accepted: Required',
    ],
    [
      'a reason that is too long',
      { answers: [{ ...answer, reason: 'x'.repeat(129) }] },
      'status.answers[0].reason: Too long',
    ],
    ['a hash that is none', { hash: 'xyz' }, 'status.hash: Invalid value'],
  ])('with %s is wrong', (_, status, words) => {
    expect(statusErrors(status).join('\n')).toContain(words)
  })

  test('of everything that fits has less than 1,100,000 bytes as a server writes it', () => {
    const status = largestStatus()
    expect(status.answers).toHaveLength(MAX_ANSWERS)
    expect(statusErrors(status)).toEqual([])
    const written = JSON.stringify(status).replaceAll('<', '\\u003c')
    // etcd takes 1.5 MiB, and the book of who wrote what comes besides: 300,000 bytes with an entry
    // for each answer
    expect(Buffer.byteLength(written)).toBeLessThan(1_100_000)
    expect(Buffer.byteLength(written)).toBeGreaterThan(900_000)
    expect(statusErrors({ ...status, answers: [...status.answers, answer] }).join()).toContain('Too many')
  })
})

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `10.${index}.0.0/16`)
}

test('unknown fields pass through, and a spec that is left out is an empty one', () => {
  const object = {
    ...{ apiVersion, kind, metadata: { name: 'pods' }, spec: { later: 1 } },
    status: { ...networkStatus, later: { a: 1 }, answers: [{ ...answer, later: [] }] },
  }
  expect(ClusterNetwork.parse(object)).toEqual(object)
  expect(ClusterNetwork.parse({ apiVersion, kind, metadata: { name: 'pods' } }).spec).toEqual({})
  const { openAPIV3Schema } = crdManifest(ClusterNetwork).spec.versions[0]!.schema
  expect(openAPIV3Schema.properties?.spec).toMatchObject({ default: {} })
  expect(openAPIV3Schema).not.toHaveProperty('required')
})

test('each list has a limit, and each CIDR of the status one form', () => {
  const { openAPIV3Schema } = crdManifest(ClusterNetwork).spec.versions[0]!.schema
  const lists: string[] = []
  const forms: string[] = []
  visit('', openAPIV3Schema)
  expect(lists).toEqual([
    '.spec.consumers 8',
    '.status.families 2',
    '.status.families[].known 64',
    '.status.ranges 128',
    '.status.answers 1024',
    '.status.conditions 32',
  ])
  expect(forms).toEqual(['.status.families[].known[]', '.status.ranges[].cidr', '.status.answers[].cidr'])

  function visit(path: string, schema: StructuralSchema): void {
    if (schema.type === 'array') lists.push(`${path} ${String(schema.maxItems)}`)
    if (JSON.stringify(schema['x-kubernetes-validations'] ?? '').includes('isCIDR(self)')) forms.push(path)
    for (const [name, inner] of Object.entries(schema.properties ?? {})) visit(`${path}.${name}`, inner)
    if (schema.items) visit(`${path}[]`, schema.items)
  }
})
