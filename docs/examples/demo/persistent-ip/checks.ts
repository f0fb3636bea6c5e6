import { Prefix } from 'ipam-kit/cidr'
import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'

/** @param again objects that a run without a change has written */
export function checksOf(snapshots: readonly Snapshot[], again: number): readonly Check[] {
  const last = snapshots.at(-1)
  const left = [...(last?.claims ?? []), ...(last?.pods ?? [])].map(({ name }) => name)
  return [
    { rule: 'no address has two holders', wrong: snapshots.flatMap(sharedIn) },
    { rule: 'the addresses of a claim do not change', wrong: changesIn(snapshots) },
    { rule: 'a Pod of a claim has its addresses', wrong: snapshots.flatMap(differencesIn) },
    { rule: 'a machine or an instance has its claim', wrong: snapshots.flatMap(unclaimedIn) },
    { rule: 'a claim names a Pod that exists, or its machine is stopped', wrong: snapshots.flatMap(staleIn) },
    { rule: 'nothing is left in the end', wrong: left },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

/** A claim and the Pods that name it are one holder. */
function sharedIn({ title, claims, pods }: Snapshot): readonly string[] {
  const holders = new Map<string, Set<string>>()
  const holding = [...claims.map(({ name, addresses }) => ({ name, addresses, claim: name })), ...pods]
  for (const { name, claim, addresses } of holding) {
    for (const address of addresses.map(Prefix.format)) {
      holders.set(address, (holders.get(address) ?? new Set()).add(claim ?? name))
    }
  }
  return [...holders].flatMap(([address, names]) =>
    names.size > 1 ? [`${title}: ${address} of ${[...names].join(' and ')}`] : [],
  )
}

function changesIn(snapshots: readonly Snapshot[]): readonly string[] {
  const known = new Map<string, string>()
  return snapshots.flatMap(({ title, claims }) =>
    claims.flatMap(({ name, uid, addresses }) => {
      const now = addresses.map(Prefix.format).join(', ')
      const before = known.get(uid) ?? ''
      known.set(uid, now)
      return before === '' || before === now ? [] : [`${title}: ${name} had ${before}, and has ${now}`]
    }),
  )
}

function differencesIn({ title, claims, pods }: Snapshot): readonly string[] {
  return pods.flatMap(({ name, claim, addresses }) => {
    const named = claims.find((each) => each.name === claim)
    if (named === undefined || addresses.length === 0) return []
    const [own, wanted] = [addresses, named.addresses].map((all) => all.map(Prefix.format).join(', '))
    return own === wanted ? [] : [`${title}: ${name} has ${own}, and ${named.name} has ${wanted}`]
  })
}

function unclaimedIn({ title, machines, instances, claims }: Snapshot): readonly string[] {
  return [...new Set([...machines, ...instances])]
    .filter((name) => !claims.some((claim) => claim.name === `${name}.blue` && claim.addresses.length > 0))
    .map((name) => `${title}: ${name}`)
}

function staleIn({ title, instances, claims, pods }: Snapshot): readonly string[] {
  return claims
    .filter(({ name }) => instances.some((instance) => name === `${instance}.blue`))
    .filter(({ pod }) => !pods.some(({ name }) => name === pod))
    .map(({ name, pod }) => `${title}: ${name} names ${pod}`)
}
