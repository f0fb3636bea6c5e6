import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { networkSpace } from 'ipam-kit/provider/persistent-ip'
import { asciiMap } from 'ipam-kit/render'
import type { Check } from '../checks.js'
import { cell, joinSections, limited, lines, type RowLimit, section } from '../text.js'
import { network } from './objects.js'
import type { ClaimView, PodView, Snapshot } from './snapshot.js'

/** A step as text for people. */
export function formatStep({ title, claims, pods, events }: Snapshot, limit: RowLimit): string {
  const claimRows = claims.map((claim) => Object.values(claimFields(claim)).map(cell))
  const podRows = pods.map((pod) => Object.values(podFields(pod)).map(cell))
  return section(
    title,
    joinSections([
      claims.length === 0
        ? 'There is no claim.'
        : limited(['CLAIM', 'OWNER', 'ADDRESS', 'POD', 'STATE'], claimRows, limit),
      pods.length === 0 ? 'There is no Pod.' : limited(['POD', 'CLAIM', 'ADDRESS'], podRows, limit),
      section(`Map of ${network.name}`, mapOf({ claims, pods })),
      events.length === 0 ? '' : section('Events', lines(events, limit)),
    ]),
  )
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
