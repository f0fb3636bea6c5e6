import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { NodeIPAMOutcome, NodeIPAMPlanner, NodeRange, SubnetSpace } from 'ipam-kit/provider/node-ipam'
import { Histogram, type Metric } from 'ipam-kit/render'
import type { ControllerResult } from 'ipam-kit/run'
import type { Figures } from '../program/metrics.js'
import { OutcomeCounts, type Samples } from '../program/outcomes.js'
import type { Parity } from './flags.js'

const TRIES = [1, 5, 25, 125, 625]

/** One prefix of a range that gives subnets or has given some, and what has been counted of it. */
interface Space extends SubnetSpace {
  readonly range: string
  /** Subnets given, or found with a Node at the start. */
  allocated: number
  released: number
  /** How many subnets were passed over before each that was given, by upper bounds. */
  readonly tries: Histogram
  /** The subnet behind the one that was given last. */
  next: bigint
}

/**
 * What becomes of Nodes and ranges. In parity mode also which subnets are given, under the names of
 * the component that this one replaces.
 */
export class SubnetFigures implements Figures {
  readonly #planner: Pick<NodeIPAMPlanner, 'context'>
  readonly #parity: Parity | undefined
  readonly #outcomes = new OutcomeCounts()
  /** The subnets of each Node that are counted. */
  readonly #counted = new Map<string, readonly Prefix[]>()
  readonly #spaces = new Map<string, Space>()

  constructor(planner: Pick<NodeIPAMPlanner, 'context'>, parity?: Parity | undefined) {
    this.#planner = planner
    this.#parity = parity
  }

  /** O(ranges). */
  observe(result: ControllerResult): void {
    const { key, kind, outcome } = result
    if (kind !== 'done') return
    this.#outcomes.observe(result)
    const [, name] = key.startsWith('Node ') ? key.split(' ') : []
    if (name !== undefined) this.#count(name, outcome as NodeIPAMOutcome | undefined)
  }

  metrics(): readonly Metric[] {
    return [
      gauge('ipam_nodes', 'Nodes by what their last plan came to', this.#outcomes.of('Node ')),
      gauge('ipam_cluster_cidrs', 'ClusterCIDRs by what their last plan came to', this.#outcomes.of('ClusterCIDR ')),
      ...(this.#parity === undefined ? [] : upstreamMetrics(this.#measured(), this.#parity)),
    ]
  }

  #measured(): readonly Measured[] {
    return this.#open().map((space) => ({ ...space, ...this.#usage(space) }))
  }

  #count(name: string, outcome: NodeIPAMOutcome | undefined): void {
    const before = this.#counted.get(name) ?? []
    const now = outcome === undefined ? [] : this.#subnetsOf(name, outcome)
    if (now.length === 0) this.#counted.delete(name)
    else this.#counted.set(name, now)
    for (const space of this.#open()) {
      for (const subnet of without(now, before)) space.allocated += partsOf(space, subnet)
      for (const subnet of without(before, now)) space.released += partsOf(space, subnet)
    }
    if (outcome?.kind !== 'assigned') return
    for (const [index, subnet] of outcome.choice.subnets.entries()) {
      const space = this.#rangesNow().find((range) => range.name === outcome.choice.range)?.spaces[index]
      if (space !== undefined) tried(this.#spaceOf(outcome.choice.range, space), subnet)
    }
  }

  #subnetsOf(name: string, outcome: NodeIPAMOutcome): readonly Prefix[] {
    if (outcome.kind === 'assigned') return outcome.choice.subnets
    return this.#planner.context.cache.nodes.get(name)?.subnets ?? []
  }

  /** Ranges that give subnets, and those that are being deleted. */
  #rangesNow(): readonly NodeRange[] {
    const { cache, state } = this.#planner.context
    const ofObjects = [...(cache.ranges ?? [])].flatMap(({ read }) => (read.ok ? [read.value] : []))
    return state.range === undefined ? ofObjects : [state.range]
  }

  #open(): readonly Space[] {
    return this.#rangesNow().flatMap(({ name, spaces }) => spaces.map((space) => this.#spaceOf(name, space)))
  }

  #spaceOf(range: string, space: SubnetSpace): Space {
    const key = `${range} ${Prefix.format(space.prefix)} ${space.length}`
    let known = this.#spaces.get(key)
    if (known === undefined) {
      known = { ...space, range, allocated: 0, released: 0, tries: new Histogram(TRIES), next: 0n }
      this.#spaces.set(key, known)
    }
    return known
  }

  /** O(entries that overlap the space). */
  #usage(space: SubnetSpace): { readonly total: bigint; readonly used: bigint } {
    const { prefix, within, length } = space
    const taken = this.#planner.context.holdings
      .ledger()
      .holders(prefix)
      .map((entry) => (entry.prefix.length > length ? Prefix.masked({ ...entry.prefix, length }) : entry.prefix))
    const used = RangeSet.size(RangeSet.intersect(RangeSet.fromPrefixes(taken), within))
    return { total: countOf(space), used: used / sizeOf(space) }
  }
}

type Measured = Space & { readonly total: bigint; readonly used: bigint }

/** The names are upstream's, mistakes and all. */
function upstreamMetrics(spaces: readonly Measured[], parity: Parity): readonly Metric[] {
  const isManager = parity === 'kube-controller-manager'
  const subsystem = `node_ipam_controller_${isManager ? 'cidrset' : 'multicidrset'}`
  const labelsOf = ({ prefix, range }: Measured) => {
    const clusterCIDR = Prefix.format(prefix)
    return isManager ? { clusterCIDR } : { clusterCIDR, clusterCIDRName: range }
  }
  const samples = (value: (space: Measured) => number) =>
    spaces.map((space) => ({ labels: labelsOf(space), value: value(space) }))
  const max = isManager ? 'node_ipam_controller_cirdset_max_cidrs' : `${subsystem}_max_cidrs`
  return [
    {
      type: 'counter',
      name: `${subsystem}_cidrs_allocations_total`,
      help: 'Subnets that were given, or found with a Node at the start',
      samples: samples(({ allocated }) => allocated),
    },
    {
      type: 'counter',
      name: `${subsystem}_cidrs_releases_total`,
      help: 'Subnets that were released',
      samples: samples(({ released }) => released),
    },
    gauge(
      `${subsystem}_usage_cidrs`,
      'The part of the subnets that is in use, 0 to 1',
      samples(({ used, total }) => Number(used) / Number(total)),
    ),
    gauge(
      max,
      'Subnets in all',
      samples(({ total }) => Number(total)),
    ),
    {
      type: 'histogram',
      name: `${subsystem}_allocation_tries_per_request`,
      help: 'Subnets in use that were passed over before the one that was given',
      samples: spaces.map((space) => space.tries.sample(labelsOf(space))),
    },
  ]
}

/** Counts how many subnets stand between the one that was given last and this one. */
function tried(space: Space, subnet: Prefix): void {
  const total = countOf(space)
  const index = RangeSet.rank(space.within, subnet.address) / sizeOf(space)
  const passed = Number((index - space.next + total) % total)
  space.next = (index + 1n) % total
  space.tries.observe(passed)
}

/** Of how many subnets of a space a prefix takes a part. */
function partsOf({ prefix, length }: SubnetSpace, taken: Prefix): number {
  if (!Prefix.overlaps(prefix, taken)) return 0
  return 2 ** Math.max(0, length - Math.max(prefix.length, taken.length))
}

function countOf({ prefix, length }: SubnetSpace): bigint {
  return 1n << BigInt(length - prefix.length)
}

/** The addresses of one subnet. */
function sizeOf(space: SubnetSpace): bigint {
  return Prefix.size(space.prefix) / countOf(space)
}

function without(prefixes: readonly Prefix[], others: readonly Prefix[]): readonly Prefix[] {
  return prefixes.filter((prefix) => !others.some((other) => Prefix.equals(prefix, other)))
}

function gauge(name: string, help: string, samples: Samples): Metric {
  return { type: 'gauge', name, help, samples }
}
