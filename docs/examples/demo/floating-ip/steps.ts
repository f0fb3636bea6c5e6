import { type OpenStackFloatingIPPool, OpenStackServer, OpenStackFloatingIPPool as Pool } from 'ipam-kit/crd/openstack'

export const NAMESPACE = 'shop'
export const POOL = 'blue'
/** Floating IPs that an operator has made for the pool. */
export const PREALLOCATED = ['203.0.113.250', '203.0.113.251'] as const
const MAX_IPS = 5

/** Something that happens, all at once. */
export interface Step {
  readonly title: string
  readonly joining?: readonly number[] | undefined
  readonly leaving?: readonly number[] | undefined
  /** What an operator does in the cloud. */
  readonly operator?: { readonly creates: string } | { readonly deletes: string } | undefined
  /** The process ends when the cloud has created an address, and before the answer is there. */
  readonly crashes?: true | undefined
  readonly poolEnds?: true | undefined
  /** How long the step takes, in seconds. */
  readonly seconds: number
}

export const steps: readonly Step[] = [
  { title: '3 machines come', joining: [1, 2, 3], seconds: 60 },
  { title: '4 more machines come, and the pool may have 5 addresses', joining: [4, 5, 6, 7], seconds: 60 },
  { title: '3 machines go', leaving: [1, 3, 4], seconds: 120 },
  {
    title: 'machine-7 goes, and an operator deletes its preallocated floating IP',
    operator: { deletes: PREALLOCATED[0] },
    leaving: [7],
    seconds: 330,
  },
  {
    title: 'The controller crashes while the cloud creates an address for one of 2 more machines',
    joining: [8, 9],
    crashes: true,
    seconds: 0,
  },
  { title: 'It starts again', seconds: 180 },
  { title: 'The operator creates the floating IP again', operator: { creates: PREALLOCATED[0] }, seconds: 330 },
  { title: 'Another machine comes', joining: [10], seconds: 60 },
  {
    title: 'All machines go, and the pool with them',
    leaving: [2, 5, 6, 8, 9, 10],
    poolEnds: true,
    seconds: 300,
  },
]

const identityRef = { name: 'clouds', cloudName: 'openstack' }

export function poolObject(): OpenStackFloatingIPPool {
  const { apiVersion, kind } = Pool.info
  const metadata = { namespace: NAMESPACE, name: POOL }
  const spec = { identityRef, reclaimPolicy: 'Delete', preAllocatedFloatingIPs: PREALLOCATED, maxIPs: MAX_IPS }
  return Pool.parse({ apiVersion, kind, metadata, spec })
}

export function serverObject(n: number): OpenStackServer {
  const { apiVersion, kind } = OpenStackServer.info
  const floatingIPPoolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: Pool.info.kind, name: POOL }
  const metadata = { namespace: NAMESPACE, name: `machine-${n}` }
  return OpenStackServer.parse({ apiVersion, kind, metadata, spec: { floatingIPPoolRef, identityRef } })
}

export function serverRef(name: string) {
  const { apiVersion, kind } = OpenStackServer.info
  return { apiVersion, kind, namespace: NAMESPACE, name }
}

export const poolRef = { apiVersion: Pool.info.apiVersion, kind: Pool.info.kind, namespace: NAMESPACE, name: POOL }
