import { Prefix } from 'ipam-kit/cidr'
import { planNodeIPAM } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import type { NodeIPAMInput } from '../../../src/provider/node-ipam/plan.js'
import { node, range, selects } from './objects.js'

/** What each Node gets: its subnets, or the kind of the outcome. */
function plannedNodes(input: Omit<NodeIPAMInput, 'nowMs'>) {
  const decisions = planNodeIPAM({ ...input, nowMs: 0 }).filter(({ key }) => key.startsWith('Node '))
  return Object.fromEntries(
    decisions.map(({ key, plan: { outcome } }) => [
      key.slice('Node '.length),
      outcome.kind === 'assigned' ? outcome.choice.subnets.map(Prefix.format) : outcome.kind,
    ]),
  )
}

describe('planNodeIPAM', () => {
  test('gives Nodes subnets of both families of one range, the oldest Node first', () => {
    const clusterCIDRs = [range('a', { ipv4: '10.0.0.0/16', ipv6: 'fd00::/112' })]
    expect(plannedNodes({ nodes: [node('n1'), node('n2')], clusterCIDRs })).toEqual({
      n1: ['10.0.0.0/24', 'fd00::/120'],
      n2: ['10.0.1.0/24', 'fd00::100/120'],
    })
  })

  test('gives all families of a range or none', () => {
    const clusterCIDRs = [range('a', { ipv4: '10.0.0.0/16', ipv6: 'fd00::/120' })]
    expect(plannedNodes({ nodes: [node('n1'), node('n2')], clusterCIDRs })).toEqual({
      n1: ['10.0.0.0/24', 'fd00::/120'],
      n2: 'waiting',
    })
  })

  test('gives no part of a service range', () => {
    const clusterCIDRs = [range('a', { ipv4: '10.0.0.0/22' })]
    const serviceCIDRs = [Prefix.parse('10.0.0.128/25'), Prefix.parse('fd00::/108')]
    expect(plannedNodes({ nodes: [node('n1')], clusterCIDRs, serviceCIDRs })).toEqual({ n1: ['10.0.1.0/24'] })
  })

  test('does not patch a Node that has subnets, and patches both fields of another one at once', () => {
    const clusterCIDRs = [range('a', { ipv4: '10.0.0.0/22', nodeSelector: selects({ zone: 'a' }) })]
    const nodes = [node('n1', { podCIDRs: ['10.0.2.0/24'] }), node('n2', { labels: { zone: 'a' } })]
    const effects = planNodeIPAM({ nodes, clusterCIDRs, nowMs: 0 }).flatMap(({ plan }) => plan.effects)
    expect(effects).toEqual([
      {
        kind: 'patch',
        ref: { apiVersion: 'v1', kind: 'Node', name: 'n2' },
        if: { uid: 'uid n2', fields: { 'spec.podCIDRs': null } },
        patch: [
          { op: 'add', path: '/spec/podCIDR', value: '10.0.0.0/24' },
          { op: 'add', path: '/spec/podCIDRs', value: ['10.0.0.0/24'] },
        ],
        why: expect.stringContaining('a'),
      },
    ])
  })
})
