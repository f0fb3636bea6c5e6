import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { networkSpace } from 'ipam-kit/provider/persistent-ip'
import { asciiMap } from 'ipam-kit/render'
import type { Check } from '../checks.js'
import { cell, type Detail, joinSections, limited, lines, section } from '../text.js'
import { network } from './objects.js'
import type { ClaimView, PodView, Snapshot } from './snapshot.js'

/** A step as text for people. */
export function formatStep(seen: Snapshot, detail: Detail): string {
  const rows = seen.claims.map((claim) => Object.values(claimFields(claim)).map(cell))
  const header = ['CLAIM', 'OWNER', 'ADDRESS', 'POD', 'STATE']
  const claims = rows.length === 0 ? 'There is no claim.' : limited(header, rows, detail.limit)
  return section(seen.title, joinSections([claims, ...(detail.isVerbose ? detailsOf(seen, detail) : [])]))
}

/** Pods, the map of the network, and Events. */
function detailsOf({ claims, pods, events }: Snapshot, { limit }: Detail): readonly string[] {
  const podRows = pods.map((pod) => Object.values(podFields(pod)).map(cell))
  return [
    pods.length === 0 ? 'There is no Pod.' : limited(['POD', 'CLAIM', 'ADDRESS'], podRows, limit),
    section(`Map of ${network.name}`, mapOf({ claims, pods })),
    events.length === 0 ? '' : section('Events', lines(events, limit)),
  ]
}

/** The same for programs: always with all rows. */
export function documentOf(snapshots: readonly Snapshot[], checks: readonly Check[]): object {
  const steps = snapshots.map(({ title, claims, pods, events }) => {
    return { title, claims: claims.map(claimFields), pods: pods.map(podFields), events }
  })
  return { steps, checks }
}

function claimFields({ name, owner, addresses, pod, isDeleting }: ClaimView) {
  const state = isDeleting ? 'is being deleted' : addresses.length === 0 ? 'waits' : 'has its address'
  return { name, owner, address: textOf(addresses), pod, state }
}

function podFields({ name, claim, addresses }: PodView) {
  return { name, claim, address: textOf(addresses) }
}

function textOf(addresses: readonly Prefix[]): string | null {
  return addresses.length === 0 ? null : addresses.map((prefix) => Prefix.format(prefix).replace(/\/.*/, '')).join(', ')
}

/** A character for each address. */
function mapOf({ claims, pods }: Pick<Snapshot, 'claims' | 'pods'>): string {
  const addresses = RangeSet.fromPrefixes(network.subnets.map(({ prefix }) => prefix))
  const available = networkSpace(network).addresses
  const inUse = RangeSet.fromPrefixes([...claims, ...pods].flatMap((holder) => holder.addresses))
  return asciiMap({ addresses, available, inUse }, { columns: 16, maxRows: 1 }).join('\n')
}
