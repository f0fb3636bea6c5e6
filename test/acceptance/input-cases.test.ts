import { describe, expect, test } from 'vitest'
import { adapters } from './adapters/index.js'
import type { Adapter } from './answer.js'

/**
 * The answer of an adapter to an input. `fields` has the function of the files that do not have it
 * in the input.
 */
async function ask(file: string, input: unknown, asked: unknown, fields = {}): Promise<unknown> {
  const answer = await (adapters[file] as Adapter)({ input, expect: asked, fields })
  return answer.kind === 'answered' ? answer.got : answer
}

type Row = readonly [name: string, input: object, got: object]

describe('the allocators of OVN-Kubernetes', () => {
  const file = 'persistent-allocators'
  const bitmap = (...steps: string[]) => ({ op: 'bitmap', strategy: 'contiguous', max: 3, steps })
  const cidr = '10.9.0.0/30'
  const cycle = { op: 'fillReleaseRefill', cidr, release: '10.9.0.1', outOfRange: ['10.8.0.1'], taken: '10.9.0.2' }
  const subnets = { op: 'subnetAllocator', name: 'n', subnets: ['10.9.0.0/30'] }

  test.each<Row>([
    ['steps repeated in words', bitmap('next twice', 'next', 'again'), { ok: [true, true, true, false], count: 3 }],
    ['a step three times', bitmap('next three times', 'release 1 again'), { offsets: [0, 1, 2], count: 2 }],
    ['the same step again', bitmap('allocate 1', 'same again'), { ok: [true, false], hasAfterAllocate: true }],
    ['no steps', { ...bitmap(), steps: null }, { ok: [], lastOk: null, hasAfterAllocate: false, hasAtEnd: false }],
    ['no strategy', { op: 'bitmap', strategy: null, max: '3', steps: ['next x4'] }, { count: 3, free: 0 }],
    ['a CIDR that cannot be read', { op: 'fill', cidr: '10.9.0.0' }, { error: true }],
    ['no CIDR', { op: 'reserved', ip: '10.9.0.1' }, { error: true }],
    ['an address that cannot be read', { op: 'reserved', cidr, ip: '10.9.0' }, { error: true }],
    ['no release', { ...cycle, release: null }, { error: true }],
    ['an address to allocate that cannot be read', { op: 'forEach', cidr, allocate: ['x'] }, { error: true }],
    ['nothing outside', { ...cycle, outOfRange: [] }, { outOfRangeError: [], takenError: 'ErrAllocated' }],
    ['a subnet that cannot be read', { ...subnets, subnets: ['10.9'], steps: [] }, { error: true }],
    ['an excluded subnet elsewhere', { ...subnets, excludeSubnets: ['10.8.0.0/30'], steps: [] }, { error: true }],
    [
      'addresses of a step that cannot be read, and none',
      { ...subnets, steps: [{ do: 'allocate', ips: ['x'] }, { do: 'allocate', ips: null }, { do: 'next' }] },
      { results: [{ error: 'any error' }, { ips: [], error: null }, { ips: ['10.9.0.1/30'] }] },
    ],
    [
      'subnets of a step that cannot be read',
      { ...subnets, steps: [{ do: 'configure', subnets: ['10.9.1.0/99'] }, { do: 'next' }] },
      { results: [{ error: 'any error' }, { ips: ['10.9.0.1/30'] }] },
    ],
  ])('%s', async (_, input, got) => {
    expect(await ask(file, input, got)).toEqual(got)
  })
})

describe('the pools of MetalLB', () => {
  const file = 'whereabouts-metallb-pools'
  const pools = { a: { cidrs: ['10.9.0.0/31'], avoidBuggyIPs: null, serviceSelectors: null }, b: null }

  test.each<Row>([
    ['members of a pool that are null', { pools, assign: ['10.9.0.1'] }, { ok: true, pool: 'a' }],
    [
      'entries of a pool that are null',
      { pools: { a: { cidrs: [null, '10.9.0.0/31'] } }, services: 3 },
      { okCount: 2 },
    ],
    ['a pool of nothing', { pools: { a: {} }, services: 1 }, { error: true }],
    ['an address that cannot be read', { pools, assign: ['10.9.0'] }, { ok: false, error: true, pool: null }],
    ['no family', { pools, services: 1, family: null }, { okCount: 1 }],
    [
      'steps that are repeated in words',
      { pools, steps: [['s1', 'get twice', true], ['s2', 'get', true], ['s3', 'get x2', false], 'again'] },
      { all: 'as listed', validSet: ['10.9.0.0', '10.9.0.1'] },
    ],
    ['a step that is null', { pools, steps: [null, ['s1', 'get', true]] }, { all: 'as listed', okCount: 1 }],
    [
      'steps without a Service, an address, ports or a result',
      {
        pools,
        steps: [
          [null, 'get', false],
          ['s1', '10.9', false],
          ['s1', 'get', [null], null, null, true],
          ['s1', null],
        ],
      },
      { all: 'as listed' },
    ],
    ['no steps', { pools, steps: null }, { all: 'as listed', okCount: 0 }],
    ['a holder of nothing readable', { holds: null, ask: 'ipv6' }, { error: true }],
  ])('%s', async (_, input, got) => {
    expect(await ask(file, input, got)).toEqual(got)
  })
})

describe('the allocators of Antrea, Cilium and Kube-OVN', () => {
  const file = 'whereabouts-other-allocators'
  const pool = { v4: ['10.9.0.0/16'], v4Mask: 24 }

  test.each<Row>([
    ['needs that are null', { pool, node2Needs: null }, { node2: [], error: false }],
    ['a need that is null', { pool, node2Needs: { v4: 1, v6: null } }, { node2: ['10.9.0.0/24'] }],
    [
      'claims that are null',
      { pool, node3Claims: [null, '10.9.1.0/24'], node1: ['10.9.2.0/24'] },
      { node3: ['10.9.1.0/24'] },
    ],
    ['a release that is null', { pool, node1: ['10.9.1.0/24'], node1Releases: null }, { node1: ['10.9.1.0/24'] }],
    [
      'members of pools that are null',
      { pools: { a: [null, '10.9.0.0/16'], b: null }, from: 'a', needs: { v4: 1 } },
      { node: ['10.9.0.0/24'] },
    ],
    ['no mask', { pool: 'mars', v4Mask: [] }, { error: false }],
    ['steps that are repeated in words', { op: 'remove v4 twice,again' }, { orphans: 2, error: false }],
    ['a step in two words', { op: 'delete pool x2' }, { orphans: 4 }],
  ])('%s', async (_, input, got) => {
    expect(await ask(file, input, got)).toEqual(got)
  })
})

describe('the consumer of metal3', () => {
  const file = 'consumer-metal3'
  const claim = { addressRef: 'a-1' }
  const address = { name: 'a-1', address: '10.9.0.1', prefix: 24 }
  const found = { requeue: false, error: false, address: { address: '10.9.0.1', prefix: 24 } }
  const capi = 'addressFromClaim (CAPI claim)'

  test.each<readonly [...Row, string]>([
    ['an owner without a name', { owner: { kind: 'Metal3Data', name: '' }, claim, address }, found, capi],
    ['no owner', { owner: null, claim, address }, found, capi],
    ['a pool without a kind', { owner: null, claim, address, poolRef: { name: null } }, found, capi],
    [
      'an owner without a name wants a claim',
      { data: '', pool: null, claim: null },
      { error: false, fetchAgain: true, ownedByData: true },
      'ensureIPClaim',
    ],
    [
      'a claim without a name is not the one',
      { data: 'abc', pool: 'p', claim: {} },
      { error: false, fetchAgain: true, claimName: 'abc-p' },
      'ensureIPClaim',
    ],
    ['a claim without a name is released', { claim: { name: '' } }, { error: false }, 'releaseAddressFromPool'],
    [
      'a pool without a name',
      { ipv4FromPoolRef: { name: null, kind: null }, other: null },
      { error: false, requeue: true },
      'getAddressesFromPool',
    ],
  ])('%s', async (_, input, got, name) => {
    expect(await ask(file, input, got, { function: name })).toEqual(got)
  })
})

describe('the subnets of Nodes', () => {
  const range = { name: 'a', perNodeHostBits: 8, nodeSelector: null, ipv4: '10.9.0.0/22' }
  const clusterCIDRs = [range]
  const first = ['10.9.0.0/24']

  test.each<Row>([
    ['members that are null', { clusterCIDRs, nodes: null, node: 'n1', steps: null, add: null }, { podCIDRs: first }],
    ['a remark', { clusterCIDRs, node: { name: 'n1' }, note: 'the only one' }, { n1: first }],
    [
      'Nodes and subnets that are null',
      { clusterCIDRs, nodes: [null, { name: 'n1', podCIDRs: [null] }] },
      { n1: first },
    ],
    ['no ClusterCIDRs', { clusterCIDRs: null, node: 'n1' }, { n1: 'CIDRNotAvailable', error: 'noneRemaining' }],
    ['a Node as an object', { clusterCIDRs, node: { metadata: { name: 'n1' }, spec: {} } }, { n1: first }],
    ['a Node without a name', { clusterCIDRs, node: { labels: null } }, { podCIDRs: first, from: 'a' }],
    [
      'a ClusterCIDR that says nothing, and one without a name',
      { clusterCIDRs: [{}, { ...range, name: null }], node: 'n1' },
      { podCIDRs: first, valid: false },
    ],
    ['a ClusterCIDR without spec', { clusterCIDR: { metadata: { name: 'b' }, spec: null } }, { accepted: false }],
    ['host bits as text', { clusterCIDR: '10.9.0.0/24', perNodeHostBits: '8' }, { capacity: 1 }],
    ['no host bits', { clusterCIDR: '10.9.0.0/24', perNodeHostBits: null }, { capacity: 256 }],
    ['a subnet that cannot be read', { clusterCIDRs, occupied: ['x'], node: 'n1' }, { podCIDRs: first, orphans: [] }],
    ['a service range that cannot be read', { clusterCIDRs, serviceCIDRs: ['x'], node: 'n1' }, { error: true }],
    [
      'steps that are repeated in words',
      { clusterCIDRs, steps: ['create n1', 'wait twice', 'delete n1', 'and then create n2', 'restart', 'check'] },
      { n1: first, n2: ['10.9.1.0/24'], checks: [{ n1: 'absent', n2: ['10.9.1.0/24'], clusterCIDR: 'present' }] },
    ],
    [
      'steps about objects that are held',
      { clusterCIDRs, steps: ['create n1', 'delete n1 (a finalizer holds it)', 'delete ClusterCIDR', 'check'] },
      { checks: [{ a: 'present with deletionTimestamp', n1: first }] },
    ],
    [
      'steps of both forms',
      {
        clusterCIDRs: [{ ...range, ipv4: '10.9.0.0/24' }],
        steps: [{ allocateFor: 'n1' }, 'create n2', { releaseNode: { podCIDRs: first } }, 'check'],
      },
      { results: [first, null, null, null], n2: first },
    ],
  ])('%s', async (_, input, got) => {
    expect(await ask('nodeipam-multicidr-allocator', input, got)).toEqual(got)
  })

  test.each<Row>([
    ['a list of one', { clusterCIDRs: ['10.9.0.0/22'], nodeMaskSizes: [24], node: 'n1' }, { podCIDRs: first }],
    [
      'no lengths',
      { clusterCIDRs: ['10.9.0.0/22'], nodeMaskSizes: null, node: 'n1' },
      { startsUp: false, error: true },
    ],
    ['a range that cannot be read', { clusterCIDRs: ['x'], nodeMaskSizes: [24] }, { fatal: true, setError: null }],
    [
      'a Node whose subnets cannot be read',
      { clusterCIDRs: ['10.9.0.0/22'], nodeMaskSizes: [24], nodes: [{ name: 'n1', podCIDRs: ['x'] }] },
      { startsUp: false },
    ],
    [
      'subnets of each range',
      {
        clusterCIDRs: ['10.9.0.0/24'],
        nodeMaskSizes: [25],
        alreadyAllocated: [['10.9.0.0/25', null], null],
        node: 'n1',
      },
      { podCIDRs: ['10.9.0.128/25'] },
    ],
    [
      'allocations that wait for a release',
      {
        clusterCIDRs: ['10.9.0.0/24'],
        nodeMaskSizes: [25],
        steps: ['allocate twice', 'allocate', 'release 10.9.0.0/25', 'same again', 'allocate'],
      },
      { results: [['10.9.0.0/25'], ['10.9.0.128/25'], 'error', null, null, ['10.9.0.0/25']] },
    ],
    [
      'flags that are null',
      { clusterCIDR: '10.9.0.0/16', nodeCIDRMaskSize: null },
      { nodeMaskSizes: [24], error: false },
    ],
    ['no flags', { clusterCIDR: null, serviceCIDR: null }, { error: true, nodeMaskSizes: null }],
  ])('of flags: %s', async (_, input, got) => {
    expect(await ask('nodeipam-range-allocator', input, got)).toEqual(got)
  })

  test.each<Row>([
    [
      'members that are null',
      { items: [null, { name: 'a', cidr: '10.9.0.0/16', perNodeHostBits: 8 }] },
      { first: 'a' },
    ],
    ['no items', { items: null }, { first: null, fullOrder: [] }],
    ['more host bits than there are', { items: [{ cidr: '10.9.0.0/24', perNodeHostBits: 9 }] }, { error: true }],
  ])('ranks: %s', async (_, input, got) => {
    expect(await ask('nodeipam-priority', input, got)).toEqual(got)
  })

  test.each<Row>([
    ['a word that is not known', { clusterCIDRs, steps: ['paint n1'] }, { n1: first }],
    ['an object that is not known', { clusterCIDRs, steps: ['delete n9'] }, { n1: first }],
    ['a member that is not known', { clusterCIDRs, node: 'n1', zone: 'x' }, { n1: first }],
  ])('reports %s', async (_, input, got) => {
    expect(await ask('nodeipam-multicidr-allocator', input, got)).toMatchObject({ kind: 'unsupported' })
  })
})

describe('what the library refuses is the result', () => {
  test.each<readonly [string, object, object, string | undefined]>([
    ['whereabouts-calico-blocks', { block: null, allocations: [] }, { error: true }, undefined],
    ['whereabouts-allocate', { range: '10.9.0.0/24', reserved: ['x'] }, { error: true }, undefined],
    [
      'consumer-metal3',
      { owner: null, claim: { finalizers: ['x!'] } },
      { error: true },
      'addressFromClaim (CAPI claim)',
    ],
    ['consumer-harvester', { available: '2', ops: [['reserve', '', '10.9.0.1'], null] }, { error: true }, 'reserve'],
    ['consumer-harvester', { subnet: null, rangeStart: null }, { error: true }, 'makeRange'],
    ['whereabouts-metallb-pools', { before: null, held: { s1: 'x' }, after: null }, { error: true }, undefined],
  ])('%s', async (...[file, input, got, name]) => {
    expect(await ask(file, input, got, name === undefined ? {} : { function: name })).toEqual(got)
  })
})

describe('steps that are repeated in words', () => {
  test.each<readonly [string, object, object]>([
    [
      'nodeipam-cidrset',
      { clusterCIDR: '10.9.0.0/16', subnetPrefix: 24, steps: ['allocate three times', 'again'] },
      { allocated: '10.9.5.0/24' },
    ],
    ['nodeipam-service-ipallocator', { cidr: '10.9.0.0/28', steps: ['allocateNext twice', 'same again'] }, { used: 4 }],
  ])('%s', async (file, input, got) => {
    expect(await ask(file, input, got)).toEqual(got)
  })
})

describe('a member that no adapter reads makes a case unsupported', () => {
  test.each<readonly [string, object, string | undefined]>([
    ['whereabouts-metallb-pools', { pools: { a: { cidrs: ['10.9.0.0/31'], colour: 'blue' } }, services: 1 }, undefined],
    [
      'whereabouts-calico-blocks',
      { block: '10.9.0.0/30', allocations: [{ ordinals: [0], colour: 'blue' }] },
      undefined,
    ],
    ['consumer-harvester', { subnet: '10.9.0.0/30', rangeStart: null, colour: 'blue' }, 'makeRange'],
    ['consumer-proxmox', { vm: null, status: {}, resolved: [], colour: 'blue' }, 'recoverStatus'],
  ])('%s', async (file, input, name) => {
    const answer = await ask(file, input, { error: true }, name === undefined ? {} : { function: name })
    expect(answer).toMatchObject({ kind: 'unsupported', what: expect.stringContaining('colour') })
  })
})

describe('floating IPs of a pool', () => {
  const listed = ['203.0.113.10', '203.0.113.11']
  const input = (outside: readonly object[]) => ({
    pool: {
      ...{ name: 'blue', namespace: 'team-a', uid: 'uid-blue' },
      spec: { reclaimPolicy: 'Delete', preAllocatedFloatingIPs: listed, maxIPs: 0 },
    },
    claims: [{ name: 'c1' }],
    addresses: [],
    outside,
  })

  test.each<readonly [string, object, object]>([
    ['free', { ip: '203.0.113.10' }, { c1: '203.0.113.10' }],
    ['attached to a machine', { ip: '203.0.113.10', attachedTo: 'vm-9' }, { c1: '203.0.113.11' }],
    ['attached to a port', { ip: '203.0.113.10', port: 'port-9' }, { c1: '203.0.113.11' }],
  ])('one that is %s', async (_, first, bound) => {
    const got = await ask(
      'consumer-capo-fip',
      input([first, { ip: '203.0.113.11' }]),
      { bound },
      { function: 'poolReconcile' },
    )
    expect(got).toEqual({ bound })
  })

  test('a list that has one of them twice gives it once', async () => {
    const [first, second] = [{ ip: '203.0.113.10' }, { ip: '203.0.113.11' }]
    const { pool, ...rest } = input([first, second, first])
    const bound = { c1: '203.0.113.10', c2: '203.0.113.11' }
    const claims = ['c1', 'c2', 'c3'].map((name) => ({ name }))
    const got = await ask('consumer-capo-fip', { pool, ...rest, claims }, { bound }, { function: 'poolReconcile' })
    expect(got).toEqual({ bound })
  })

  test('a pool that ends while a claim waits gives it nothing, and stays until the claim is deleted', async () => {
    const { pool, ...rest } = input([{ ip: '203.0.113.10' }])
    const expected = { bound: {}, claimPhase: { c1: ['Pending', 'PoolNotReady'] }, poolFinalizerRemoved: false }
    const given = { pool: { ...pool, deleting: true }, ...rest }
    expect(await ask('consumer-capo-fip', given, expected, { function: 'poolReconcile' })).toEqual(expected)
  })
})

test('a machine that is not running reports no addresses', async () => {
  const input = { vm: 'stopped', status: {}, resolved: [{ device: 'net0', offset: 0, pool: 'p', address: '10.9.0.1' }] }
  expect(await ask('consumer-proxmox', input, { status: {} }, { function: 'recoverStatus' })).toEqual({ status: {} })
})

describe('blocks of Calico that are larger than ours', () => {
  const file = 'whereabouts-calico-blocks'

  test('a block of 2^12 addresses', async () => {
    const input = { block: '10.9.0.0/20', allocations: [{ ordinals: [0, 1023, 1024, 4095], handle: 'h' }] }
    const got = {
      inUse: ['10.9.0.0', '10.9.3.255', '10.9.4.0', '10.9.15.255'],
      free: 4092,
      left: [0, 1023, 1024, 4095],
    }
    expect(await ask(file, input, got)).toEqual(got)
  })

  test('a pool of such blocks', async () => {
    const got = { blocks: 16, distinct: true, allInsidePool: true }
    expect(await ask(file, { pool: '10.9.0.0/16', blockSize: 20, seed: 'host' }, got)).toEqual(got)
  })
})
