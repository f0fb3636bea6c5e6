import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'

export const PAUSED = 'cluster.x-k8s.io/paused'
/** The value of {@link PAUSED} while a move lasts. */
export const MOVING = 'move'

const POOL = OpenStackFloatingIPPool.info
const POOL_REF = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: POOL.kind } as const

export function keyOf({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name}`
}

export function isPaused({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[PAUSED] !== undefined
}

/** Whether it exists and nothing has asked for its deletion. */
export function isAlive(object: KubeObject | undefined): object is KubeObject {
  return object !== undefined && object.metadata.deletionTimestamp === undefined
}

/** Namespace and name of the pool that a claim or an IPAddress names. */
export function poolOf(object: KubeObject): string {
  const { poolRef } = object.spec as { readonly poolRef: { readonly name: string } }
  return `${object.metadata.namespace}/${poolRef.name}`
}

export function addressIn(address: KubeObject): string {
  return (address.spec as { readonly address: string }).address
}

/** Namespace and name of the claim of an IPAddress. */
export function claimOf(address: KubeObject): string {
  const { claimRef } = address.spec as { readonly claimRef: { readonly name: string } }
  return `${address.metadata.namespace}/${claimRef.name}`
}

/** The name of the IPAddress that a claim is Bound to. */
export function boundTo(claim: KubeObject): string | undefined {
  return (claim.status as { readonly addressRef?: { readonly name?: string } } | undefined)?.addressRef?.name
}

export interface PoolSpec {
  readonly reclaimPolicy: 'Delete' | 'Retain'
  readonly maxIPs?: number
  readonly preAllocatedFloatingIPs?: readonly string[]
  readonly floatingIPNetwork: { readonly id: string }
}

export function specOf(pool: KubeObject): PoolSpec {
  return pool.spec as unknown as PoolSpec
}

export function poolObject(
  place: { readonly namespace: string; readonly name: string },
  spec: PoolSpec,
  annotations: { readonly [name: string]: string } = {},
): KubeObject {
  const { apiVersion, kind } = POOL
  const identityRef = { name: 'cloud', cloudName: 'openstack', type: 'Secret' }
  return {
    apiVersion,
    kind,
    metadata: { ...place, annotations },
    spec: { identityRef, ...spec },
  } as unknown as KubeObject
}

export function claimObject(place: { readonly namespace: string; readonly name: string }, pool: string): KubeObject {
  const { apiVersion, kind } = IPAddressClaim.info
  return { apiVersion, kind, metadata: place, spec: { poolRef: { ...POOL_REF, name: pool } } } as unknown as KubeObject
}

export function serverObject(place: { readonly namespace: string; readonly name: string }, pool: string): KubeObject {
  const { apiVersion, kind } = OpenStackServer.info
  const identityRef = { name: 'cloud', cloudName: 'openstack' }
  const spec = { floatingIPPoolRef: { ...POOL_REF, name: pool }, identityRef }
  return { apiVersion, kind, metadata: place, spec } as unknown as KubeObject
}

/** The claim that a server of this key makes. */
export function claimOfServer(key: string): string {
  return `${key}-floating-ip-address`
}

export const MODELS = {
  pools: OpenStackFloatingIPPool,
  claims: IPAddressClaim,
  addresses: IPAddress,
  servers: OpenStackServer,
}
