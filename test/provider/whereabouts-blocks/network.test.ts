import { RangeSet } from 'ipam-kit/cidr'
import { IPPool, poolSpace } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { type BlockNetwork, poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { networkOf } from './world.js'

function problemsOf(ipam: object, rest: object = {}, use: 'allocate' | 'release' = 'allocate'): readonly string[] {
  const read = readBlockNetwork({ cniVersion: '1.0.0', name: 'lab', ...rest, ipam }, { use })
  return read.ok ? [] : read.failure.context.issues.map(({ path, message }) => `${path}: ${message}`)
}

/** What the binary of upstream does with a configuration: it looks at the IPAM type before all else. */
function upstreamBinary({ ipam }: { readonly ipam: { readonly type: string; readonly datastore?: string } }): string {
  // `datastore` is parsed, and used by nothing
  if (ipam.type === 'whereabouts') return 'allocates from IPPools of whereabouts.cni.cncf.io'
  return `only interested in networks whose IPAM type is 'whereabouts'. This one was: ${ipam.type}`
}

describe('the IPAM type', () => {
  const network = (type: string, more: object = {}) => ({
    cniVersion: '1.0.0',
    name: 'lab',
    ipam: { type, range: '10.0.0.0/24', ...more },
  })

  test('a binary of upstream that is left on a Node refuses a network on blocks, and takes a datastore for nothing', () => {
    expect(upstreamBinary(network('ipam-kit'))).toBe(
      "only interested in networks whose IPAM type is 'whereabouts'. This one was: ipam-kit",
    )
    expect(upstreamBinary(network('whereabouts', { datastore: 'blocks' }))).toMatch(/^allocates from/)
  })

  test('of the two readers exactly one takes a network, as upstream does', () => {
    for (const type of ['ipam-kit', 'whereabouts', 'host-local', '']) {
      expect(readBlockNetwork(network(type)).ok).toBe(type === 'ipam-kit')
      const own = readWhereaboutsConfig(network(type))
      expect(own.ok).toBe(type === 'whereabouts')
    }
    expect(problemsOf({ type: 'whereabouts', range: '10.0.0.0/24' })).toEqual([
      'ipam.type: expected ipam-kit, got whereabouts',
    ])
    const refused = readWhereaboutsConfig(network('ipam-kit'), { rules: 'upstream' })
    expect(!refused.ok && refused.failure.message).toBe(upstreamBinary(network('ipam-kit')))
  })

  test('no datastore makes a network of whereabouts one on blocks', () => {
    expect(readBlockNetwork(network('whereabouts', { datastore: 'blocks' })).ok).toBe(false)
  })

  test('of a list of plugins the first one with this type counts', () => {
    const plugins = [network('whereabouts'), { ...network('ipam-kit'), type: 'macvlan' }]
    const read = readBlockNetwork({ cniVersion: '1.0.0', name: 'chain', plugins })
    expect(read.ok && read.value.config.name).toBe('lab')
  })
})

describe('pools by name', () => {
  test('replace the ranges', () => {
    const network = networkOf({ pools: ['blue', 'blue6'] })
    expect(network).toMatchObject({ pools: ['blue', 'blue6'], config: { ranges: [] } })
    expect(poolsOf(network)).toEqual({ ok: true, value: [] })
  })

  test.each<[object, string]>([
    [{ pools: ['blue'], range: '10.0.0.0/24' }, 'ipam.range: has no effect beside ipam.pools'],
    [{ pools: ['blue'], ipRanges: [{ range: '10.0.0.0/24' }] }, 'ipam.ipRanges: has no effect beside ipam.pools'],
    [{ pools: ['blue'], network_name: 'x' }, 'ipam.network_name: has no effect beside ipam.pools'],
    [{ pools: ['blue', 'blue'] }, 'ipam.pools[1]: names "blue" again'],
    [{ pools: ['Blue'] }, 'ipam.pools[0]: "Blue" is not the name of a pool'],
    [{ pools: 'blue' }, 'ipam.pools: expected a list, got a text'],
  ])('%j is refused', (ipam, problem) => {
    expect(problemsOf({ type: 'ipam-kit', ...ipam })).toContain(problem)
  })
})

describe('what blocks cannot serve is refused', () => {
  test('an IPAMClaim, except for a DEL', () => {
    const rest = { runtimeConfig: { 'ipam-claim-reference': 'vm' } }
    const ipam = { type: 'ipam-kit', range: '10.0.0.0/24' }
    expect(problemsOf(ipam, rest)).toEqual(['ipam-claim-reference: an IPAMClaim (vm) cannot hold addresses of blocks'])
    expect(problemsOf(ipam, rest, 'release')).toEqual([])
  })

  test.each<[object, string]>([
    [
      { ipRanges: [{ range: '10.0.0.0/24' }, { range: '10.0.0.7/24' }] },
      'ranges[1]: has the addresses of ranges[0] again',
    ],
    [
      { range: '10.0.0.0/24', network_name: 'a'.repeat(190) },
      `ranges[0]: the pool of 10.0.0.0/24 would have a name that is invalid or longer than 200 characters: whereabouts.10.0.0.0-24.net.${'a'.repeat(190)}`,
    ],
    [
      {
        range: '10.0.0.0/16',
        exclude: Array.from({ length: 257 }, (_, index) => `10.0.${1 + Math.floor(index / 100)}.${2 * (index % 100)}`),
      },
      'ranges[0]: pool spec is invalid: spec.subnets[0].exclude: Invalid value: 257: a list has at most 256 texts',
    ],
  ])('%#', (ipam, problem) => {
    expect(problemsOf({ type: 'ipam-kit', ...ipam }).map((text) => text.slice(0, 400))).toContain(problem)
  })
})

const specsOf = (network: BlockNetwork, namespace?: string) =>
  unwrap(poolsOf(network, { namespace })).map(({ metadata, spec }) => ({ name: metadata.name, ...spec }))

describe('poolsOf', () => {
  test('one pool for each range, in their order', () => {
    const network = networkOf({
      range: '192.168.2.0/24',
      range_start: '192.168.2.10',
      range_end: '192.168.2.250',
      exclude: ['192.168.2.229/30', '192.168.2.100'],
      gateway: '192.168.2.1',
      ipRanges: [{ range: 'fd00:10::/64' }],
    })
    const rest = { skipEdges: 'auto', order: 'lowest', reuseAfterSeconds: 0, priority: 0, disabled: false }
    expect(specsOf(network)).toEqual([
      {
        name: 'whereabouts.192.168.2.0-24.from-192-168-2-10.to-192-168-2-250',
        domain: 'whereabouts',
        subnets: [
          {
            cidr: '192.168.2.0/24',
            ranges: ['192.168.2.10-192.168.2.250'],
            exclude: ['192.168.2.100', '192.168.2.228-192.168.2.231'],
            gateway: '192.168.2.1',
          },
        ],
        ...rest,
      },
      { name: 'whereabouts.fd00-10---64', domain: 'whereabouts', subnets: [{ cidr: 'fd00:10::/64' }], ...rest },
    ])
  })

  test('is valid, and is what an API server would store', () => {
    const ipam = {
      ipRanges: [
        { range: '10.0.0.0/24', range_start: '10.0.0.9' },
        { range: '::/96', range_end: '::ff' },
      ],
    }
    for (const pool of unwrap(
      poolsOf(networkOf({ ...ipam, node_slice_size: undefined, network_name: 'x' }), { namespace: 'web' }),
    )) {
      expect(IPPool.parse(pool)).toEqual(pool)
      expect(poolSpace(pool.spec).ok).toBe(true)
    }
  })

  test.each<[object, string, string]>([
    [{ range: '10.0.0.0/24' }, 'whereabouts.10.0.0.0-24', 'whereabouts'],
    [{ range: '10.0.0.0/24', network_name: 'blue' }, 'whereabouts.10.0.0.0-24.net.blue', 'whereabouts.net.blue'],
    [
      { range: '10.0.0.0/24', range_start: '10.0.0.9', enable_overlapping_ranges: false },
      'whereabouts.10.0.0.0-24.from-10-0-0-9.own',
      'whereabouts.10.0.0.0-24.own',
    ],
    [
      { range: '10.0.0.0/24', node_slice_size: '/26', network_name: 'blue' },
      'whereabouts.10.0.0.0-24.slices-26.net.blue',
      'whereabouts.slices-26.net.blue',
    ],
    [{ range: '::/96', range_start: '::9', range_end: 'f::' }, 'whereabouts.0---96.from-0--9', 'whereabouts'],
    [{ range: 'fd00::/48', range_end: 'fd00:0:0:1::' }, 'whereabouts.fd00---48.to-fd00-0-0-1--0', 'whereabouts'],
  ])('the names of %j', (ipam, name, domain) => {
    const input = { cniVersion: '1.0.0', name: 'lab', ipam: { type: 'ipam-kit', ...ipam } }
    const network = unwrap(readBlockNetwork(input, { use: 'release' }))
    expect(specsOf(network)[0]).toMatchObject({ name, domain })
  })

  test('node slices are blocks of Nodes, which are not borrowed', () => {
    expect(specsOf(networkOf({ range: '10.0.0.0/24', node_slice_size: '/26' }))[0]).toMatchObject({
      ipv4: { blockPrefixLength: 26 },
      affinity: { by: 'node', borrow: false, maxBlocksPerNode: 1 },
    })
    expect(specsOf(networkOf({ range: '10.0.0.0/16', node_slice_size: '20' }))[0]).toMatchObject({
      ipv4: { blockPrefixLength: 22 },
      affinity: { by: 'node', borrow: false, maxBlocksPerNode: 4 },
    })
    expect(specsOf(networkOf({ range: 'fd00::/56', node_slice_size: '64' }))[0]?.affinity).toEqual({
      by: 'node',
      borrow: false,
    })
  })

  test('pools of one namespace', () => {
    expect(specsOf(networkOf({ range: '10.0.0.0/24' }), 'web')[0]?.namespaceSelector).toEqual({
      matchLabels: { 'kubernetes.io/metadata.name': 'web' },
    })
  })

  test('static addresses and their gateways are not given', () => {
    const addresses = [{ address: '10.0.0.5/24', gateway: '10.0.0.254' }, { address: '10.9.0.5/24' }]
    const [pool] = unwrap(poolsOf(networkOf({ range: '10.0.0.0/24', addresses })))
    expect(RangeSet.format(unwrap(poolSpace(pool!.spec)).given)).toEqual(['10.0.0.1-10.0.0.4', '10.0.0.6-10.0.0.253'])
  })

  test('two excludes in another order make the same pool', () => {
    const of = (...exclude: readonly string[]) => unwrap(poolsOf(networkOf({ range: '10.0.0.0/24', exclude })))
    expect(of('10.0.0.8/30', '10.0.0.64/26')).toEqual(of('10.0.0.64/26', '10.0.0.8-10.0.0.11'))
  })
})
