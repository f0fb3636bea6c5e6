import type { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'

/** What the cache of a controller holds. */
export interface Seen {
  readonly pool: OpenStackFloatingIPPool
  readonly claims: readonly IPAddressClaim[]
  readonly addresses: readonly IPAddress[]
}

/**
 * One reconcile of the pool controller of cluster-api-provider-openstack, without its calls: all
 * addresses of the pool are listed, the sets of the status are made of them anew, every claim is
 * looked at, and the status is compared with the one that was read. Sets of JavaScript keep an
 * order, so the first available address is the one that was listed first.
 *
 * @returns the addresses that claims get
 */
export function reconcilePool({ pool, claims, addresses }: Seen): readonly string[] {
  const { name } = pool.metadata
  const before = JSON.stringify(pool.status)
  const claimed = new Set<string>()
  for (const { metadata, spec } of addresses) {
    if (spec.poolRef.kind !== pool.kind || spec.poolRef.name !== name) continue
    if (metadata.deletionTimestamp === undefined) claimed.add(spec.address)
  }
  const failed = new Set(pool.status?.failedIPs)
  const available = new Set<string>()
  for (const list of [pool.status?.availableIPs ?? [], pool.spec.preAllocatedFloatingIPs ?? []]) {
    for (const address of list) if (!claimed.has(address) && !failed.has(address)) available.add(address)
  }
  const given: string[] = []
  for (const { metadata, spec, status } of claims) {
    if (spec.poolRef.kind !== pool.kind || spec.poolRef.name !== name) continue
    if (metadata.deletionTimestamp !== undefined || status?.addressRef !== undefined) continue
    const [address] = available
    if (address === undefined) break
    available.delete(address)
    claimed.add(address)
    given.push(address)
  }
  const after = JSON.stringify({ ...pool.status, claimedIPs: [...claimed], availableIPs: [...available] })
  return after === before ? [] : given
}
