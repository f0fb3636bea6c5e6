import { Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import type { ClusterCIDRSpec } from '../../../src/crd/node-ipam/cluster-cidr.js'
import { Host } from './host.js'
import { node, range } from './objects.js'

const good = range('good', { ipv4: '10.0.0.0/22', ipv6: 'fd00::/112' })

/** What a host says of an object, and that a good Node beside it gets subnets all the same. */
function saidOf(key: string, ...objects: readonly KubeObject[]) {
  const host = new Host({ watchServiceCIDRs: true }).put(...objects, good, node('z'))
  expect(host.subnets.z).toHaveLength(2)
  // what is in use is the same for another process
  const { subnets } = host
  expect(host.restart().subnets).toEqual(subnets)
  const name = key.split(' ')[1]
  const events = host.events.filter(({ about }) => `${about.kind} ${about.name}` === key)
  const reasons = [...new Set(events.map(({ reason }) => reason))]
  const messages = [...new Set(events.map(({ message }) => message))]
  for (const message of messages) expect(message).toContain(name)
  return { reasons, text: messages.join('; '), kind: host.outcome(key)?.kind, host }
}

describe('bad podCIDRs', () => {
  test.each<readonly [string, readonly string[], string]>([
    ['do not parse', ['10.0.0.0'], '"10.0.0.0" in podCIDRs is not a CIDR'],
    ['are empty texts', [''], '"" in podCIDRs is not a CIDR'],
    ['are not aligned', ['10.0.0.7/24'], '"10.0.0.7/24" in podCIDRs has host bits'],
    ['have three entries', ['10.0.0.0/24', 'fd00::/120', '10.0.1.0/24'], 'podCIDRs has 3 entries, and may have 2'],
    ['have two of one family', ['10.0.0.0/24', '10.0.1.0/24'], 'podCIDRs has two entries of one family'],
  ])('that %s', (_, podCIDRs, problem) => {
    const { reasons, text, kind, host } = saidOf('Node bad', node('bad', { podCIDRs }))
    expect(reasons).toEqual(['CIDRConflict'])
    expect(text).toContain(problem)
    expect(kind).toBe('conflict')
    expect(host.subnets.bad).toEqual(podCIDRs)
  })

  // an API server fills either field in from the other one; another store may have one of them
  // alone
  test.each<readonly [string, object, readonly string[], string]>([
    [
      'unlike podCIDRs[0]',
      { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.0.0/24'] },
      ['CIDRConflict'],
      'podCIDR is "10.0.1.0/24", and the first of podCIDRs is "10.0.0.0/24"',
    ],
    ['alone', { podCIDR: '10.0.0.0/24' }, [], ''],
    ['not there', { podCIDRs: ['10.0.0.0/24'] }, [], ''],
  ])('with a podCIDR that is %s', (_, spec, said, problem) => {
    const { reasons, text, host } = saidOf('Node bad', { ...node('bad'), spec })
    expect(reasons).toEqual(said)
    expect(text).toContain(problem)
    // all are in use
    const used = host.planner.entries().filter(({ holder }) => holder.key === 'Node bad')
    expect(used.map(({ prefix }) => Prefix.format(prefix)).sort()).toEqual(
      [...new Set(Object.values(spec).flat() as string[])].sort(),
    )
  })

  test('every subnet that can be read is given to no other Node', () => {
    const podCIDRs = ['10.0.0.9/24', 'x', '10.0.1.0/24', '10.0.2.0/25']
    const { host } = saidOf('Node bad', node('bad', { podCIDRs }))
    expect(host.subnets.z).toEqual(['10.0.3.0/24', 'fd00::/120'])
  })

  test('a Node that is no Node keeps what it says it has', () => {
    const bad = { ...node('bad', { podCIDRs: ['10.0.0.0/24'] }) }
    const labels = { zone: 7 as unknown as string }
    const { kind, host } = saidOf('Node bad', { ...bad, metadata: { ...bad.metadata, labels } })
    expect(kind).toBe('unreadable')
    expect(host.subnets.z).toEqual(['10.0.1.0/24', 'fd00::/120'])
    for (const spec of [null, 'x', { podCIDRs: 7 }, { podCIDR: [] }, { podCIDRs: '10.0.0.0/24' }]) {
      expect(saidOf('Node bad', { ...bad, spec }).host.subnets.z).toBeDefined()
    }
  })

  test('a subnet larger than its range takes all of it, and is in no range', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/16' }))
    host.put(node('bad', { podCIDRs: ['10.0.0.0/8'] }), node('n1'))
    expect(host.told).toEqual(['bad CIDRNotOwned', 'n1 CIDRNotAvailable'])
    expect(host.events[0]?.message).toBe('Node bad: 10.0.0.0/8 in no range')
    expect(host.delete('ClusterCIDR a').objects.has('ClusterCIDR a')).toBe(true)
    expect(host.delete('Node bad').objects.has('ClusterCIDR a')).toBe(false)
  })

  test('a Node that waits is told which Node has all of its range', () => {
    const host = new Host().put(node('wide', { podCIDRs: ['0.0.0.0/0'] }), range('a', { ipv4: '10.0.0.0/16' }))
    host.put(node('n0', { podCIDRs: ['10.0.0.0/24'] }), node('n1'))
    expect(host.events.at(-1)).toMatchObject({
      about: { name: 'n1' },
      message:
        'no free subnets for Node n1 in a (10.0.0.0/16 in /24, all of it in 0.0.0.0/0 of Node wide; subnets in all: 256)',
    })
    expect(host.delete('Node wide').subnets).toEqual({ n0: ['10.0.0.0/24'], n1: ['10.0.1.0/24'] })
  })

  test('a Node in two ranges keeps both of them', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/16' }), range('b', { ipv4: '10.0.0.0/20' }))
    host
      .put(node('n1', { podCIDRs: ['10.0.1.0/24'] }))
      .delete('ClusterCIDR a')
      .delete('ClusterCIDR b')
    expect(host.outcome('Node n1')?.kind).toBe('ready')
    for (const name of ['a', 'b']) expect(host.outcome(`ClusterCIDR ${name}`)).toMatchObject({ nodes: ['n1'] })
    host.delete('Node n1')
    expect([...host.objects.keys()]).toEqual([])
  })
})

describe('bad ClusterCIDRs', () => {
  const selector = (operator: string) => ({ nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator }] }] })

  test.each<readonly [string, Partial<ClusterCIDRSpec>, string]>([
    ['negative host bits', { ipv4: '10.8.0.0/16', perNodeHostBits: -1 }, 'has to be from 0 to 16 for 10.8.0.0/16'],
    ['host bits above the prefix', { ipv4: '10.8.0.0/24', perNodeHostBits: 9 }, 'has to be from 0 to 8'],
    ['128 host bits', { ipv6: 'fd08::/64', perNodeHostBits: 128 }, 'has to be from 0 to 64 for fd08::/64'],
    ['host bits for one family only', { ipv4: '10.8.0.0/24', ipv6: 'fd08::/64', perNodeHostBits: 16 }, '10.8.0.0/24'],
    ['host bits that are no whole number', { ipv4: '10.8.0.0/24', perNodeHostBits: 4.5 }, 'spec.perNodeHostBits'],
    ['a range that is no CIDR', { ipv4: '1000.8.0.0/16' }, 'spec.ipv4 "1000.8.0.0/16" is not an IPv4 CIDR'],
    ['a range of another family', { ipv6: '10.8.0.0/16' }, 'spec.ipv6 "10.8.0.0/16" is not an IPv6 CIDR'],
    ['no range', {}, 'spec has neither ipv4 nor ipv6'],
    ['empty ranges', { ipv4: '', ipv6: '' }, 'spec has neither ipv4 nor ipv6'],
    ['an unknown operator', { ipv4: '10.8.0.0/16', nodeSelector: selector('Near') }, 'Near'],
    ['an operator without its values', { ipv4: '10.8.0.0/16', nodeSelector: selector('In') }, 'values'],
    ['no terms', { ipv4: '10.8.0.0/16', nodeSelector: { nodeSelectorTerms: [] } }, 'spec.nodeSelector'],
  ])('%s', (_, spec, problem) => {
    const { reasons, text, kind } = saidOf('ClusterCIDR bad', range('bad', spec))
    expect(reasons).toEqual(['InvalidClusterCIDR'])
    expect(text).toContain('ClusterCIDR bad gives no subnets: ')
    expect(text).toContain(problem)
    expect(kind).toBe('invalid')
  })

  test.each([undefined, null, 'x', 7, [], { perNodeHostBits: '8', ipv4: '10.8.0.0/16' }, { nodeSelector: 'x' }])(
    'spec %j',
    (spec) => {
      const { reasons, kind } = saidOf('ClusterCIDR bad', { ...range('bad', {}), spec })
      expect(reasons).toEqual(['InvalidClusterCIDR'])
      expect(kind).toBe('invalid')
    },
  )

  test('one wrong term of a selector selects no Node, the others count, and an Event tells it once', () => {
    const terms = [
      { matchExpressions: [{ key: 'zone', operator: 'Near', values: ['b'] }] },
      { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] },
    ]
    const part = range('part', { ipv4: '10.8.0.0/16', nodeSelector: { nodeSelectorTerms: terms } as never })
    const host = new Host().put(part, node('n1', { labels: { zone: 'a' } }), node('n2', { labels: { zone: 'b' } }))
    expect(host.subnets).toEqual({ n1: ['10.8.0.0/24'], n2: undefined })
    expect(host.outcome('ClusterCIDR part')?.kind).toBe('active')
    const told = () => host.events.filter(({ reason }) => reason === 'InvalidClusterCIDR').map(({ message }) => message)
    expect(told()).toEqual([expect.stringMatching(/^a term of ClusterCIDR part selects no Node: .*Near/)])
    host.change('ClusterCIDR part', { labels: { a: 'b' } })
    expect(told()).toHaveLength(1)
  })

  test('a range that cannot be read stops the other family: a Node keeps what it gets for its life', () => {
    const host = new Host().put(range('bad', { ipv4: '10.8.0.0/16', ipv6: 'fd08::/640' }), node('n1'))
    expect(host.subnets).toEqual({ n1: undefined })
    expect(host.told).toContain('bad InvalidClusterCIDR')
  })

  test('0 host bits are subnets of one address', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/31', perNodeHostBits: 0 }))
    expect(host.put(node('n1'), node('n2')).subnets).toEqual({ n1: ['10.0.0.0/32'], n2: ['10.0.0.1/32'] })
  })

  test('an invalid one that is deleted is kept only while a Node has a subnet of it', () => {
    const bad = range('bad', { ipv4: '10.8.0.0/24', perNodeHostBits: 9 })
    const host = new Host().put(bad, node('n1', { podCIDRs: ['10.8.0.0/24'] }))
    expect(host.outcome('Node n1')?.kind).toBe('ready')
    expect(host.delete('ClusterCIDR bad').outcome('ClusterCIDR bad')).toMatchObject({ kind: 'blocked', nodes: ['n1'] })
    expect(host.delete('Node n1').objects.size).toBe(0)
  })
})

describe('bad service ranges', () => {
  function service(name: string, spec: unknown): KubeObject {
    return { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name, uid: `uid ${name}` }, spec }
  }

  test.each<readonly [string, unknown, string]>([
    ['a range that is no CIDR', { cidrs: ['10.0.0.0'] }, '"10.0.0.0" in spec.cidrs is not a CIDR'],
    ['a range that is no text', { cidrs: [7] }, '"7" in spec.cidrs is not a CIDR'],
    [
      'a range that is an object',
      { cidrs: [{ toString: 1 }] },
      String.raw`"{\"toString\":1}" in spec.cidrs is not a CIDR`,
    ],
    ['no list', { cidrs: 'x' }, '"x" in spec.cidrs is not a CIDR'],
    ['no ranges', { cidrs: [] }, 'spec.cidrs names no range'],
    ['no spec', undefined, 'spec.cidrs names no range'],
  ])('%s', (_, spec, problem) => {
    const { reasons, text, kind } = saidOf('ServiceCIDR bad', service('bad', spec))
    expect(reasons).toEqual(['InvalidServiceCIDR'])
    expect(text).toBe(`ServiceCIDR bad: ${problem}`)
    expect(kind).toBe('invalid')
  })

  test('the ranges that can be read are given to no Node', () => {
    const { host } = saidOf('ServiceCIDR bad', service('bad', { cidrs: ['x', '10.0.0.9/24'] }))
    expect(host.subnets.z).toEqual(['10.0.1.0/24', 'fd00::/120'])
    host.delete('ServiceCIDR bad').put(node('n1'))
    expect(host.subnets.n1).toEqual(['10.0.0.0/24', expect.any(String)])
  })

  test('a service range equal to a ClusterCIDR leaves nothing, and the Node that waits is told so', () => {
    const host = new Host({ serviceCIDRs: [Prefix.parse('10.0.0.0/16')] }).put(range('a', { ipv4: '10.0.0.0/16' }))
    host.put(node('n1'), node('n2', { podCIDRs: ['10.0.1.0/24'] }))
    expect(host.told).toEqual(['n1 CIDRNotAvailable', 'n2 CIDRConflict'])
    expect(host.events.map(({ message }) => message)).toEqual([
      'no free subnets for Node n1 in a (10.0.0.0/16 in /24, all of it in 10.0.0.0/16 of the service ranges; subnets in all: 256)',
      'Node n2: 10.0.1.0/24 overlaps 10.0.0.0/16 of the service ranges',
    ])
    expect(host.put(range('b', { ipv4: '10.1.0.0/16' })).subnets.n1).toEqual(['10.1.0.0/24'])
  })

  test('a ClusterCIDR in a service range is kept until its last Node is deleted', () => {
    const host = new Host({ serviceCIDRs: [Prefix.parse('10.0.0.0/8')] }).put(range('a', { ipv4: '10.0.0.0/22' }))
    host.put(node('n1', { podCIDRs: ['10.0.0.0/24'] })).delete('ClusterCIDR a')
    expect(host.outcome('ClusterCIDR a')).toMatchObject({ kind: 'blocked', nodes: ['n1'] })
    expect(host.delete('Node n1').objects.size).toBe(0)
  })

  test('a Node in the range of a ServiceCIDR is told which one it is', () => {
    const host = new Host({ watchServiceCIDRs: true }).put(service('kubernetes', { cidrs: ['10.0.0.0/24'] }), good)
    host.put(node('n1', { podCIDRs: ['10.0.0.0/25'] }))
    expect(host.events[0]?.message).toBe('Node n1: 10.0.0.0/25 overlaps 10.0.0.0/24 of ServiceCIDR kubernetes')
    expect(host.delete('ServiceCIDR kubernetes').outcome('Node n1')?.kind).toBe('ready')
  })
})
