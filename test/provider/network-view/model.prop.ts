import fc from 'fast-check'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { networkView, usedBeforeKnown } from 'ipam-kit/provider/network-view'
import { expect, test } from 'vitest'
import type { NamedRanges } from '../../../src/provider/network-view/view.js'
import { isDeep, runs } from '../../setup/depth.js'
import { clusterCIDR, type Followed, followed, known, node, plain } from './world.js'

// 64 addresses of each family, as a bitmap: what is known is found address by address.
const SIZE = 64
const BASES = { 4: Address.parse('10.0.0.0'), 6: Address.parse('fd00::') } as const
type Family = 4 | 6

interface Block {
  readonly family: Family
  /** 2^bits addresses. */
  readonly bits: number
  readonly nth: number
}

const block = fc
  .record({ family: fc.constantFrom<Family>(4, 4, 6), bits: fc.integer({ min: 0, max: 6 }), place: fc.nat(SIZE - 1) })
  .map(({ family, bits, place }): Block => ({ family, bits, nth: place >> bits }))
const smallBlock = block.map(
  (each): Block => (each.bits <= 3 ? each : { ...each, bits: 2, nth: (each.nth << each.bits) >> 2 }),
)

function prefixOf({ family, bits, nth }: Block): Prefix {
  return Prefix.of(Address.add(BASES[family], BigInt(nth << bits)), Address.bitsOf(family) - bits)
}
const cidr = (each: Block) => Prefix.format(prefixOf(each))

const nodeName = fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5')
const rangeName = fc.constantFrom('a', 'b', 'c')
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('node' as const),
      name: nodeName,
      blocks: fc.array(smallBlock, { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('no node' as const), name: nodeName }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('range' as const), name: rangeName, block, deleting: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('no range' as const), name: rangeName }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('configured' as const),
      extra: fc.array(block, { maxLength: 2 }),
      services: fc.array(block, { maxLength: 2 }),
      pools: fc.array(block, { maxLength: 1 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('accepted' as const),
      blocks: fc.option(fc.array(block, { maxLength: 3 }), { nil: undefined }),
    }),
  },
)
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

interface World {
  readonly nodes: Map<string, readonly Block[]>
  readonly ranges: Map<string, { readonly block: Block; readonly deleting: boolean }>
  extra: readonly Block[]
  services: readonly Block[]
  pools: readonly Block[]
  accepted: ReadonlySet<string> | undefined
}

const ROLES = { extra: 'pods', services: 'services', pools: 'pools' } as const
type Option = keyof typeof ROLES

/** Objects of a kind of its own for each option. */
const kindOf = (option: Option) => ({
  apiVersion: 'test/v1',
  kind: option,
  plural: option,
  namespaced: false,
  statusSubresource: false,
})
const sources = (['extra', 'services', 'pools'] as const).map((option) => ({
  kind: kindOf(option),
  role: ROLES[option],
  cidrsOf: ({ spec }: { readonly spec?: unknown }) => (spec as { readonly cidrs: readonly string[] }).cidrs,
}))

const named = (option: Option, blocks: readonly Block[]): NamedRanges[] =>
  blocks.map((each, nth) => {
    const { apiVersion, kind } = kindOf(option)
    const name = `${option}-${nth}`
    return { name, cidrs: [cidr(each)], source: { apiVersion, kind, name } }
  })
const configuredIn = ({ extra, services, pools }: World) => ({
  extraCIDRs: named('extra', extra),
  serviceCIDRs: named('services', services),
  pools: named('pools', pools),
})

/** Replaces the objects that configure ranges. */
function configure(before: World, after: World, live: Followed): void {
  for (const option of ['extra', 'services', 'pools'] as const) {
    for (const { name } of named(option, before[option]).slice(after[option].length)) live.delete(kindOf(option), name)
    for (const { cidrs, source } of named(option, after[option])) {
      const { apiVersion, kind, name } = source!
      live.set({ apiVersion, kind, metadata: { name }, spec: { cidrs } })
    }
  }
}

function network(accepted: ReadonlySet<string> | undefined): ClusterNetwork {
  const { apiVersion, kind } = ClusterNetwork.info
  const source = { kind: 'Flag', name: 'flag' }
  const ranges = [...(accepted ?? [])].map((each) => ({
    cidr: each,
    state: 'Active',
    source,
    proposedAt: '2026-01-01T00:00:00Z',
  }))
  const spec = accepted === undefined ? {} : { consumers: [{ name: 'c' }] }
  return ClusterNetwork.parse({ apiVersion, kind, metadata: { name: 'pods' }, spec, status: { ranges } })
}

/** Changes the world and the view alike. */
function apply(step: Event, world: World, live: Followed): void {
  switch (step.do) {
    case 'node':
      world.nodes.set(step.name, step.blocks)
      live.set(node(step.name, step.blocks.map(cidr)))
      break
    case 'no node':
      world.nodes.delete(step.name)
      live.delete(Node.info, step.name)
      break
    case 'range':
      world.ranges.set(step.name, step)
      live.set(clusterCIDR(step.name, cidr(step.block), { deleting: step.deleting }))
      break
    case 'no range':
      world.ranges.delete(step.name)
      live.delete(ClusterCIDR.info, step.name)
      break
    case 'configured':
      configure(world, { ...world, ...step }, live)
      Object.assign(world, { extra: step.extra, services: step.services, pools: step.pools })
      break
    case 'accepted':
      world.accepted = step.blocks && new Set(step.blocks.map(cidr))
      live.set(network(world.accepted))
  }
}

function rebuild(world: World) {
  return networkView({
    nodes: [...world.nodes].map(([name, blocks]) => node(name, blocks.map(cidr))).reverse(),
    clusterCIDRs: [...world.ranges]
      .map(([name, { block: of, deleting }]) => clusterCIDR(name, cidr(of), { deleting }))
      .reverse(),
    accepted: world.accepted,
    ...configuredIn(world),
  })
}

function placesOf({ bits, nth }: Block): number[] {
  return Array.from({ length: 1 << bits }, (_, offset) => (nth << bits) + offset)
}

/** Which addresses are known, from the rules and nothing else. */
function bitmapOf({ nodes, ranges, extra }: World, family: Family): boolean[] {
  const bits = Array.from({ length: SIZE }, () => false)
  const used = [...nodes.values()].flat().filter((each) => each.family === family)
  const isUsed = (range: Block) => {
    const places = new Set(placesOf(range))
    return used.some((subnet) => placesOf(subnet).every((place) => places.has(place)))
  }
  const live = [...ranges.values()].filter(
    ({ block: of, deleting }) => !deleting || (of.family === family && isUsed(of)),
  )
  const all = [...used, ...live.map(({ block: of }) => of), ...extra].filter((each) => each.family === family)
  for (const place of all.flatMap(placesOf)) bits[place] = true
  return bits
}

/**
 * The fewest prefixes that have exactly some addresses: halves are cut until all of one is in, or
 * nothing.
 */
function fewest(bits: readonly boolean[]): number {
  if (bits.every((bit) => bit)) return 1
  if (!bits.includes(true)) return 0
  const half = bits.length / 2
  return fewest(bits.slice(0, half)) + fewest(bits.slice(half))
}

function emptyWorld(): World {
  return { nodes: new Map(), ranges: new Map(), extra: [], services: [], pools: [], accepted: undefined }
}

test('a view is exact and minimal after each event, has each used subnet, and is what a rebuild makes', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const world = emptyWorld()
      const followedView = followed({ sources })
      const live = followedView.view
      for (const step of events) {
        apply(step, world, followedView)
        for (const family of [4, 6] as const) {
          const bits = bitmapOf(world, family)
          const view = family === 4 ? live.ipv4 : live.ipv6
          const got = bits.map((_, place) => RangeSet.contains(view.known, Address.add(BASES[family], BigInt(place))))
          expect(got).toEqual(bits)
          expect(RangeSet.size(view.known)).toBe(BigInt(bits.filter((bit) => bit).length))
          expect(RangeSet.prefixes(view.known).length).toBe(fewest(bits))
        }
        expect(usedBeforeKnown(live.known, live)).toEqual([])
        const used = [...world.nodes.values()].flat().map(prefixOf)
        expect(used.every((prefix) => RangeSet.contains(live.known, prefix))).toBe(true)
        const whole = rebuild(world)
        expect(plain(live)).toEqual(plain(whole))
        for (const max of [2, 5]) expect(live.summary(max)).toEqual(whole.summary(max))
      }
      expect(known(live)).toEqual(known(rebuild(world)))
    }),
    { numRuns: runs(isDeep ? 10 : 4) },
  )
})

test('two subnets conflict when they have an address in common, each pair once', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const world = emptyWorld()
      const followedView = followed({ sources })
      const live = followedView.view
      for (const step of events) apply(step, world, followedView)
      const meets = (left: Block, right: Block) =>
        left.family === right.family && placesOf(left).some((place) => placesOf(right).includes(place))
      const owners = [...world.nodes].flatMap(([name, blocks]) =>
        [...new Map(blocks.map((each) => [cidr(each), each])).values()].map((each) => ({ name, each })),
      )
      const pairs = owners.flatMap((left) =>
        owners
          .filter((right) => left.name < right.name && meets(left.each, right.each))
          .map((right) => [left, right].map(({ name, each }) => `${name} ${cidr(each)}`)),
      )
      const told = [live.ipv4, live.ipv6].flatMap(({ conflicts }) =>
        conflicts
          .filter(({ kind }) => kind === 'node-node')
          .map(({ between }) => between.map(({ name, prefix }) => `${name} ${Prefix.format(prefix)}`)),
      )
      expect(told.map(String).sort()).toEqual(pairs.map(String).sort())
      const clashes = owners.flatMap(({ name, each }) =>
        world.services
          .filter((service) => meets(service, each))
          .map((service) => `${name} ${cidr(each)} ${cidr(service)}`),
      )
      const toldClashes = [live.ipv4, live.ipv6].flatMap(({ conflicts }) =>
        conflicts
          .filter(({ kind }) => kind === 'node-service')
          .map(
            ({ between: [left, right] }) =>
              `${left.name} ${[left, right].map(({ prefix }) => Prefix.format(prefix)).join(' ')}`,
          ),
      )
      expect(toldClashes.sort()).toEqual(clashes.sort())
    }),
    { numRuns: runs(isDeep ? 10 : 4) },
  )
})
