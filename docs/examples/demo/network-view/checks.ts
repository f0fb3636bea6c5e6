import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { Check } from '../checks.js'
import type { RangeView, Snapshot } from './snapshot.js'

const LIFE: readonly RangeView['state'][] = ['Proposed', 'Active', 'Terminating']

/** @param again objects that a run without a change has written */
export function checksOf(snapshots: readonly Snapshot[], again: number): readonly Check[] {
  const states = snapshots.flatMap(({ ranges }) => ranges.map(({ state }) => state))
  return [
    { rule: 'the subnet of each Node is published', wrong: snapshots.flatMap(unknownIn) },
    { rule: 'a range is published before its first subnet', wrong: earlyIn(snapshots) },
    { rule: 'a range that is not accepted gives no subnets', wrong: snapshots.flatMap(proposedInUse) },
    { rule: 'nothing is published that no range has', wrong: snapshots.flatMap(strangersIn) },
    { rule: 'no two Nodes have subnets that overlap', wrong: snapshots.flatMap(overlapsIn) },
    { rule: 'a range is proposed, active and terminating', wrong: LIFE.filter((state) => !states.includes(state)) },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

function subnetsIn({ nodes }: Snapshot) {
  return nodes.flatMap(({ name, subnets }) => subnets.map((subnet) => ({ name, subnet })))
}

function unknownIn(snapshot: Snapshot): readonly string[] {
  const known = RangeSet.fromPrefixes(snapshot.known)
  return subnetsIn(snapshot)
    .filter(({ subnet }) => !RangeSet.contains(known, subnet))
    .map(({ name, subnet }) => `${snapshot.title}: ${Prefix.format(subnet)} of ${name}`)
}

/** Subnets of a step that the step before has not published. */
function earlyIn(snapshots: readonly Snapshot[]): readonly string[] {
  return snapshots.slice(1).flatMap((snapshot, nth) => {
    const known = RangeSet.fromPrefixes(snapshots[nth]?.known ?? [])
    return subnetsIn(snapshot)
      .filter(({ subnet }) => !RangeSet.contains(known, subnet))
      .map(({ name, subnet }) => `${snapshot.title}: ${Prefix.format(subnet)} of ${name}`)
  })
}

function proposedInUse(snapshot: Snapshot): readonly string[] {
  const proposed = snapshot.ranges.filter(({ state }) => state === 'Proposed').map(({ cidr }) => Prefix.parse(cidr))
  return subnetsIn(snapshot)
    .filter(({ subnet }) => proposed.some((range) => Prefix.contains(range, subnet)))
    .map(({ name }) => `${snapshot.title}: ${name}`)
}

function strangersIn({ title, known, ranges }: Snapshot): readonly string[] {
  const all = RangeSet.parse(ranges.map(({ cidr }) => cidr))
  return known.filter((prefix) => !RangeSet.contains(all, prefix)).map((prefix) => `${title}: ${Prefix.format(prefix)}`)
}

function overlapsIn(snapshot: Snapshot): readonly string[] {
  const held = subnetsIn(snapshot)
  return held.flatMap((one, nth) =>
    held
      .slice(nth + 1)
      .filter(({ subnet }) => Prefix.overlaps(one.subnet, subnet))
      .map(({ name }) => `${snapshot.title}: ${one.name} and ${name}`),
  )
}
