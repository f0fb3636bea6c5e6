import { Prefix } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import type { NodeSelector } from '../../../src/crd/core/node-selector.js'
import { Host } from './host.js'
import { node, range, selects } from './objects.js'

const zoneA = { labels: { zone: 'a' } }
const forZoneA = { nodeSelector: selects({ zone: 'a' }) }

/** What is in use, of whichever holder, about to be written too. */
function inUse({ planner }: Host) {
  return planner.entries().map(({ prefix }) => Prefix.format(prefix))
}

describe('what node-ipam-controller does wrong', () => {
  test('D1: the subnet of a Node whose labels match no range any more is given to no other Node, after a restart either', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22', ...forZoneA }), node('n1', zoneA))
    host.change('Node n1', { labels: {} }).restart()
    host.put(node('n2', zoneA))
    expect(host.subnets).toEqual({ n1: ['10.0.0.0/24'], n2: ['10.0.1.0/24'] })
    expect(host.outcome('Node n1')?.kind).toBe('ready')
  })

  test('D2: a ClusterCIDR that is being deleted keeps its finalizer while a Node has a subnet of it, after a restart too', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22', ...forZoneA }), node('n1', zoneA))
    host.delete('ClusterCIDR a').restart()
    expect(host.objects.get('ClusterCIDR a')?.metadata.finalizers).toHaveLength(1)
    expect(host.outcome('ClusterCIDR a')).toMatchObject({ kind: 'blocked', nodes: ['n1'] })
    host.change('Node n1', { labels: {} }).restart()
    expect(host.objects.has('ClusterCIDR a')).toBe(true)
    host.delete('Node n1')
    expect(host.objects.has('ClusterCIDR a')).toBe(false)
  })

  test('D2: a ClusterCIDR whose generation is 2 and that is not being deleted gives subnets after a restart', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' })).change('ClusterCIDR a', { generation: 2 })
    host.restart().put(node('n1'))
    expect(host.subnets).toEqual({ n1: ['10.0.0.0/24'] })
  })

  test('D2: the finalizer of a ClusterCIDR that gives no subnets itself stays while a Node has one of its range', () => {
    const bad = range('a', { ipv4: '10.0.0.0/22', nodeSelector: { nodeSelectorTerms: [] } })
    const host = new Host().put(bad, node('n1', { podCIDRs: ['10.0.1.0/24'] })).delete('ClusterCIDR a')
    expect(host.objects.has('ClusterCIDR a')).toBe(true)
    expect(host.delete('Node n1').objects.has('ClusterCIDR a')).toBe(false)
  })

  test('D3: the subnet of a Node that is being deleted is free only when the Node does not exist', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/24' }), node('n1'))
    host.change('Node n1', { finalizers: ['example.com/hold'] }).delete('Node n1')
    host.put(node('n2')).restart()
    expect(host.subnets).toEqual({ n1: ['10.0.0.0/24'], n2: undefined })
    expect(host.outcome('Node n2')?.kind).toBe('waiting')
    host.change('Node n1', { finalizers: [] }).delete('Node n1')
    expect(host.subnets).toEqual({ n2: ['10.0.0.0/24'] })
  })

  test('D3: a Node that is being deleted and has no subnets gets none', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' }), node('n1', { isDeleting: true }))
    expect(host.subnets).toEqual({ n1: undefined })
    expect(host.outcome('Node n1')?.kind).toBe('deleting')
  })

  test('D4: while IPv6 is full no IPv4 subnet is taken, however often it is tried', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22', ipv6: 'fd00::/120' }))
    host.put(node('n1'), node('n2'))
    for (let i = 0; i < 3; i++) host.retry('Node n2')
    expect(inUse(host)).toEqual(['10.0.0.0/24', 'fd00::/120'])
    host.delete('Node n1')
    expect(host.subnets).toEqual({ n2: ['10.0.1.0/24', 'fd00::/120'] })
  })

  test('D4: of a pair that is half in the range both stay in use by their Node, and by nothing else', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/23', ipv6: 'fd00::/112' }))
    host.put(node('n1', { podCIDRs: ['10.0.0.0/24', 'fd99::/120'] }), node('n2')).restart()
    expect(host.subnets.n2).toEqual(['10.0.1.0/24', 'fd00::/120'])
    expect(host.outcome('Node n1')).toMatchObject({ kind: 'notOwned', message: expect.stringMatching(/: fd99::\/120/) })
    host.delete('Node n1').delete('Node n2')
    expect(inUse(host)).toEqual([])
  })

  test('D5: a Node and a service range of a family that no ClusterCIDR has change nothing for other Nodes', () => {
    const host = new Host({ serviceCIDRs: [Prefix.parse('fd00:1::/112')] })
    host.put(range('a', { ipv4: '10.0.0.0/22' }), node('n1', { podCIDRs: ['fd00::/120'] }), node('n2')).restart()
    expect(host.subnets.n2).toEqual(['10.0.0.0/24'])
    expect(host.outcome('Node n1')?.kind).toBe('notOwned')
  })

  test.each([
    ['without a selector', {}],
    ['with a selector', forZoneA],
  ])('D6: a ClusterCIDR %s that is being deleted gives no subnets', (_, spec) => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22', ...spec }), node('n1', zoneA))
    host.delete('ClusterCIDR a').put(node('n2', zoneA))
    expect(host.restart().subnets).toEqual({ n1: ['10.0.0.0/24'], n2: undefined })
    expect(host.outcome('Node n2')).toMatchObject({ kind: 'waiting', message: expect.stringMatching('deleted: a') })
    host.put(range('b', { ipv4: '10.1.0.0/22' }))
    expect(host.subnets.n2).toEqual(['10.1.0.0/24'])
  })

  test.each([12, 33, -1, 128])(
    'D7: a ClusterCIDR with %d host bits for a /24 gives no subnets, and an Event says why',
    (perNodeHostBits) => {
      const host = new Host().put(
        range('a', { ipv4: '10.0.0.0/24', perNodeHostBits }),
        range('b', { ipv4: '10.1.0.0/24' }),
      )
      host.put(node('n1'))
      expect(host.subnets).toEqual({ n1: ['10.1.0.0/24'] })
      expect(host.told).toEqual(['a InvalidClusterCIDR'])
      expect(host.events[0]?.message).toContain(`spec.perNodeHostBits is ${perNodeHostBits}, and has to be from 0 to 8`)
    },
  )

  test('D8: an Event tells of subnets in no range, and one each of two Nodes with one subnet', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' }))
    host.put(node('n1', { podCIDRs: ['192.168.0.0/24'] }), node('n2', { podCIDRs: ['10.0.1.0/24'] }))
    host.put(node('n3', { podCIDRs: ['10.0.1.0/25'] }))
    expect(host.told).toEqual(['n1 CIDRNotOwned', 'n3 CIDRConflict', 'n2 CIDRConflict'])
    const problem = { reason: 'CIDRConflict', subnets: [Prefix.parse('10.0.1.0/25')] }
    expect(host.outcome('Node n3')).toMatchObject({
      kind: 'conflict',
      message: 'Node n3: 10.0.1.0/25 overlaps 10.0.1.0/24 of Node n2',
      problems: [problem],
    })
  })

  test('D8: of 4,000 Nodes with one subnet each is planned at most three times, and a deletion wakes at most three', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' }))
    for (let nth = 0; nth < 4000; nth++) host.put(node(`n${nth}`, { podCIDRs: ['10.0.1.0/24'] }))
    expect(host.planned).toBeLessThanOrEqual(3 * 4000)
    const before = host.planned
    host.delete('Node n0')
    expect(host.planned - before).toBeLessThanOrEqual(3)
  })

  test('D8: when one of two Nodes with one subnet is deleted, the subnet stays in use by the other one', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/24' }))
    host.put(node('n1', { podCIDRs: ['10.0.0.0/24'] }), node('n2', { podCIDRs: ['10.0.0.0/24'] }), node('n3'))
    host.delete('Node n1')
    expect(host.subnets.n3).toBeUndefined()
    expect(host.outcome('Node n2')?.kind).toBe('ready')
    expect(host.delete('Node n2').subnets).toEqual({ n3: ['10.0.0.0/24'] })
  })
})

describe('what ClusterCIDRs say', () => {
  function subnetsWith(nodeSelector: NodeSelector, labels = {}) {
    return new Host().put(range('a', { ipv4: '10.0.0.0/22', nodeSelector }), node('n1', { labels })).subnets.n1
  }

  test('terms of a selector are ORed, requirements of a term are ANDed', () => {
    const has = (key: string) => ({ key, operator: 'Exists' })
    const nodeSelectorTerms = [{ matchExpressions: [has('a'), has('b')] }, { matchExpressions: [has('c')] }]
    expect(subnetsWith({ nodeSelectorTerms }, { a: '', b: '' })).toBeDefined()
    expect(subnetsWith({ nodeSelectorTerms }, { c: '' })).toBeDefined()
    expect(subnetsWith({ nodeSelectorTerms }, { a: '' })).toBeUndefined()
  })

  test('matchFields are fields of the Node, and no labels', () => {
    const named = (name: string) => ({
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
    })
    expect(subnetsWith(named('n1'))).toBeDefined()
    expect(subnetsWith(named('n2'), { 'metadata.name': 'n2' })).toBeUndefined()
  })

  test('an empty list of terms selects no Node', () => {
    expect(subnetsWith({ nodeSelectorTerms: [] })).toBeUndefined()
    expect(subnetsWith({ nodeSelectorTerms: [{}] })).toBeUndefined()
  })

  test('a ClusterCIDR that comes later gives nothing of a service range', () => {
    const host = new Host({ serviceCIDRs: [Prefix.parse('10.0.0.0/24')] }).put(node('n1'))
    expect(host.put(range('a', { ipv4: '10.0.0.0/22' })).subnets).toEqual({ n1: ['10.0.1.0/24'] })
  })

  test('ranges that overlap never give subnets that do', () => {
    const host = new Host()
    host.put(range('s', { ipv4: '10.244.0.0/16', perNodeHostBits: 7, nodeSelector: selects({ size: 's' }) }))
    host.put(range('l', { ipv4: '10.244.0.0/16', perNodeHostBits: 10, nodeSelector: selects({ size: 'l' }) }))
    for (const [name, size] of Object.entries({ n1: 's', n2: 'l', n3: 's' })) host.put(node(name, { labels: { size } }))
    expect(host.subnets).toEqual({ n1: ['10.244.0.0/25'], n2: ['10.244.4.0/22'], n3: ['10.244.0.128/25'] })
  })

  test('nothing is built by the size of a range: /0 with subnets of one address', () => {
    const host = new Host().put(range('a', { ipv4: '0.0.0.0/0', ipv6: '::/0', perNodeHostBits: 0 }))
    host.put(node('n1'), node('n2'))
    expect(host.subnets).toEqual({ n1: ['0.0.0.0/32', '::/128'], n2: ['0.0.0.1/32', '::1/128'] })
  })
})
