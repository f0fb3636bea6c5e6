import { Prefix, RangeSet } from 'ipam-kit/cidr'
import {
  type NetworkView,
  networkView,
  type Rendered,
  renderCalico,
  renderCilium,
  renderFlannel,
  renderIpMasqAgent,
  renderKindnet,
  renderKubeProxy,
  renderNetworkPolicy,
} from 'ipam-kit/provider/network-view'
import { describe, expect, test } from 'vitest'
import type { Loss } from '../../../src/provider/network-view/loss.js'
import { clusterCIDR, node } from './world.js'

const views: { readonly [name: string]: NetworkView } = {
  nothing: networkView({ nodes: [], clusterCIDRs: [] }),
  one: networkView({ nodes: [], clusterCIDRs: [clusterCIDR('a', '10.0.0.0/16,fd00::/48')] }),
  // two active ranges, one that is deleted and in use, one that is drained, and an orphan that is
  // smaller than a block
  many: networkView({
    nodes: [node('n1', ['10.4.3.0/24', 'fd00:0:4::/64']), node('n2', ['172.16.0.16/28', 'fd00:9::/124'])],
    clusterCIDRs: [
      clusterCIDR('a', '10.0.0.0/16,fd00::/48'),
      clusterCIDR('b', '10.1.0.0/16,fd00:0:2::/48'),
      clusterCIDR('old', '10.4.0.0/16,fd00:0:4::/48', { deleting: true }),
      clusterCIDR('gone', '10.9.0.0/16', { deleting: true }),
    ],
  }),
  hundred: networkView({
    nodes: [],
    clusterCIDRs: Array.from({ length: 100 }, (_, nth) => clusterCIDR(`c${nth}`, `10.${nth}.0.0/17`)),
  }),
}

const renderers: { readonly [name: string]: (view: NetworkView) => Rendered<unknown> } = {
  'kube-proxy': renderKubeProxy,
  flannel: renderFlannel,
  'ip-masq-agent': renderIpMasqAgent,
  kindnet: renderKindnet,
  calico: renderCalico,
  cilium: (view) => renderCilium(view, { maskSizes: { ipv4: 24, ipv6: 120 } }),
  'network-policy': renderNetworkPolicy,
}

const text = ({ kind, addresses, message }: Loss) => ({
  kind,
  addresses: RangeSet.format(addresses),
  message,
})

describe.each(Object.entries(renderers))('%s', (consumer, render) => {
  test.each(['one', 'many', 'nothing'])('%s', async (name) => {
    const { content, lost } = render(views[name]!)
    const page = JSON.stringify({ content, lost: lost.map(text) }, undefined, 2)
    await expect(`${page}\n`).toMatchFileSnapshot(`__snapshots__/${consumer}-${name}.json`)
  })

  test.each(Object.keys(views))('%s as JSON is readable', (name) => {
    const { lost } = render(views[name]!)
    const shown = JSON.parse(JSON.stringify(lost)) as { readonly addresses: { v4: string[]; v6: string[] } }[]
    expect(shown.map(({ addresses: { v4, v6 } }) => [...v4, ...v6])).toEqual(
      lost.map(({ addresses }) => RangeSet.format(addresses)),
    )
  })

  test.each(Object.keys(views))(
    'what is lost of %s is said: what it is told, and what is missing, is all that is known',
    (name) => {
      const view = views[name]!
      const { content, lost } = render(view)
      const sum = (kind: Loss['kind']) =>
        lost
          .filter((loss) => loss.kind === kind)
          .reduce((set, { addresses }) => RangeSet.union(set, addresses), RangeSet.empty)
      const told = RangeSet.fromPrefixes(cidrsIn(content))
      const exact = RangeSet.union(RangeSet.subtract(told, sum('added')), sum('missing'))
      expect(RangeSet.formatPrefixes(exact)).toEqual(RangeSet.formatPrefixes(view.known))
      expect(RangeSet.overlaps(sum('added'), view.known)).toBe(false)
    },
  )
})

/** All CIDRs in some content. */
function cidrsIn(content: unknown): Prefix[] {
  const words = JSON.stringify(content).split(/[",]/)
  return words.flatMap((word) => {
    const prefix = Prefix.safeParse(word)
    return prefix.ok ? [prefix.value] : []
  })
}

test('ip-masq-agent takes 64 entries, or as many as cidrLimit says', () => {
  const { content, lost } = renderIpMasqAgent(views.hundred!)
  expect([content.nonMasqueradeCIDRs.length <= 64, content.cidrLimit, lost.length]).toEqual([true, undefined, 1])
  const more = renderIpMasqAgent(views.hundred!, { cidrLimit: 100 })
  expect([more.content.nonMasqueradeCIDRs.length, more.content.cidrLimit, more.lost]).toEqual([100, 100, []])
})

test('options that mean nothing', () => {
  expect(() => renderIpMasqAgent(views.one!, { cidrLimit: 1 })).toThrow(/cidrLimit/)
  expect(() => renderCilium(views.one!, { maskSizes: { ipv4: 33 } })).toThrow(/maskSizes.ipv4/)
})

test('options of consumers', () => {
  expect(renderFlannel(views.one!, { backend: { Type: 'host-gw' } }).content.Backend).toEqual({ Type: 'host-gw' })
  expect(renderCalico(views.one!, { natOutgoing: false }).content[0]?.spec.natOutgoing).toBe(false)
  const { content, lost } = renderCilium(views.one!, { name: 'blue', maskSizes: { ipv4: 24 } })
  expect([content.metadata.name, content.spec.ipv6, lost.map(({ kind }) => kind)]).toEqual([
    'blue',
    undefined,
    ['missing'],
  ])
})

describe('limits of consumers', () => {
  const inWords = ({ lost }: Rendered<unknown>) => lost.map(({ kind, message }) => `${kind}: ${message}`)
  const view = (cidrs: readonly string[], nodes: readonly (readonly string[])[] = []) =>
    networkView({
      nodes: nodes.map((podCIDRs, nth) => node(`n${nth}`, podCIDRs)),
      clusterCIDRs: cidrs.map((cidr, nth) => clusterCIDR(`c${nth}`, cidr)),
    })

  test('a range beside another one keeps its pool in Calico, and its CIDR in Cilium, also while it drains', () => {
    const one = clusterCIDR('a', '10.1.0.0/24')
    const two = clusterCIDR('b', '10.1.1.0/24')
    const going = clusterCIDR('b', '10.1.1.0/24', { deleting: true })
    const nodes = [node('n', ['10.1.1.0/26'])]
    const calico = [[one], [one, two], [one, going]].map(
      (clusterCIDRs) =>
        renderCalico(networkView({ nodes: clusterCIDRs.length > 1 ? nodes : [], clusterCIDRs })).content,
    )
    expect(calico.map((pools) => pools.map(({ metadata, spec }) => `${metadata.name} ${spec.cidr}`))).toEqual([
      ['pods-10-1-0-0-24 10.1.0.0/24'],
      ['pods-10-1-0-0-24 10.1.0.0/24', 'pods-10-1-1-0-24 10.1.1.0/24'],
      ['pods-10-1-0-0-24 10.1.0.0/24', 'pods-10-1-1-0-24 10.1.1.0/24'],
    ])
    const draining = renderCilium(networkView({ nodes, clusterCIDRs: [one, going] }), { maskSizes: { ipv4: 26 } })
    expect([draining.content.spec.ipv4?.cidrs, inWords(draining)]).toEqual([
      ['10.1.0.0/24', '10.1.1.0/24'],
      ['setting: Cilium gives Nodes prefixes also of ranges that are not active: 10.1.1.0/24'],
    ])
  })

  test('lists are merged as before', () => {
    const both = view(['10.1.0.0/24', '10.1.1.0/24'])
    expect([
      renderKubeProxy(both).content.clusterCIDR,
      renderIpMasqAgent(both).content.nonMasqueradeCIDRs,
      renderKindnet(both).content.POD_SUBNET,
      renderNetworkPolicy(both).content.map(({ ipBlock }) => ipBlock.cidr),
    ]).toEqual(['10.1.0.0/23', ['10.1.0.0/23'], '10.1.0.0/23', ['10.1.0.0/23']])
  })

  test('a range in another one has no pool in Calico and no CIDR in Cilium: both refuse overlaps', () => {
    const nested = view(['10.0.0.0/8', '10.1.0.0/16', '10.1.0.0/16'])
    const calico = renderCalico(nested)
    expect([calico.content.map(({ spec }) => spec.cidr), inWords(calico)]).toEqual([
      ['10.0.0.0/8'],
      [
        'setting: ranges without a pool, since another range contains them: 10.1.0.0/16; Calico refuses pools that overlap: delete theirs before the other one is created',
      ],
    ])
    const cilium = renderCilium(nested, { maskSizes: { ipv4: 24 } })
    expect([cilium.content.spec.ipv4?.cidrs, cilium.lost.map(({ kind }) => kind)]).toEqual([
      ['10.0.0.0/8'],
      ['setting'],
    ])
  })

  test('a subnet of a Node around ranges takes the object of none away', () => {
    const clusterCIDRs = [clusterCIDR('a', '10.1.0.0/24'), clusterCIDR('b', '10.2.0.0/24')]
    const before = networkView({ nodes: [node('n', ['10.1.0.0/26'])], clusterCIDRs })
    const nodes = [node('n', ['10.1.0.0/26']), node('wrong', ['10.0.0.0/8']), node('beside', ['11.0.0.0/24'])]
    const after = networkView({ nodes, clusterCIDRs })
    const maskSizes = { ipv4: 26 }
    expect(renderCalico(after).content.slice(0, 2)).toEqual(renderCalico(before).content)
    expect(renderCilium(after, { maskSizes }).content.spec.ipv4?.cidrs).toEqual([
      ...(renderCilium(before, { maskSizes }).content.spec.ipv4?.cidrs ?? []),
      '11.0.0.0/24',
    ])
    for (const { lost } of [renderCalico(after), renderCilium(after, { maskSizes })]) {
      expect(lost.map(({ kind }) => kind)).toEqual(['missing'])
      expect(lost[0]!.message).toMatch(/^16776704 addresses .* have a range in them: /)
    }
  })

  test('Cilium takes IPv6 ranges of up to 16 bits above maskSize, and IPv4 ranges of any size', () => {
    const wide = renderCilium(view(['10.0.0.0/8,fd00::/47', 'fd01::/48']), { maskSizes: { ipv4: 32, ipv6: 64 } })
    expect([wide.content.spec.ipv4?.cidrs, wide.content.spec.ipv6?.cidrs]).toEqual([['10.0.0.0/8'], ['fd01::/48']])
    expect(inWords(wide)).toEqual([
      'missing: 2417851639229258349412352 addresses of Pods are not known to the consumer, more than 16 bits wider than a /64: fd00::/47',
    ])
  })

  test('Calico takes no range with link-local addresses', () => {
    const { content, lost } = renderCalico(view(['169.254.8.0/24', '10.0.0.0/16', 'fe80:1::/48', '169.0.0.0/8']))
    expect(content.map(({ spec }) => spec.cidr)).toEqual(['10.0.0.0/16'])
    expect(lost.map(({ kind, addresses }) => [kind, RangeSet.formatPrefixes(addresses)])).toEqual([
      ['missing', ['169.0.0.0/8', 'fe80:1::/48']],
    ])
  })

  test('flannel starts on no Node that lacks a subnet of an enabled family', () => {
    const dual = ['10.0.0.0/16,fd00::/48']
    const v4 = (nth: number) => [`10.0.${nth}.0/24`]
    expect(inWords(renderFlannel(view(dual, [v4(0), ['10.0.1.0/24', 'fd00::/64'], v4(2)])))).toEqual([
      'setting: EnableIPv6 keeps flannel from starting on Nodes without a subnet of IPv6: n0, n2',
    ])
    expect(inWords(renderFlannel(view(dual, [['fd00::/64']])))).toEqual([
      'setting: EnableIPv4 keeps flannel from starting on Nodes without a subnet of IPv4: n0',
    ])
    expect(renderFlannel(view(dual)).lost).toEqual([])
    expect(renderFlannel(view(['10.0.0.0/16'], [v4(0)])).lost).toEqual([])
    const many = Array.from({ length: 40 }, (_, nth) => v4(nth))
    expect(inWords(renderFlannel(view(dual, many)))).toEqual([
      'setting: EnableIPv6 keeps flannel from starting on Nodes without a subnet of IPv6: n0, n1, n2, n3, n4, and more',
    ])
  })

  test('flannel has IPv6 with three backends', () => {
    expect(inWords(renderFlannel(view(['fd00::/48']), { backend: { Type: 'udp' } }))).toEqual([
      'setting: flannel has no IPv6 with the backend udp: use vxlan, host-gw, wireguard',
    ])
    expect(renderFlannel(view(['10.0.0.0/16']), { backend: { Type: 'udp' } }).lost).toEqual([])
  })

  test('an empty view is no configuration that works', () => {
    for (const [consumer, render] of Object.entries(renderers)) {
      const { lost } = render(views.nothing!)
      expect([consumer, lost.map(({ kind }) => kind)]).toEqual([consumer, consumer === 'calico' ? [] : ['setting']])
    }
  })
})
