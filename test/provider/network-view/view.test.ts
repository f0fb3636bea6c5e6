import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type NetworkConflict, type NetworkView, networkView, usedBeforeKnown } from 'ipam-kit/provider/network-view'
import { describe, expect, test } from 'vitest'
import type { NetworkNode } from '../../../src/provider/network-view/view.js'
import { spoil } from '../../architecture/returned-values.js'
import { clusterCIDR, followed, known, node, plain, texts } from './world.js'

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)
const inWords = ({ kind, between }: NetworkConflict) => [kind, ...between.map(({ name }) => name)].join(' ')

describe('ranges', () => {
  test('a range is known before a Node uses it, a proposed one too', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.0.0.0/16'), clusterCIDR('b', '10.1.0.0/16')]
    const view = networkView({ nodes: [], clusterCIDRs, accepted: new Set(['10.0.0.0/16']) })
    expect([names(view.ipv4.active), names(view.ipv4.proposed), known(view)]).toEqual([['a'], ['b'], ['10.0.0.0/15']])
  })

  test('a deleted range is known until its last use, and drained then', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.0.0.0/16', { deleting: true })]
    const used = networkView({ nodes: [node('n', ['10.0.3.0/24'])], clusterCIDRs })
    expect([names(used.ipv4.terminating), used.ipv4.terminating[0]?.users, known(used)]).toEqual([
      ['a'],
      1,
      ['10.0.0.0/16'],
    ])
    const free = networkView({ nodes: [], clusterCIDRs })
    expect([names(free.ipv4.terminating), names(free.ipv4.drained), known(free)]).toEqual([[], ['a'], []])
  })

  test('of a deleted range of both families only the family that is used is known', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.0.0.0/16,fd00::/48', { deleting: true })]
    const view = networkView({ nodes: [node('n', ['fd00::/64'])], clusterCIDRs })
    expect([names(view.ipv4.drained), names(view.ipv6.terminating), known(view)]).toEqual([['a'], ['a'], ['fd00::/48']])
  })

  test('a subnet belongs to each range that contains it, and to none that only overlaps it', () => {
    const clusterCIDRs = [
      clusterCIDR('wide', '10.0.0.0/8'),
      clusterCIDR('b', '10.0.0.0/16'),
      clusterCIDR('a', '10.0.0.0/16', { deleting: true }),
      clusterCIDR('narrow', '10.0.3.0/28'),
    ]
    const view = networkView({ nodes: [node('n', ['10.0.3.0/24'])], clusterCIDRs })
    expect(view.ipv4.inUse[0]?.owners).toEqual(['wide', 'a', 'b'])
    expect(names(view.ipv4.terminating)).toEqual(['a'])
  })

  test('a subnet that is larger than its range is an orphan, and all of it is known', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.0.3.0/25', { deleting: true })]
    const view = networkView({ nodes: [node('n', ['10.0.3.0/24'])], clusterCIDRs })
    expect([view.ipv4.orphans.map((orphan) => orphan.node), known(view)]).toEqual([['n'], ['10.0.3.0/24']])
  })

  test('ranges that no ClusterCIDR configures count as active', () => {
    const source = { apiVersion: 'projectcalico.org/v3', kind: 'IPPool', name: 'blue' }
    const extraCIDRs = [
      { name: '--cluster-cidr', cidrs: ['10.0.0.0/16', 'fd00::/48'] },
      { name: 'blue', cidrs: ['10.1.0.0/16'], source },
    ]
    const view = networkView({ nodes: [node('n', ['10.0.3.0/24'])], clusterCIDRs: [], extraCIDRs })
    expect(view.ipv4.active.map(({ name, source: by, users }) => [name, by, users])).toEqual([
      ['--cluster-cidr', undefined, 1],
      ['blue', source, 0],
    ])
    expect(known(view)).toEqual(['10.0.0.0/15', 'fd00::/48'])
  })
})

describe('conflicts', () => {
  test('are told of Nodes, of Service ranges and of pools', () => {
    const view = networkView({
      nodes: [node('n2', ['10.0.0.0/23']), node('n1', ['10.0.1.0/24']), node('n3', ['10.96.0.0/24'])],
      clusterCIDRs: [clusterCIDR('a', '10.0.0.0/8')],
      serviceCIDRs: ['10.96.0.0/16', { name: 'kubernetes', cidrs: ['10.97.0.0/16', '192.168.0.0/16'] }],
      pools: [{ name: 'InClusterIPPool lab', cidrs: ['10.0.1.128/25'] }],
    })
    expect(view.ipv4.conflicts.map(inWords)).toEqual([
      'node-node n1 n2',
      'node-pool n2 InClusterIPPool lab',
      'node-pool n1 InClusterIPPool lab',
      'node-service n3 10.96.0.0/16',
      'range-pool a InClusterIPPool lab',
      'range-service a 10.96.0.0/16',
      'range-service a kubernetes',
    ])
    expect(known(view)).toEqual(['10.0.0.0/8'])
  })

  test('a Node does not conflict with itself, and a drained range with nothing', () => {
    const view = networkView({
      nodes: [node('n1', ['10.0.0.0/23', '10.0.1.0/24', '10.0.1.0/24'])],
      clusterCIDRs: [clusterCIDR('a', '10.96.0.0/16', { deleting: true })],
      serviceCIDRs: ['10.96.0.0/16'],
    })
    expect(view.ipv4.conflicts).toEqual([])
  })

  test('are listed up to 1,000, and it says that there are more', () => {
    const nodes = Array.from({ length: 60 }, (_, nth) => node(`n${nth}`, ['10.0.0.0/24']))
    const { ipv4 } = networkView({ nodes, clusterCIDRs: [] })
    expect([ipv4.conflicts.length, ipv4.hasMoreConflicts]).toEqual([1000, true])
    const few = networkView({ nodes: nodes.slice(0, 3), clusterCIDRs: [] }).ipv4
    expect([few.conflicts.length, few.hasMoreConflicts]).toEqual([3, false])
  })
})

describe('bad input is a problem of its object, and stops no other one', () => {
  const good = node('good', ['10.0.9.0/24'])
  const problemsOf = (bad: NetworkNode) => {
    const view = networkView({ nodes: [bad, good], clusterCIDRs: [] })
    expect(view.ipv4.inUse.map((subnet) => subnet.node)).toContain('good')
    return [view.problems.map(({ reason }) => reason), known(view).filter((cidr) => cidr !== '10.0.9.0/24')]
  }

  test.each<[string, NetworkNode, string[], string[]]>([
    ['no CIDR', node('n', ['10.0.0.0']), ['MalformedCIDR'], []],
    ['an empty text', node('n', ['']), ['MalformedCIDR'], []],
    ['a good one beside a bad one', node('n', ['x', '10.0.0.0/24']), ['MalformedCIDR'], ['10.0.0.0/24']],
    ['host bits', node('n', ['10.0.0.7/24']), ['HostBits'], ['10.0.0.0/24']],
    ['leading zeros, as Kubernetes reads them', node('n', ['010.0.0.0/24']), [], ['10.0.0.0/24']],
    [
      'three entries',
      node('n', ['10.0.0.0/24', 'fd00::/64', 'fd01::/64']),
      ['TooManyPodCIDRs', 'SameFamily'],
      ['10.0.0.0/24', 'fd00::/64', 'fd01::/64'],
    ],
    ['two of one family', node('n', ['10.0.0.0/24', '10.0.2.0/24']), ['SameFamily'], ['10.0.0.0/24', '10.0.2.0/24']],
    [
      'podCIDR unlike podCIDRs[0]',
      node('n', ['10.0.0.0/24'], { podCIDR: '10.0.2.0/24' }),
      ['SameFamily', 'PodCIDRMismatch'],
      ['10.0.0.0/24', '10.0.2.0/24'],
    ],
    ['podCIDR alone', node('n', [], { podCIDR: '10.0.0.0/24' }), [], ['10.0.0.0/24']],
    ['no spec', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } } as unknown as NetworkNode, [], []],
    [
      'podCIDRs that are no texts',
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { podCIDRs: [7, null] } } as never,
      ['MalformedCIDR', 'MalformedCIDR'],
      [],
    ],
    [
      'a thousand entries',
      node(
        'n',
        Array.from({ length: 1000 }, (_, nth) => `10.1.${nth >> 8}.${nth & 255}/32`),
      ),
      ['TooManyPodCIDRs', 'SameFamily'],
      ['10.1.0.0/23', '10.1.2.0/24', '10.1.3.0/25', '10.1.3.128/26', '10.1.3.192/27', '10.1.3.224/29'],
    ],
  ])('%s', (_, bad, reasons, cidrs) => {
    expect(problemsOf(bad)).toEqual([reasons, cidrs])
  })

  test('more than 64 ranges of one object', () => {
    const cidrs = Array.from({ length: 65 }, (_, nth) => `10.1.0.${nth}/32`)
    const view = networkView({ nodes: [good], clusterCIDRs: [], extraCIDRs: [{ name: 'many', cidrs }] })
    expect([view.problems.map(({ reason }) => reason), known(view)]).toEqual([
      ['TooManyCIDRs'],
      ['10.0.9.0/24', '10.1.0.0/26'],
    ])
  })

  test('ranges that cannot be read', () => {
    const broken = (spec: object) =>
      ({ apiVersion: ClusterCIDR.info.apiVersion, kind: 'ClusterCIDR', metadata: { name: 'b' }, spec }) as ClusterCIDR
    const view = networkView({
      nodes: [good],
      clusterCIDRs: [broken({ ipv4: 'fd00::/64', ipv6: '10.0.0.0/8' }), clusterCIDR('a', '10.0.0.1/16')],
      serviceCIDRs: ['x'],
      pools: [{ name: 'lab', cidrs: ['10.0.0.0/33'] }],
    })
    expect(view.problems.map(({ about, reason }) => `${about} ${reason}`)).toEqual([
      'ClusterCIDR a HostBits',
      'ClusterCIDR b MalformedCIDR',
      'ClusterCIDR b MalformedCIDR',
      'lab MalformedCIDR',
      'serviceCIDR x MalformedCIDR',
    ])
    expect(view.problems[1]?.message).toBe('spec.ipv4: "fd00::/64" is not of IPv4')
    expect(known(view)).toEqual(['10.0.0.0/16'])
  })
})

describe('a summary', () => {
  const clusterCIDRs = [clusterCIDR('a', '10.0.0.0/24,fd00::/64'), clusterCIDR('b', '10.0.3.0/24,fd00:0:0:2::/64')]

  test('covers with few prefixes, and says how many addresses of other networks it adds', () => {
    const view = networkView({ nodes: [], clusterCIDRs })
    const one = view.ipv4.summary(1)
    expect([texts(one.prefixes), one.added]).toEqual([['10.0.0.0/22'], 512n])
    expect([texts(view.ipv6.summary(1).prefixes), view.ipv6.summary(1).added]).toEqual([['fd00::/62'], 2n ** 65n])
    const both = view.summary(3)
    expect([texts(both.prefixes), both.added]).toEqual([['10.0.0.0/22', 'fd00::/64', 'fd00:0:0:2::/64'], 512n])
    expect(view.summary(4).added).toBe(0n)
  })

  test('of nothing has no prefixes', () => {
    expect(networkView({ nodes: [], clusterCIDRs: [] }).summary(1)).toEqual({ prefixes: [], added: 0n })
  })
})

describe('a live view', () => {
  test('answers whether something has changed: not for a heartbeat', () => {
    const live = followed()
    expect(live.set(node('n', ['10.0.0.0/24']))).toBe(true)
    expect(live.set(node('n', ['10.0.0.0/24'], { address: '192.168.0.1', deleting: true }))).toBe(false)
    expect(live.set(node('n', ['10.0.0.0/24'], { podCIDR: '10.0.0.0/24' }))).toBe(false)
    expect(live.delete(Node.info, 'n')).toBe(true)
    expect(live.delete(Node.info, 'n')).toBe(false)
    expect(live.set(clusterCIDR('a', '10.0.0.0/16'))).toBe(true)
    expect(live.set(clusterCIDR('a', '10.0.0.0/16'))).toBe(false)
    expect(live.set(clusterCIDR('a', '10.0.0.0/16', { deleting: true }))).toBe(true)
    expect(live.delete(ClusterCIDR.info, 'a')).toBe(true)
    expect(plain(live.view)).toEqual(plain(networkView({ nodes: [], clusterCIDRs: [] })))
  })

  test('keeps the known set as one object until it changes', () => {
    const live = followed()
    live.set(clusterCIDR('a', '10.0.0.0/16'))
    const { known: before } = live.view
    live.set(node('n', ['10.0.0.0/24']))
    expect(live.view.known).toBe(before)
    live.set(node('m', ['10.1.0.0/24']))
    expect(live.view.known).not.toBe(before)
  })
})

test('a view stays as it is when what it has returned is changed', () => {
  const made = () => {
    const live = followed({
      extraCIDRs: [{ name: 'pods', cidrs: ['10.0.0.0/16', 'fd00::/48'] }],
      serviceCIDRs: ['10.0.9.0/24'],
    })
    for (const [name, ...cidrs] of [
      ['a', '10.0.1.0/24', 'fd00::/64'],
      ['b', '10.0.1.0/24'],
      ['c', '10.0.9.0/24'],
      ['d', '10.7.9.0/24'],
      ['e', 'x'],
    ] as const) {
      live.set(node(name, cidrs))
    }
    for (const [name, deleting] of [
      ['f', true],
      ['g', false],
    ] as const) {
      live.set(clusterCIDR(name, '10.0.0.0/20', { deleting }))
    }
    return live.view
  }
  const all = (view: NetworkView) => [plain(view), view.summary(2), view.ipv4.summary(3), view.ipv6.summary(3)]
  const spoilt = made()
  spoil(all(spoilt))
  for (const family of [spoilt.ipv4, spoilt.ipv6]) {
    spoil([family.active, family.terminating, family.inUse, family.orphans, family.conflicts, family.known])
  }
  spoil([spoilt.problems, spoilt.known])
  expect(all(spoilt)).toEqual(all(made()))
})

test('subnets that are in use before they are known are told', () => {
  const view = networkView({
    nodes: [node('a', ['10.0.0.0/24']), node('b', ['10.1.0.0/24', 'fd00::/64'])],
    clusterCIDRs: [],
  })
  const published = RangeSet.fromPrefixes([Prefix.parse('10.0.0.0/16'), Prefix.parse('10.1.0.0/25')])
  expect(usedBeforeKnown(published, view).map(({ node: name, prefix }) => `${name} ${Prefix.format(prefix)}`)).toEqual([
    'b 10.1.0.0/24',
    'b fd00::/64',
  ])
  expect(usedBeforeKnown(view.known, view)).toEqual([])
})
