import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { isIpamError } from 'ipam-kit/errors'
import {
  boundedName,
  capoServerOf,
  claimsFor,
  type Dialect,
  dialects,
  planClaims,
  protectedBy,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import { newClaim } from '../../../src/provider/consumer/desired.js'
import { dialectOf } from '../../../src/provider/consumer/dialects.js'
import { machine, poolRef } from './world.js'

const CLUSTER = { 'cluster.x-k8s.io/cluster-name': 'blue' }
const owner = machine('vm', { labels: { ...CLUSTER, site: 'b' } })
const devices = [
  { name: 'net0', pools: [poolRef('a')] },
  { name: 'net1', pools: [poolRef('b'), poolRef('c')] },
]

function codeOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return isIpamError(error) ? error.code : error
  }
  return undefined
}

describe('every dialect has its own names', () => {
  test.each([
    ['contract', ['vm-net0-0', 'vm-net1-0', 'vm-net1-1']],
    ['capv', ['vm-0-0', 'vm-1-0', 'vm-1-1']],
    ['proxmox', ['vm-net0-00-inet', 'vm-net1-00-inet', 'vm-net1-01-inet']],
    ['metal3', ['vm-a', 'vm-b', 'vm-c']],
    ['openshift', ['vm-claim-0-0', 'vm-claim-1-0', 'vm-claim-1-1']],
  ] as const)('%s', (naming, names) => {
    expect(claimsFor(owner, devices, naming).map(({ name }) => name)).toEqual(names)
  })

  test('capo has one for a server', () => {
    const [claim, ...others] = claimsFor(machine('worker-abc'), [{ pools: [poolRef('a')] }], 'capo')
    expect([claim?.name, others]).toEqual(['worker-abc-floating-ip-address', []])
    const names = ['worker-abc-floating-ip-address', '-floating-ip-address', 'worker-abc']
    expect(names.map(capoServerOf)).toEqual(['worker-abc', undefined, undefined])
  })

  test('a function brings names of its own, and the contract of Cluster API for the rest', () => {
    const [claim] = claimsFor(owner, [{ pools: [poolRef('a')] }], ({ owner, pool }) => `${pool.name}.${owner}`)
    expect(claim).toMatchObject({ name: 'a.vm', labels: CLUSTER, clusterName: 'blue' })
    expect(claim?.ownerReference).toEqual({
      ...{ apiVersion: 'example.com/v1', kind: 'Machine', name: 'vm', uid: 'uid-vm' },
      ...{ controller: true, blockOwnerDeletion: true },
    })
  })
})

describe('every dialect has its own marks', () => {
  const marks = (naming: keyof typeof dialects) => {
    const claim = newClaim(claimsFor(owner, [{ name: 'net0', pools: [poolRef('a')] }], naming)[0]!)
    const { labels, annotations, finalizers, ownerReferences } = claim.metadata
    const { controller = false, blockOwnerDeletion = false } = ownerReferences![0]!
    return { labels, annotations, finalizers, flags: [controller, blockOwnerDeletion], cluster: claim.spec.clusterName }
  }

  test('as upstream writes them', () => {
    const none = { labels: undefined, annotations: undefined, finalizers: undefined, cluster: undefined }
    expect(marks('capv')).toEqual({
      ...none,
      labels: CLUSTER,
      finalizers: ['vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection'],
      flags: [false, false],
    })
    expect(marks('proxmox')).toEqual({
      ...none,
      labels: CLUSTER,
      annotations: { 'ipam.capmox.cluster.x-k8s.io/pool-ref-counter': '0' },
      flags: [true, true],
    })
    expect(marks('metal3')).toEqual({
      ...none,
      labels: owner.metadata.labels,
      finalizers: ['metal3data.infrastructure.cluster.x-k8s.io'],
      flags: [true, false],
    })
    expect(marks('openshift')).toEqual({
      ...none,
      finalizers: ['machine.openshift.io/ip-claim-protection'],
      flags: [true, true],
    })
    expect(marks('capo')).toEqual({
      ...none,
      labels: CLUSTER,
      finalizers: ['openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim'],
      flags: [false, false],
    })
    expect(marks('contract')).toEqual({ ...none, labels: CLUSTER, cluster: 'blue', flags: [true, true] })
  })

  test('capv labels a machine without a Cluster with an empty name, and the others not at all', () => {
    const lonely = machine()
    expect(claimsFor(lonely, devices, 'capv')[0]?.labels).toEqual({ 'cluster.x-k8s.io/cluster-name': '' })
    expect(claimsFor(lonely, devices, 'proxmox')[0]?.labels).toEqual({})
  })

  test('a pool without a group is the in-cluster one for OpenShift', () => {
    const pools = [{ apiGroup: '', kind: 'InClusterIPPool', name: 'a' }]
    expect(claimsFor(owner, [{ pools }], 'openshift')[0]?.poolRef.apiGroup).toBe('ipam.cluster.x-k8s.io')
    expect(codeOf(() => claimsFor(owner, [{ pools }], 'capv'))).toBe('INVALID_ARGUMENT')
  })

  test('the version of a group is dropped', () => {
    const pools = [{ apiGroup: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', name: 'a' }]
    expect(claimsFor(owner, [{ pools }], 'proxmox')[0]?.poolRef.apiGroup).toBe('ipam.cluster.x-k8s.io')
  })

  test('a request brings labels and annotations of its own, and the option the Cluster', () => {
    const pools = [{ ...poolRef('a'), labels: { zone: 'z' }, annotations: { note: 'n' } }]
    const [claim] = claimsFor(owner, [{ pools }], 'proxmox', { clusterName: 'green' })
    expect(claim?.labels).toEqual({ 'cluster.x-k8s.io/cluster-name': 'green', zone: 'z' })
    expect(claim?.annotations).toEqual({ 'ipam.capmox.cluster.x-k8s.io/pool-ref-counter': '0', note: 'n' })
  })
})

describe('what cannot be named is refused', () => {
  test('two claims of one name: metal3 does not tell kinds of pools, or devices, apart', () => {
    const both = [{ pools: [poolRef('a'), poolRef('a', 'GlobalInClusterIPPool')] }]
    expect(codeOf(() => claimsFor(owner, both, 'metal3'))).toBe('CLAIM_NAME_CONFLICT')
    expect(() => claimsFor(owner, both, 'metal3')).toThrow(
      'two claims named "vm-a": InClusterIPPool a on device 0 and GlobalInClusterIPPool a on device 0',
    )
    const twice = [{ pools: [poolRef('a')] }, { pools: [poolRef('a')] }]
    expect(codeOf(() => claimsFor(owner, twice, 'metal3'))).toBe('CLAIM_NAME_CONFLICT')
    expect(codeOf(() => claimsFor(owner, twice, 'capo'))).toBe('CLAIM_NAME_CONFLICT')
    expect(codeOf(() => claimsFor(owner, twice, 'capv'))).toBeUndefined()
  })

  test('a name of more than 253 characters, and an empty one', () => {
    const longest = machine('m'.repeat(249))
    expect(codeOf(() => claimsFor(longest, devices.slice(0, 1), 'capv'))).toBeUndefined()
    expect(codeOf(() => claimsFor(machine('m'.repeat(250)), devices, 'capv'))).toBe('INVALID_CLAIM_NAME')
    expect(codeOf(() => claimsFor(owner, devices, () => ''))).toBe('INVALID_CLAIM_NAME')
    expect(codeOf(() => claimsFor(owner, devices, () => undefined as unknown as string))).toBe('INVALID_CLAIM_NAME')
    const shortened: Dialect = { ...dialects.capv, claimName: (place) => boundedName(dialects.capv.claimName(place)) }
    expect(claimsFor(machine('m'.repeat(250)), devices, shortened).map(({ name }) => name.length)).toEqual([
      253, 253, 253,
    ])
  })

  test('an owner that was not read from a store, and a dialect that there is not', () => {
    expect(codeOf(() => claimsFor(machine('vm', { uid: '' }), devices, 'capv'))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => claimsFor(machine('vm', { namespace: undefined }), devices, 'capv'))).toBe('INVALID_ARGUMENT')
    expect(codeOf(() => dialectOf('toString' as 'capv'))).toBe('INVALID_ARGUMENT')
  })

  test('a place of Proxmox that is no number', () => {
    const request = (offset: string) => ({
      ...poolRef('a'),
      annotations: { 'ipam.capmox.cluster.x-k8s.io/pool-ref-counter': offset },
    })
    const named = (offset: string) => claimsFor(owner, [{ name: 'net0', pools: [request(offset)] }], 'proxmox')[0]?.name
    expect(named('12')).toBe('vm-net0-12-inet')
    for (const offset of ['x', '', '-1', '1.5']) expect(codeOf(() => named(offset))).toBe('INVALID_ARGUMENT')
  })
})

const everyDialect = Object.keys(dialects) as (keyof typeof dialects)[]

/** What the failure of a call says, with its code. */
function failureOf(call: () => unknown): { readonly code: string; readonly message: string } | undefined {
  try {
    call()
  } catch (error) {
    if (isIpamError(error)) return { code: error.code, message: error.message }
    throw error
  }
  return undefined
}

describe('a pool reference that is not whole is refused, with owner, device and pool', () => {
  const whole = poolRef('lab')
  const broken: readonly [string, unknown][] = [
    ...(['apiGroup', 'kind', 'name'] as const).flatMap((field): [string, unknown][] => [
      [`${field} left out`, { ...whole, [field]: undefined }],
      [`${field} null`, { ...whole, [field]: null }],
      [`${field} empty`, { ...whole, [field]: '' }],
      [`${field} no text`, { ...whole, [field]: 7 }],
      [`${field} that v1beta2 refuses`, { ...whole, [field]: 'a b' }],
      [`${field} too long`, { ...whole, [field]: 'a'.repeat(254) }],
    ]),
    ['no object', null],
    ['left out', undefined],
    ['a text', 'lab'],
  ]
  const rows = everyDialect.flatMap((naming) => broken.map(([what, request]) => ({ naming, what, request })))

  test.each(rows)('$naming: $what', ({ naming, what, request }) => {
    const isDefault = naming === 'openshift' && /^apiGroup (left out|null|empty)$/.test(what)
    const pools = [poolRef('first'), request as typeof whole]
    const call = () =>
      claimsFor(owner, [{ name: 'mgmt', pools }], {
        ...dialects[naming],
        claimName: ({ poolIndex }) => `c-${poolIndex}`,
      })
    const failure = failureOf(call)
    if (isDefault) return expect(failure).toBeUndefined()
    expect(failure?.code).toBe('INVALID_ARGUMENT')
    for (const part of ['Machine default/vm', 'mgmt', 'pools[1]']) expect(failure?.message).toContain(part)
  })

  test.each([null, undefined, 'net0', { name: 'net0' }, { name: 'net0', pools: null }, { name: 7, pools: [] }])(
    'and so is a device that is none: %j',
    (device) => {
      const failure = failureOf(() => claimsFor(owner, [device as never], 'capv'))
      expect(failure?.code).toBe('INVALID_ARGUMENT')
      expect(failure?.message).toContain('Machine default/vm')
    },
  )

  test('before anything is planned, and a release continues', () => {
    const devices = [{ pools: [whole] }, { pools: [{ ...whole, apiGroup: '' }] }]
    const input = { owner, naming: 'capv', devices, claims: [], addresses: [] } as const
    expect(failureOf(() => planClaims(input))?.code).toBe('INVALID_ARGUMENT')
    expect(releasePlan(input).outcome.kind).toBe('released')
  })

  test('a claim that is made of it is one that the API takes', () => {
    for (const naming of everyDialect.filter((name) => name !== 'capo')) {
      for (const claim of claimsFor(owner, devices, naming).map(newClaim)) {
        expect(IPAddressClaim.validate(claim)).toEqual([])
      }
    }
  })
})

describe('a name that no API server takes is refused before anything is planned', () => {
  const names = [
    'vm1-VM Network-0',
    'net_0',
    'VM-0',
    '-a',
    'a-',
    'a..b',
    '.a',
    'a.',
    'a/b',
    'ä',
    'a\n',
    ' a',
    'a'.repeat(254),
    '',
  ]
  const rows = everyDialect.flatMap((naming) => names.map((name) => ({ naming, name })))

  test.each(rows)('$naming: $name', ({ naming, name }) => {
    const own: Dialect = { ...dialects[naming], claimName: () => name }
    const input = { owner, naming: own, devices: [{ pools: [poolRef('a')] }], claims: [], addresses: [] }
    expect(codeOf(() => claimsFor(owner, input.devices, own))).toBe('INVALID_CLAIM_NAME')
    expect(codeOf(() => planClaims(input))).toBe('INVALID_CLAIM_NAME')
    expect(releasePlan(input).outcome.kind).toBe('released')
  })

  test.each(['contract', 'proxmox'] as const)('%s: made of the name of a device', (naming) => {
    for (const name of ['VM Network', 'net_0', 'Net0']) {
      expect(codeOf(() => claimsFor(owner, [{ name, pools: [poolRef('a')] }], naming))).toBe('INVALID_CLAIM_NAME')
    }
  })

  test('and the message says what a name may hold, and whose it is', () => {
    const failure = failureOf(() => claimsFor(owner, [{ name: 'VM Network', pools: [poolRef('a')] }], 'contract'))
    expect(failure?.message).toContain('vm-VM Network-0')
    expect(failure?.message).toContain('lower case')
  })
})

describe('a name that is too long', () => {
  test('is the same for ever: objects are found by it', () => {
    expect(boundedName('m'.repeat(300))).toBe(`${'m'.repeat(236)}-03d77876a4753397`)
    expect(boundedName('a-machine-with-a-long-name-0-1', { maxLength: 26 })).toBe('a-machine-46b5a871d506a9d8')
  })

  test('does not end a part in a dash or a dot', () => {
    expect(boundedName(`${'a'.repeat(8)}.-${'b'.repeat(30)}`, { maxLength: 27 })).toMatch(/^a{8}-[0-9a-f]{16}$/)
  })

  test.each([17, 254, 20.5, Number.NaN])('has no room in %s', (maxLength) => {
    expect(codeOf(() => boundedName('a', { maxLength }))).toBe('INVALID_ARGUMENT')
  })
})

test('a dialect of your own is one of ours with another finalizer', () => {
  const mine = { ...dialects.contract, name: 'mine', ...protectedBy('example.com/ip-claim') }
  const claim = newClaim(claimsFor(owner, devices, mine)[0]!)
  expect(claim.metadata.finalizers).toEqual(['example.com/ip-claim'])
  expect(mine.isMarked(claim)).toBe(true)
  expect(dialects.contract.isMarked(claim)).toBe(false)
})
