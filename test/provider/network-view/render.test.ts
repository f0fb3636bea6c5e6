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
import type { Loss } from '../../../src/provider/network-view/render.js'
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
