import { Prefix } from 'ipam-kit/cidr'
import { defaultClusterCIDR, flagRange, type NodeIPAMFlags, planNodeIPAM, readFlags } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import { DEFAULT_CLUSTER_CIDR } from '../../../src/provider/node-ipam/flags.js'
import { Host } from './host.js'
import { node } from './objects.js'

const DUAL = '10.0.0.0/16,fd00::/48'

function prefixes(...texts: string[]) {
  return texts.map((text) => Prefix.parse(text))
}

describe('readFlags', () => {
  test.each<readonly [string, NodeIPAMFlags, readonly number[]]>([
    ['of one IPv4 range', { clusterCIDR: '10.0.0.0/16' }, [24]],
    ['of one IPv6 range', { clusterCIDR: 'fd00::/48' }, [64]],
    ['of both families, in the order of the flag', { clusterCIDR: 'fd00::/48, 10.0.0.0/16' }, [64, 24]],
    ['that a flag names', { clusterCIDR: '10.0.0.0/16', nodeCIDRMaskSize: 26 }, [26]],
    ['of each family', { clusterCIDR: DUAL, nodeCIDRMaskSizeIPv4: 25, nodeCIDRMaskSizeIPv6: 60 }, [25, 60]],
  ])('lengths of subnets %s', (_, flags, nodeMaskSizes) => {
    expect(readFlags(flags)).toMatchObject({ ok: true, value: { nodeMaskSizes, warnings: [] } })
  })

  test.each<readonly [string, NodeIPAMFlags, string]>([
    ['allocation is off', { allocateNodeCIDRs: false, clusterCIDR: '10.0.0.0/16' }, '--allocate-node-cidrs is false'],
    ['there is no range', {}, '--cluster-cidr names no range'],
    ['a range is no CIDR', { clusterCIDR: '10.0.0.0/16,x' }, '--cluster-cidr: "x" is not a CIDR'],
    ['two ranges are of one family', { clusterCIDR: '10.0.0.0/16,10.1.0.0/16' }, 'names two ranges of IPv4'],
    ['there are three ranges', { clusterCIDR: `${DUAL},10.9.0.0/16` }, 'names 3 ranges, and may name 2'],
    [
      'two service ranges are of one family',
      { clusterCIDR: '10.0.0.0/16', serviceCIDR: '10.1.0.0/16', secondaryServiceCIDR: '10.2.0.0/16' },
      '--service-cluster-ip-range names two ranges of IPv4',
    ],
    ['one length is for both families', { clusterCIDR: DUAL, nodeCIDRMaskSize: 24 }, 'is for one family'],
    [
      'both kinds of lengths are given',
      { clusterCIDR: '10.0.0.0/16', nodeCIDRMaskSize: 24, nodeCIDRMaskSizeIPv6: 64 },
      'exclude each other',
    ],
    ['a subnet is larger than its range', { clusterCIDR: '10.0.0.0/26' }, 'subnets of 10.0.0.0/26 cannot have'],
    ['an IPv6 range has too many subnets', { clusterCIDR: 'fd00::/40' }, 'more than 65,536 subnets'],
  ])('says when %s', (_, flags, problem) => {
    const read = readFlags(flags)
    expect(read.ok ? [] : read.problems).toEqual([expect.stringContaining(problem)])
  })

  test.each<readonly [string, NodeIPAMFlags, string]>([
    ['a service range that is no CIDR', { serviceCIDR: '10.0.0' }, '"10.0.0" is not a CIDR'],
    ['the length of a family that no range has', { nodeCIDRMaskSizeIPv6: 60 }, '--node-cidr-mask-size-ipv6 is ignored'],
  ])('only warns of %s', (_, flags, warning) => {
    const read = readFlags({ clusterCIDR: '10.0.0.0/16', ...flags })
    expect(read).toMatchObject({ ok: true, value: { warnings: [expect.stringContaining(warning)] } })
  })

  test('clears host bits', () => {
    const read = readFlags({ clusterCIDR: '10.0.3.1/16', serviceCIDR: '10.96.0.1/12' })
    expect(read).toMatchObject({
      ok: true,
      value: { clusterCIDRs: prefixes('10.0.0.0/16'), serviceCIDRs: prefixes('10.96.0.0/12') },
    })
  })
})

describe('a range of flags', () => {
  /** What some Nodes get, which are made one after the other. */
  function given(clusterCIDRs: readonly Prefix[], lengths: readonly number[], serviceCIDRs: readonly Prefix[] = []) {
    const range = flagRange(clusterCIDRs, lengths)
    if (!range.ok) throw new Error(range.problems.join())
    const host = new Host({ range: range.value, serviceCIDRs })
    return host.put(node('n1')).put(node('n2'))
  }

  test('gives one subnet of each, in the order of the flag', () => {
    expect(given(prefixes('fd00::/112', '10.0.0.0/16'), [120, 24]).subnets).toEqual({
      n1: ['fd00::/120', '10.0.0.0/24'],
      n2: ['fd00::100/120', '10.0.1.0/24'],
    })
  })

  test('gives no part of a service range', () => {
    const { subnets } = given(prefixes('10.0.0.0/22'), [24], prefixes('10.0.1.16/28', 'fd00::/112'))
    expect(subnets).toEqual({ n1: ['10.0.0.0/24'], n2: ['10.0.2.0/24'] })
  })

  test('gives what was released last, also after the last subnet', () => {
    const host = given(prefixes('10.0.0.0/22'), [24]).delete('Node n1').put(node('n3')).put(node('n4')).put(node('n5'))
    expect(host.subnets).toEqual({
      n2: ['10.0.1.0/24'],
      n3: ['10.0.2.0/24'],
      n4: ['10.0.3.0/24'],
      n5: ['10.0.0.0/24'],
    })
  })

  test('reports a Node outside of it, where kube-controller-manager does not start', () => {
    const host = given(prefixes('10.0.0.0/22'), [24])
    host
      .put(node('n3', { podCIDRs: ['10.9.0.0/24'] }))
      .restart()
      .put(node('n4'))
    expect(host.outcome('Node n3')?.kind).toBe('notOwned')
    expect(host.subnets.n4).toEqual(['10.0.2.0/24'])
  })

  test.each<readonly [string, readonly Prefix[], readonly number[], string]>([
    ['no range', [], [], 'there is no range'],
    ['no length', prefixes('10.0.0.0/16'), [], 'the length undefined'],
    ['a length that is none', prefixes('10.0.0.0/16'), [24.5], 'the length 24.5'],
    ['a subnet larger than its range', prefixes('10.0.0.0/24'), [16], 'the length 16'],
    ['a length beyond the family', prefixes('10.0.0.0/16'), [33], 'the length 33'],
    ['too many IPv6 subnets', prefixes('2000::/10'), [98], 'more than 65,536'],
    ['ranges that overlap', prefixes('10.0.0.0/8', '10.1.0.0/16'), [24, 24], 'overlap'],
  ])('refuses %s', (_, ranges, lengths, problem) => {
    const range = flagRange(ranges, lengths)
    expect(range.ok ? [] : range.problems).toContainEqual(expect.stringContaining(problem))
  })
})

describe('defaultClusterCIDR', () => {
  test.each<readonly [readonly string[], readonly number[], number | undefined]>([
    [['192.168.0.0/16'], [24], 8],
    [['10.0.0.0/16'], [30], 4],
    [['10.0.0.0/16', 'fd00::/112'], [24, 120], 8],
    [['10.0.0.0/16', 'fd00::/112'], [24, 122], 6],
    [['10.0.0.0/16', 'fd00::/112'], [30, 120], 8],
    [['fd00::/112', '10.0.0.0/16'], [120, 24], 8],
    [['10.0.0.0/16', 'fd00::/112'], [30, 126], undefined],
    [['10.0.0.0/16', 'fd00::/48'], [28, 64], 4],
    // fewer addresses than a subnet has at least
    [['10.0.0.0/30'], [31], undefined],
    [['10.0.0.0/16', '10.1.0.0/16'], [24, 24], undefined],
    [[], [], undefined],
  ])('%j in subnets of %j', (texts, nodeMaskSizes, perNodeHostBits) => {
    const spec = defaultClusterCIDR({ clusterCIDRs: prefixes(...texts), nodeMaskSizes })
    expect(spec.ok ? spec.value.perNodeHostBits : undefined).toBe(perNodeHostBits)
    if (!spec.ok) expect(spec.problems).not.toEqual([])
  })

  test('is made if there is none, and not again', () => {
    const spec = { perNodeHostBits: 8, ipv4: '10.0.0.0/16' }
    const host = new Host({ defaultClusterCIDR: spec }).put(node('n1'))
    expect(host.objects.get(`ClusterCIDR ${DEFAULT_CLUSTER_CIDR}`)).toMatchObject({
      metadata: { finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'] },
      spec,
    })
    expect(host.put(node('n2')).subnets).toEqual({ n1: ['10.0.0.0/24'], n2: ['10.0.1.0/24'] })
    const creates = planNodeIPAM({ nodes: [], defaultClusterCIDR: spec, nowMs: 0 })
    expect(creates.map(({ plan }) => plan.effects.map(({ kind }) => kind))).toEqual([['create']])
  })
})
