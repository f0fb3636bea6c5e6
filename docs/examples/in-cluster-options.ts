import { InClusterIPPool, withPoolConditions } from 'ipam-kit/crd/in-cluster'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { type InClusterOptions, inCluster } from 'ipam-kit/provider/in-cluster'

// A definition whose status has room for conditions: upstream's has none, and an API server drops
// what it does not know.
export const manifest = crdManifest(withPoolConditions(InClusterIPPool))

type FormerAddresses = NonNullable<InClusterOptions['sticky']>['formerAddresses']

/** The provider with all that it can do beyond what upstream does. */
export function providerWith(formerAddresses: FormerAddresses) {
  const planner = inCluster({
    poolConditions: true,
    requestedAddress: {},
    preallocations: { entries: { 'InClusterIPPool office/printers': { 'printer-1': '10.20.0.10' } } },
    sticky: { annotation: 'example.com/machine', formerAddresses },
    random: { seed: 42 },
    overlaps: 'avoid',
    sweepAfterSeconds: 24 * 3600,
  })
  return planner
}
