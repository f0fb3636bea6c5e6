import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPPool as OwnPool } from 'ipam-kit/crd/ipam-kit'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { IPPool } from 'ipam-kit/crd/metal3'
import { describe, expect, test } from 'vitest'

const GROUP = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' }
const ready = { type: 'Ready', status: 'True', reason: 'Up', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
const SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'

const claimErrors = (fields: object, version = 'v1beta2') =>
  IPAddressClaim.validate({ apiVersion: `${GROUP}/${version}`, kind: 'IPAddressClaim', ...fields }).map(
    formatFieldError,
  )
const withStatus = (status: object) => claimErrors({ spec: { poolRef }, status })
const withPool = (change: object) => claimErrors({ spec: { poolRef: { ...poolRef, ...change } } })
const addressErrors = (change: object, version = 'v1beta2') =>
  IPAddress.validate({
    apiVersion: `${GROUP}/${version}`,
    kind: 'IPAddress',
    spec: { claimRef: { name: 'web' }, poolRef, address: '10.0.0.1', prefix: 24, ...change },
  }).map(formatFieldError)

const ownErrors = (model: typeof OwnPool | typeof IPBlock, spec: object) =>
  model.validate({ apiVersion: model.info.apiVersion, kind: model.info.kind, spec }).map(formatFieldError)
const rows = (count: number, row: object = { owner: 'a', uid: 'u', sequence: 1 }) => ({
  ...{ cidr: '10.0.0.0/22', domain: 'a', allocationPrefixLength: 32, pool: 'b', sequence: 1 },
  rows: Object.fromEntries(Array.from({ length: count }, (_, unit) => [unit, row])),
})

describe('an error is where and what the API server says', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['nothing at all', claimErrors({}), ['spec: Required value']],
    ['no pool', claimErrors({ spec: {} }), ['spec.poolRef: Required value']],
    ['a spec that is null', claimErrors({ spec: null }), ['spec: Required value']],
    [
      'a group that is empty: two errors',
      withPool({ apiGroup: '' }),
      [
        'spec.poolRef.apiGroup: Invalid value: "": spec.poolRef.apiGroup in body should be at least 1 chars long',
        `spec.poolRef.apiGroup: Invalid value: "": spec.poolRef.apiGroup in body should match '${SUBDOMAIN}'`,
      ],
    ],
    [
      'a name that is too long',
      withPool({ name: 'a'.repeat(254) }),
      ['spec.poolRef.name: Too long: may not be more than 253 bytes'],
    ],
    [
      'another type',
      withPool({ name: 7 }),
      ['spec.poolRef.name: Invalid value: "integer": spec.poolRef.name in body must be of type string: "integer"'],
    ],
    [
      'a list for an object',
      claimErrors({ spec: [] }),
      ['spec: Invalid value: "array": spec in body must be of type object: "array"'],
    ],
    ['an empty status', withStatus({}), ['status: Invalid value: 0: status in body should have at least 1 properties']],
    [
      'an empty list',
      ownErrors(OwnPool, { subnets: [] }),
      ['spec.subnets: Invalid value: 0: spec.subnets in body should have at least 1 items'],
    ],
    ['a map that is just not too long', ownErrors(IPBlock, rows(1024)), []],
    [
      'a map that is too long',
      ownErrors(IPBlock, rows(1025)),
      ['spec.rows: Too many: 1025: must have at most 1024 items'],
    ],
    [
      'an entry of a map',
      ownErrors(IPBlock, rows(1, { owner: 'a', uid: 'u' })),
      ['spec.rows.0.sequence: Required value'],
    ],
    [
      'a status of a condition',
      withStatus({ conditions: [{ ...ready, status: 'Yes' }] }),
      ['status.conditions[0].status: Unsupported value: "Yes": supported values: "True", "False", "Unknown"'],
    ],
    [
      'a time that is none',
      withStatus({ conditions: [{ ...ready, lastTransitionTime: 'now' }] }),
      [
        'status.conditions[0].lastTransitionTime: Invalid value: "now": status.conditions[0].lastTransitionTime in body must be of type date-time: "now"',
      ],
    ],
    [
      'a generation below 0',
      withStatus({ conditions: [{ ...ready, observedGeneration: -1 }] }),
      [
        'status.conditions[0].observedGeneration: Invalid value: -1: status.conditions[0].observedGeneration in body should be greater than or equal to 0',
      ],
    ],
    [
      'two conditions of one type',
      withStatus({ conditions: [ready, { ...ready, type: 'Other' }, ready] }),
      ['status.conditions[2]: Duplicate value: {"type":"Ready"}'],
    ],
    [
      'more conditions than there may be',
      withStatus({ conditions: Array.from({ length: 33 }, (_, index) => ({ ...ready, type: `T${index}` })) }),
      ['status.conditions: Too many: 33: must have at most 32 items'],
    ],
    [
      'a prefix of 129',
      addressErrors({ prefix: 129 }),
      ['spec.prefix: Invalid value: 129: spec.prefix in body should be less than or equal to 128'],
    ],
    [
      'a text for a number',
      addressErrors({ prefix: '24' }),
      ['spec.prefix: Invalid value: "string": spec.prefix in body must be of type integer: "string"'],
    ],
    [
      'half a prefix of 32 bits',
      addressErrors({ prefix: 24.5 }),
      ['spec.prefix: Invalid value: "float64": spec.prefix in body must be of type int32: "float64"'],
    ],
    [
      'half a prefix',
      addressErrors({ prefix: 24.5 }, 'v1beta1'),
      ['spec.prefix: Invalid value: "number": spec.prefix in body must be of type integer: "number"'],
    ],
    [
      'an item that is null',
      InClusterIPPool.validate({
        apiVersion: `${GROUP}/v1alpha2`,
        kind: 'InClusterIPPool',
        spec: { addresses: [null], prefix: 24 },
      }).map(formatFieldError),
      ['spec.addresses[0]: Invalid value: "null": spec.addresses[0] in body must be of type string: "null"'],
    ],
  ])('%s', (_, errors, expected) => {
    expect(errors).toEqual(expected)
  })
})

describe('what is taken', () => {
  test.each<[string, readonly string[]]>([
    ['the least there can be', claimErrors({ spec: { poolRef } })],
    ['fields that nobody knows: an API server drops them', claimErrors({ spec: { poolRef, x: 1 }, y: 2 })],
    ['null for absent', claimErrors({ spec: { poolRef, clusterName: null }, status: null })],
    ['a pool without a group in v1beta1', claimErrors({ spec: { poolRef: { kind: 'K', name: 'N' } } }, 'v1beta1')],
    ['no spec in v1alpha1', claimErrors({}, 'v1alpha1')],
    ['a prefix of 129 in v1beta1', addressErrors({ prefix: 129 }, 'v1beta1')],
    ['a claim without a name in v1beta1: it has a default', addressErrors({ claimRef: {} }, 'v1beta1')],
    ['a name of 253 characters', withPool({ name: 'a'.repeat(253) })],
    [
      'characters that are two code units, counted once',
      withStatus({ conditions: [{ ...ready, message: '😀'.repeat(32768) }] }),
    ],
    [
      'a length that is left to its default',
      InClusterPrefixPool.validate({
        apiVersion: `${GROUP}/v1alpha2`,
        kind: 'InClusterPrefixPool',
        spec: { prefixes: [] },
      }).map(formatFieldError),
    ],
  ])('%s', (_, errors) => {
    expect(errors).toEqual([])
  })
})

test('a count of seconds has to fit into 32 bits', () => {
  const pool = (seconds: number) =>
    InClusterIPPool.validate({
      apiVersion: `${GROUP}/v1alpha2`,
      kind: 'InClusterIPPool',
      spec: { addresses: [], prefix: 0, addressReuseGracePeriodSeconds: seconds },
    })
  expect(pool(2 ** 31 - 1)).toEqual([])
  expect(pool(2 ** 31)).toMatchObject([{ type: 'Invalid', path: 'spec.addressReuseGracePeriodSeconds' }])
})

test('a text of any length is answered', () => {
  expect(withPool({ name: `${'a'.repeat(1_000_000)}!` })).toHaveLength(1)
  expect(withPool({ name: `${'a'.repeat(4000)}!` })).toHaveLength(2)
  const metal3 = { apiVersion: 'ipam.metal3.io/v1alpha1', kind: 'IPPool' }
  const gateway = `1${':1'.repeat(500_000)}`
  expect(IPPool.validate({ ...metal3, spec: { namePrefix: 'a', gateway } })).toMatchObject([{ path: 'spec.gateway' }])
})

test('another kind is a mistake, not an invalid object', () => {
  expect(() => IPAddressClaim.validate({ apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddress' })).toThrow(
    expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }),
  )
})
