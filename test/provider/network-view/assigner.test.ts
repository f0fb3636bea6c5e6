import { Pod } from 'ipam-kit/crd/core'
import { assigner } from 'ipam-kit/provider/network-view'
import { describe, expect, test } from 'vitest'
import { clusterCIDR, node } from './world.js'

const pod = (name: string, ip: string, nodeName = 'n1', hostNetwork = false) =>
  Pod.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { nodeName, hostNetwork },
    status: { podIP: ip, podIPs: [{ ip }] },
  })
const pool = { apiVersion: 'projectcalico.org/v3', kind: 'IPPool', name: 'blue' }
const n1 = node('n1', ['10.0.1.0/24'], { address: '192.168.0.1' })
const bare = node('n2', [], { address: '192.168.0.2' })
const flag = [{ name: '--cluster-cidr', cidrs: ['10.0.0.0/16'] }]
const vpc = [{ name: 'vpc', cidrs: ['192.168.0.0/16'] }]
const calico = [{ name: 'blue', cidrs: ['10.7.0.0/16'], source: pool }]

describe('how Pods get their addresses', () => {
  test.each<[string, Partial<Parameters<typeof assigner>[0]>, string]>([
    ['nothing at all', {}, 'Unknown'],
    ['Nodes without anything', { nodes: [bare] }, 'Unknown'],
    ['Nodes with podCIDRs', { nodes: [n1, bare] }, 'NodeCIDRs'],
    ['a ClusterCIDR, and no Node yet', { clusterCIDRs: [clusterCIDR('a', '10.0.0.0/16')] }, 'NodeCIDRs'],
    ['a range, and no Node yet', { extraCIDRs: flag }, 'Unknown'],
    ['a range, and Nodes without podCIDRs', { nodes: [bare], extraCIDRs: flag }, 'ClusterCIDR'],
    ['a range that Nodes have addresses of', { nodes: [bare], extraCIDRs: vpc }, 'Shared'],
    ['Pods in subnets of their Nodes', { nodes: [n1], pods: [pod('a', '10.0.1.7')] }, 'NodeCIDRs'],
    ['podCIDRs that no Pod uses', { nodes: [n1], extraCIDRs: calico, pods: [pod('a', '10.7.0.9')] }, 'ClusterCIDR'],
    [
      'a Pod in the subnet of another Node',
      { nodes: [n1], extraCIDRs: flag, pods: [pod('a', '10.0.1.7', 'n2')] },
      'ClusterCIDR',
    ],
    ['Pods beside Nodes', { nodes: [n1], extraCIDRs: vpc, pods: [pod('a', '192.168.9.9')] }, 'Shared'],
    ['Pods in no range', { nodes: [n1], pods: [pod('a', '172.16.0.1')] }, 'Unknown'],
    [
      'Pods of the network of their Node only',
      { nodes: [n1], pods: [pod('a', '192.168.0.1', 'n1', true)] },
      'NodeCIDRs',
    ],
    ['Pods without a readable address', { nodes: [n1], pods: [pod('a', 'x')] }, 'NodeCIDRs'],
  ])('%s', (_, input, type) => {
    expect(assigner({ nodes: [], clusterCIDRs: [], ...input }).type).toBe(type)
  })

  test('the evidence names what was found, and the references what configures it, each once', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.0.0.0/16,fd00::/48')]
    expect(
      assigner({ nodes: [n1, bare], clusterCIDRs, extraCIDRs: [...calico, ...vpc], pods: [pod('a', '10.0.1.7')] }),
    ).toEqual({
      type: 'NodeCIDRs',
      evidence: [
        'addresses of Pods: 1 in a subnet of their Node, 0 elsewhere in a range, 0 in no range',
        '1 of 2 Nodes have podCIDRs',
        '10.0.0.0/16 is configured by ClusterCIDR a',
        '10.7.0.0/16 is configured by IPPool blue',
        '192.168.0.0/16 is configured by vpc',
        'fd00::/48 is configured by ClusterCIDR a',
        'address 192.168.0.1 of Node n1 is in range 192.168.0.0/16 of vpc',
      ],
      configuredBy: [{ apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', name: 'a' }, pool],
    })
  })

  test('the evidence is short, however many ranges there are', () => {
    const extraCIDRs = [{ name: 'flag', cidrs: Array.from({ length: 50 }, (_, nth) => `10.${nth}.0.0/24`) }]
    const { evidence } = assigner({ nodes: [bare], clusterCIDRs: [], extraCIDRs })
    expect([evidence.length, evidence.at(-1)]).toEqual([7, '45 more ranges are configured'])
  })
})
