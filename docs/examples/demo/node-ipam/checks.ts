import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'

/** @param again objects that a run without a change has written */
export function checksOf(snapshots: readonly Snapshot[], again: number): readonly Check[] {
  return [
    { rule: 'no two Nodes have subnets that overlap', wrong: snapshots.flatMap(overlapsIn) },
    { rule: 'the subnets of a Node do not change', wrong: changesIn(snapshots) },
    { rule: 'a Node has a subnet of each family of its range, or none', wrong: snapshots.flatMap(partsIn) },
    { rule: 'a range that is deleted gives no subnets', wrong: latecomersIn(snapshots) },
    { rule: 'a range is there for as long as a Node has a subnet of it', wrong: snapshots.flatMap(orphansIn) },
    { rule: 'the network view knows each subnet of a Node', wrong: snapshots.flatMap(unknownIn) },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

function overlapsIn({ title, nodes }: Snapshot): readonly string[] {
  const held = nodes.flatMap(({ name, subnets }) => subnets.map((subnet) => ({ name, subnet })))
  return held.flatMap((one, index) =>
    held
      .slice(index + 1)
      .filter(({ subnet }) => Prefix.overlaps(one.subnet, subnet))
      .map(({ name }) => `${title}: ${Prefix.format(one.subnet)} of ${one.name} and ${name}`),
  )
}

function changesIn(snapshots: readonly Snapshot[]): readonly string[] {
  const known = new Map<string, string>()
  return snapshots.flatMap(({ title, nodes }) =>
    nodes.flatMap(({ name, subnets }) => {
      const now = subnets.map(Prefix.format).join(', ')
      const before = known.get(name) ?? ''
      known.set(name, now)
      return before === '' || before === now ? [] : [`${title}: ${name} had ${before}, and has ${now}`]
    }),
  )
}

function partsIn({ title, nodes, ranges }: Snapshot): readonly string[] {
  return nodes
    .filter(({ subnets, range }) => {
      const families = ranges.find(({ name }) => name === range)?.prefixes.length
      return subnets.length > 0 && subnets.length !== families
    })
    .map(({ name, subnets }) => `${title}: ${name} has ${subnets.map(Prefix.format).join(', ')}`)
}

function latecomersIn(snapshots: readonly Snapshot[]): readonly string[] {
  return snapshots.flatMap(({ title, nodes, ranges }, index) => {
    const served = new Set(snapshots[index - 1]?.nodes.filter(({ range }) => range !== null).map(({ name }) => name))
    const ended = new Set(ranges.filter(({ isDeleting }) => isDeleting).map(({ name }) => name))
    return nodes
      .filter(({ name, range }) => range !== null && ended.has(range) && !served.has(name))
      .map(({ name, range }) => `${title}: ${name} has subnets of ${range}`)
  })
}

function unknownIn({ title, nodes, view }: Snapshot): readonly string[] {
  return nodes.flatMap(({ name, subnets }) =>
    subnets
      .filter((subnet) => !RangeSet.contains(view.known, subnet))
      .map((subnet) => `${title}: ${Prefix.format(subnet)} of ${name}`),
  )
}

function orphansIn({ title, nodes }: Snapshot): readonly string[] {
  return nodes
    .filter(({ subnets, range }) => subnets.length > 0 && range === null)
    .map(({ name }) => `${title}: ${name} has subnets of no range`)
}
