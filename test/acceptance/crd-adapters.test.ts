import { describe, expect, test } from 'vitest'
import { adapters } from './adapters/index.js'
import type { Adapter } from './answer.js'

type Row = readonly [input: unknown, asked: unknown, got: unknown]

/** The answer of an adapter to each input, as it is, whatever is expected. */
const table = (rows: readonly Row[]) =>
  rows.map(([input, asked, got]) => [JSON.stringify(input), input, asked, got] as const)

async function ask(file: string, input: unknown, asked: unknown): Promise<unknown> {
  const answer = await (adapters[file] as Adapter)({ input, expect: asked, fields: {} })
  return answer.kind === 'answered' ? answer.got : answer
}

const poolRef = { apiGroup: 'example.com', kind: 'Pool', name: 'blue' }

describe('conversions', () => {
  test.each(
    table([
      [
        { from: 'v1alpha1', to: 'v1alpha2', spec: { subnet: '10.1.0.0/30' } },
        { spec: {}, status: {} },
        { spec: { addresses: ['10.1.0.1-10.1.0.2'], prefix: 30 }, status: {} },
      ],
      [
        { from: 'v1alpha1', to: 'v1alpha2', back: true, spec: { subnet: '10.1.0.0/30' } },
        { spec: {}, error: true },
        { spec: { subnet: '10.1.0.0/30', start: '10.1.0.1', end: '10.1.0.2', prefix: 30 }, error: false },
      ],
      [{ from: 'v1alpha1', to: 'v1alpha2', spec: { subnet: '10.1' } }, { error: true }, { error: true }],
      [
        { from: 'v1beta1', to: 'v1beta2', poolRef: { kind: 'Pool', name: 'blue' } },
        { poolRef: null },
        { poolRef: { apiGroup: '', kind: 'Pool', name: 'blue' } },
      ],
      [{ from: 'v1beta2', to: 'v1beta1', address: { prefix: null } }, { address: 0 }, { address: { prefix: 0 } }],
      [
        { from: 'v1beta2', to: 'v1alpha1', spec: { clusterName: 'c9' }, metadata: { labels: { a: 'b' } } },
        { metadata: { labels: {}, annotations: {} } },
        {
          metadata: {
            labels: { a: 'b', 'cluster.x-k8s.io/cluster-name': 'c9' },
            annotations: { 'conversion.cluster.x-k8s.io/cluster-name-label-set': 'false' },
          },
        },
      ],
    ]),
  )('answer %s', async (_, input, asked, got) => {
    expect(await ask('capi-conversion', input, asked)).toEqual(got)
  })
})

describe('the webhooks and schemas of Cluster API', () => {
  const address = { claimRef: { name: 'web' }, poolRef, address: '10.1.0.1', prefix: 33 }
  test.each(
    table([
      [
        { kind: 'IPAddress', op: 'create', spec: address },
        { accepted: true, messageContains: 'IPv4' },
        { accepted: false, messageContains: 'IPv4' },
      ],
      [
        { kind: 'IPAddress', op: 'create', spec: address },
        { messageContains: 'IPv6' },
        { messageContains: 'spec.prefix: Invalid value: 33: prefix is too large for an IPv4 address' },
      ],
      [
        {
          kind: 'IPAddress',
          op: 'create',
          spec: { ...address, prefix: 32 },
          existingClaimSpec: { poolRef: { ...poolRef, name: 'red' } },
        },
        { accepted: true },
        { accepted: false },
      ],
      [
        { kind: 'IPAddressClaim', op: 'update', spec: { poolRef }, oldSpec: { poolRef } },
        { accepted: false, warnings: null },
        { accepted: true, warnings: [] },
      ],
      [
        { kind: 'IPAddressClaim', op: 'delete', spec: {} },
        { accepted: false, messageContains: '' },
        { accepted: true, messageContains: null },
      ],
      [
        { kind: 'IPAddress', op: 'schema', object: { spec: { ...address, address: '', poolRef: {} } } },
        { valid: true, paths: ['spec.poolRef'] },
        { valid: false, paths: ['spec.poolRef', 'spec.poolRef', 'spec.poolRef', 'spec.address'] },
      ],
      [
        { kind: 'IPAddressClaim', op: 'schema', apiVersion: 'v1beta1', object: {} },
        { valid: false, paths: ['x'] },
        { valid: true, paths: [] },
      ],
    ]),
  )('answer %s', async (_, input, asked, got) => {
    expect(await ask('capi-core-webhooks', input, asked)).toEqual(got)
  })
})

describe('the webhooks of pools', () => {
  const kinds = ['InClusterIPPool', 'GlobalInClusterIPPool']
  const spec = { addresses: ['10.1.0.8-10.1.0.9'], prefix: 24 }
  test.each(
    table([
      [
        { kinds, op: 'create', spec: { ...spec, prefix: 33 } },
        { accepted: true, messageContains: 'nothing of it' },
        {
          accepted: false,
          messageContains:
            'InClusterIPPool.ipam.cluster.x-k8s.io "pool" is invalid: spec.prefix: Invalid value: 33: provided prefix is not valid',
        },
      ],
      [{ kinds, op: 'update', spec, oldSpec: spec, inUse: ['10.1.0.7'] }, { accepted: false }, { accepted: true }],
      [
        { kinds, op: 'update', spec, oldSpec: { ...spec, addresses: ['10.1.0.7'] }, inUse: ['10.1.0.7'] },
        { accepted: true },
        { accepted: false },
      ],
      [
        { kinds, op: 'delete', spec, inUse: [] },
        { accepted: false, warnings: null },
        { accepted: true, warnings: [] },
      ],
      [
        {
          kinds: ['InClusterPrefixPool'],
          op: 'update',
          spec: { prefixes: ['fd00::/60'] },
          inUse: [{ address: 'fd00::', prefix: 64 }],
        },
        { accepted: false, warnings: null },
        { accepted: true, warnings: [] },
      ],
    ]),
  )('answer %s', async (_, input, asked, got) => {
    const answer = await ask(
      'capi-pool-webhooks',
      { ...(input as object), kinds: [(input as { kinds: string[] }).kinds[0]] },
      asked,
    )
    expect(answer).toEqual(got)
    expect(await ask('capi-pool-webhooks', input, { accepted: null })).toEqual({
      accepted: (got as { accepted: boolean }).accepted,
    })
  })
})

describe('the webhook of metal3', () => {
  test.each(
    table([
      [{ function: 'validateCreate', spec: { pools: [{ end: '10.1.0.9' }] } }, { accepted: false }, { accepted: true }],
      [
        {
          function: 'validateUpdate',
          spec: { namePrefix: 'a', pools: [{ end: '10.1.0.8' }] },
          oldSpec: { namePrefix: 'a' },
          allocations: { c: '10.1.0.9' },
        },
        { accepted: true, messageContains: 'in use' },
        { accepted: false, messageContains: 'in use' },
      ],
      [{ function: 'validateDelete', spec: {} }, { accepted: false }, { accepted: true }],
    ]),
  )('answers %s', async (_, input, asked, got) => {
    expect(await ask('capi-metal3', input, asked)).toEqual(got)
  })
})

test.each([
  ['capi-conversion', { from: 'v1alpha1', to: 'v2', spec: {} }],
  ['capi-core-webhooks', { kind: 'IPAddress', op: 'connect', spec: {} }],
  ['capi-pool-webhooks', { kinds: ['Pool'], op: 'create', spec: {} }],
])('%s does not know %j', async (file, input) => {
  expect(await ask(file, input, {})).toMatchObject({ kind: 'unsupported' })
})

describe('the names of whereabouts and of IPAMClaims', () => {
  const poolOf = (more: object) => ({ fn: 'poolName', range: '10.1.0.0/16', ...more })
  test.each(
    table([
      [poolOf({}), { name: '' }, { name: '10.1.0.0-16' }],
      [poolOf({ networkName: 'x', nodeName: 'y' }), { name: '' }, { name: 'x-y-10.1.0.0-16' }],
      [
        poolOf({ networkName: 'X' }),
        { name: '', validKubernetesName: true },
        { name: 'X-10.1.0.0-16', validKubernetesName: false },
      ],
      [{ fn: 'reservationName', ip: 'fd00::', networkName: 'x' }, { name: '' }, { name: 'x-fd00--0' }],
      [{ fn: 'reservationName', ip: 'x' }, { error: true }, { error: true }],
      [
        { fn: 'ipFromReservationName', name: 'x-y-fd00--0' },
        { ip: '', networkName: '' },
        { ip: 'fd00::', networkName: 'x-y' },
      ],
      [
        { fn: 'ipFromReservationName', name: 'x-y' },
        { ip: '', error: false },
        { ip: null, error: true },
      ],
    ]),
  )('answer %s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-naming', input, asked)).toEqual(got)
  })

  test.each(
    table([
      [{ vm: 'A', network: 'b_c' }, { name: '' }, { name: 'a.b.c' }],
      [
        { vm: 'a', network: null },
        { name: '', validSubdomain: false },
        { name: 'a', validSubdomain: true },
      ],
      [{ vm: 'a', network: 'b' }, { collidesWith: 'name: A + _b' }, { collidesWith: 'name: A + _b' }],
      [{ vm: 'a', network: 'b' }, { collidesWith: 'name: 2*a + b' }, { collidesWith: 'a.b' }],
    ]),
  )('answer %s', async (_, input, asked, got) => {
    expect(await ask('persistent-claim-names', input, asked)).toEqual(got)
  })
})
