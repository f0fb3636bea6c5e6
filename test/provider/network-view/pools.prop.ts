import fc from 'fast-check'
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type NetworkView, type Rendered, renderCalico, renderCilium } from 'ipam-kit/provider/network-view'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { clusterCIDR, type Followed, followed, node } from './world.js'

// few places, so that ranges are neighbours of each other, and now and then inside each other
const cidr = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 15 }).map((nth) => `10.1.${nth}.0/24`) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 7 }).map((nth) => `fd00:0:0:${nth.toString(16)}00::/56`) },
  { weight: 1, arbitrary: fc.constantFrom('10.1.0.0/20', '10.1.4.0/22', 'fd00::/48', '169.254.4.0/24') },
  { weight: 1, arbitrary: fc.constantFrom('10.2.0.128/25', 'fe80:0:0:1::/64', 'fd01::/40') },
)
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('range' as const), name, cidr, isDeleted: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('no range' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('node' as const), name, nth: fc.integer({ min: 0, max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('no node' as const), name }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

function apply(live: Followed, each: Step): void {
  if (each.do === 'range') live.set(clusterCIDR(each.name, each.cidr, { deleting: each.isDeleted }))
  else if (each.do === 'no range') live.delete(ClusterCIDR.info, each.name)
  else if (each.do === 'node') live.set(node(each.name, [`10.1.${each.nth}.0/26`]))
  else live.delete(Node.info, each.name)
}

/** The objects of a consumer by the CIDR of each, as text. */
interface Consumer {
  readonly render: (view: NetworkView) => Rendered<unknown>
  readonly objectsOf: (view: NetworkView) => ReadonlyMap<string, string>
}

const cilium = (view: NetworkView) => renderCilium(view, { maskSizes: { ipv4: 26, ipv6: 64 } })
const consumers: { readonly [name: string]: Consumer } = {
  Calico: {
    render: renderCalico,
    objectsOf: (view) => new Map(renderCalico(view).content.map((pool) => [pool.spec.cidr, JSON.stringify(pool)])),
  },
  Cilium: {
    render: cilium,
    objectsOf(view) {
      const { metadata, spec } = cilium(view).content
      const cidrs = [...(spec.ipv4?.cidrs ?? []), ...(spec.ipv6?.cidrs ?? [])]
      return new Map(cidrs.map((each) => [each, metadata.name]))
    },
  },
}

/** All known ranges, and subnets in no range. */
function allIn({ ipv4, ipv6 }: NetworkView): readonly Prefix[] {
  return [ipv4, ipv6].flatMap(({ active, proposed, terminating, orphans }) =>
    [...active, ...proposed, ...terminating, ...orphans].map(({ prefix }) => prefix),
  )
}

/** The CIDRs of those that no other one contains. */
function outermost(view: NetworkView): ReadonlySet<string> {
  const all = allIn(view)
  const isInside = (prefix: Prefix) =>
    all.some((other) => other.length < prefix.length && Prefix.contains(other, prefix))
  return new Set(all.filter((prefix) => !isInside(prefix)).map(Prefix.format))
}

describe.each(Object.entries(consumers))('%s', (_, { render, objectsOf }) => {
  test('the object of a range is never changed by another range that comes, drains or goes', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 30 }), (steps) => {
        const live = followed()
        for (const each of steps) {
          const [had, before] = [outermost(live.view), objectsOf(live.view)]
          apply(live, each)
          const [has, after] = [outermost(live.view), objectsOf(live.view)]
          for (const range of had) if (has.has(range)) expect(after.get(range)).toBe(before.get(range))
        }
      }),
      { numRuns: runs(5) },
    )
  })

  test('objects do not overlap, each is a range as it is configured, and what has none is said', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const live = followed()
        for (const each of steps) apply(live, each)
        const { lost } = render(live.view)
        const prefixes = [...objectsOf(live.view).keys()].map((text) => Prefix.parse(text))
        const configured = allIn(live.view).map(Prefix.format)
        for (const prefix of prefixes) expect(configured).toContain(Prefix.format(prefix))
        const sizes = prefixes.reduce((sum, prefix) => sum + Prefix.size(prefix), 0n)
        const told = RangeSet.fromPrefixes(prefixes)
        expect(RangeSet.size(told)).toBe(sizes)
        const missing = lost.filter(({ kind }) => kind === 'missing').map(({ addresses }) => addresses)
        for (const addresses of missing) expect(RangeSet.overlaps(addresses, told)).toBe(false)
        expect(RangeSet.format(missing.reduce(RangeSet.union, told))).toEqual(RangeSet.format(live.view.known))
      }),
      { numRuns: runs(5) },
    )
  })
})
