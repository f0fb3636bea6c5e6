import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'

/** @param again objects that a run without a change has written */
export function checksOf(snapshots: readonly Snapshot[], again: number): readonly Check[] {
  const isFull = snapshots.some(({ services }) => services.some(({ state }) => state === 'full'))
  const waiting = snapshots.at(-1)?.services.filter(({ clusterIP }) => clusterIP === null) ?? []
  return [
    { rule: 'no two Services have one cluster IP', wrong: snapshots.flatMap(twiceIn) },
    { rule: 'the cluster IP of a Service does not change', wrong: changesIn(snapshots) },
    { rule: 'each cluster IP has its IPAddress, and each IPAddress its Service', wrong: snapshots.flatMap(apartIn) },
    { rule: 'each cluster IP is in a ServiceCIDR', wrong: snapshots.flatMap(outsideIn) },
    { rule: 'a ServiceCIDR is full in a step', wrong: isFull ? [] : ['in no step'] },
    { rule: 'each Service has a cluster IP in the end', wrong: waiting.map(({ name }) => name) },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

function twiceIn({ title, services }: Snapshot): readonly string[] {
  const held = services.flatMap(({ clusterIP }) => (clusterIP === null ? [] : [clusterIP]))
  return held.filter((address, nth) => held.indexOf(address) !== nth).map((address) => `${title}: ${address}`)
}

function changesIn(snapshots: readonly Snapshot[]): readonly string[] {
  const known = new Map<string, string>()
  return snapshots.flatMap(({ title, services }) =>
    services.flatMap(({ name, clusterIP }) => {
      const before = known.get(name)
      if (clusterIP !== null) known.set(name, clusterIP)
      return before === undefined || before === clusterIP ? [] : [`${title}: ${name} had ${before}, has ${clusterIP}`]
    }),
  )
}

function apartIn({ title, services, addresses }: Snapshot): readonly string[] {
  const given = services.flatMap(({ name, clusterIP }) => (clusterIP === null ? [] : [`${name} ${clusterIP}`]))
  const stored = addresses.map(({ service, address }) => `${service} ${address}`)
  const without = given.filter((text) => !stored.includes(text)).map((text) => `${title}: ${text} has no IPAddress`)
  const unused = stored.filter((text) => !given.includes(text)).map((text) => `${title}: IPAddress of ${text}`)
  return [...without, ...unused]
}

function outsideIn({ title, services, ranges }: Snapshot): readonly string[] {
  const all = RangeSet.parse(ranges.flatMap(({ cidrs }) => cidrs))
  return services
    .flatMap(({ clusterIP }) => (clusterIP === null ? [] : [clusterIP]))
    .filter((address) => !RangeSet.contains(all, Prefix.parse(`${address}/${address.includes(':') ? 128 : 32}`)))
    .map((address) => `${title}: ${address}`)
}
