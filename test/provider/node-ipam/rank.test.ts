import { Prefix } from 'ipam-kit/cidr'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { compareRanges, rankClusterCIDRs } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import type { ClusterCIDRSpec } from '../../../src/crd/node-ipam/cluster-cidr.js'
import type { RangeOrder, RankedRange } from '../../../src/provider/node-ipam/rank.js'
import { node, range, selects } from './objects.js'

const labels = { a: '1', b: '2', c: '3' }

function order(ranges: readonly ClusterCIDR[], by?: RangeOrder) {
  return rankClusterCIDRs(node('n1', { labels }), ranges, { order: by }).map(({ metadata }) => metadata.name)
}

/** Ranges by name, with what their specs say beside a selector that the Node meets. */
function ranges(specs: { readonly [name: string]: Partial<ClusterCIDRSpec> }) {
  return Object.entries(specs).map(([name, spec]) => range(name, { nodeSelector: selects({ a: '1' }), ...spec }))
}

describe('rankClusterCIDRs', () => {
  test.each<readonly [string, { readonly [name: string]: Partial<ClusterCIDRSpec> }]>([
    [
      'P0: more requirements that the Node meets',
      {
        first: { ipv4: '10.0.0.0/8', nodeSelector: selects({ a: '1', b: '2' }) },
        last: { ipv4: '10.0.0.0/24', nodeSelector: selects({ a: '1' }) },
      },
    ],
    ['P1: fewer subnets', { first: { ipv4: '10.1.0.0/23' }, last: { ipv4: '10.0.0.0/22' } }],
    [
      'P1: of the family that has the fewest',
      { first: { ipv4: '10.0.0.0/8', ipv6: 'fd00::/120' }, last: { ipv4: '10.0.0.0/23' } },
    ],
    [
      'P2: fewer addresses a subnet',
      { first: { ipv4: '10.1.0.0/25', perNodeHostBits: 7 }, last: { ipv4: '10.0.0.0/24' } },
    ],
    [
      'P3: the text of the selector, with its keys in order',
      {
        first: { ipv4: '10.1.0.0/24', nodeSelector: selects({ b: '2', a: '1' }) },
        last: { ipv4: '10.0.0.0/24', nodeSelector: selects({ a: '1', c: '3' }) },
      },
    ],
    ['P4: the prefix', { first: { ipv4: '10.0.0.0/24' }, last: { ipv4: '10.0.1.0/24' } }],
    ['P4: IPv4 if there is any', { first: { ipv4: '10.0.0.0/24', ipv6: 'fd01::/120' }, last: { ipv6: 'fd00::/120' } }],
    [
      'those without a selector last',
      { first: { ipv4: '10.1.0.0/16' }, last: { ipv4: '10.0.0.0/24', nodeSelector: undefined } },
    ],
  ])('%s', (_, specs) => {
    const given = ranges(specs)
    expect(order(given)).toEqual(['first', 'last'])
    expect(order([...given].reverse())).toEqual(['first', 'last'])
  })

  const four = { nine: '9.0.0.0/16', ten: '10.0.0.0/16', two: '10.2.0.0/16', tenten: '10.10.0.0/16' }

  test('prefixes are ordered by address, or by their text as upstream does', () => {
    const given = ranges(Object.fromEntries(Object.entries(four).map(([name, ipv4]) => [name, { ipv4 }])))
    expect(order(given)).toEqual(['nine', 'ten', 'two', 'tenten'])
    expect(order(given, 'upstream')).toEqual(['ten', 'tenten', 'two', 'nine'])
  })

  test('those without a selector are ordered by the same rules, or by their age as upstream does', () => {
    const old = range('old', { ipv4: '10.0.0.0/16' })
    const small = range('small', { ipv4: '10.1.0.0/24' })
    const aged = [old, { ...small, metadata: { ...small.metadata, creationTimestamp: '2026-01-02T00:00:00Z' } }]
    expect(order(aged)).toEqual(['small', 'old'])
    expect(order([...aged].reverse(), 'upstream')).toEqual(['old', 'small'])
  })

  test('ranges that do not select the Node, that are being deleted or cannot be used are left out', () => {
    const given = [
      range('other', { ipv4: '10.0.0.0/24', nodeSelector: selects({ a: '2' }) }),
      range('deleting', { ipv4: '10.1.0.0/24' }, { isDeleting: true }),
      range('invalid', { ipv4: '10.2.0.0/24', perNodeHostBits: 9 }),
      range('empty', { ipv4: '10.3.0.0/24', nodeSelector: { nodeSelectorTerms: [] } }),
      range('good', { ipv4: '10.4.0.0/24' }),
    ]
    expect(order(given)).toEqual(['good'])
  })

  test('of terms that are ORed the largest that the Node meets counts', () => {
    const term = (...keys: string[]) => ({ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) })
    const nodeSelector = { nodeSelectorTerms: [term('x', 'y', 'z'), term('a', 'b', 'c'), term('a')] }
    const given = ranges({
      last: { ipv4: '10.0.0.0/24', nodeSelector: selects({ a: '1', b: '2' }) },
      first: { ipv4: '10.1.0.0/24', nodeSelector },
    })
    expect(order(given)).toEqual(['first', 'last'])
  })
})

describe('compareRanges', () => {
  const base: RankedRange = {
    score: 1,
    capacity: 256n,
    perNodeHostBits: 8,
    selectorText: 'a=1',
    prefix: Prefix.parse('10.2.0.0/16'),
  }
  test.each<readonly [string, Partial<RankedRange>, number]>([
    ['P0', { score: 2, capacity: 512n }, -1],
    ['P1', { capacity: 128n, perNodeHostBits: 9 }, -1],
    ['P2', { perNodeHostBits: 7, selectorText: 'b=1' }, -1],
    ['P3', { selectorText: 'Z=1', prefix: Prefix.parse('10.3.0.0/16') }, -1],
    ['P4', { prefix: Prefix.parse('10.10.0.0/16') }, 1],
    ['nothing', {}, 0],
  ])('decides by %s', (_, change, sign) => {
    expect(Math.sign(compareRanges({ ...base, ...change }, base))).toBe(sign)
    expect(Math.sign(compareRanges(base, { ...base, ...change })) + sign).toBe(0)
  })
})
