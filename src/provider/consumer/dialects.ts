import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL, GROUP } from '../../crd/cluster-api/names.js'
import { hasFinalizer } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { capoCondition, capvCondition, openshiftCondition, proxmoxCondition } from './conditions.js'
import type { ClaimPlace, Dialect, OwnerLabels } from './dialect.js'

/** Annotation of Proxmox: the index of the pool in the device. */
export const POOL_OFFSET_ANNOTATION = 'ipam.capmox.cluster.x-k8s.io/pool-ref-counter'
/**
 * Annotation of Proxmox: the address is from a pool of the cluster itself, and its gateway is the
 * default one.
 */
export const DEFAULT_GATEWAY_ANNOTATION = 'ipam.capmox.cluster.x-k8s.io/default-gateway'
/**
 * Annotation of a machine, of ours: the uid that it had before a restore. It takes over the claims
 * of the machine with its name and this uid. Only the operator knows that this one does not run
 * beside it.
 */
export const EARLIER_UID_ANNOTATION = 'ipam-kit.dev/earlier-uid'

/**
 * The dialect of the contract of Cluster API: `<machine>-<device>-<address>`, the owner as
 * controller, the Cluster by field and label. It has no finalizer, because consumers need their
 * own: `{ ...dialects.contract, ...protectedBy('example.com/ip-claim') }`.
 */
const contract: Dialect = {
  name: 'contract',
  claimName: ({ owner, deviceName, poolIndex }) => `${owner}-${deviceName}-${poolIndex}`,
  labels: clusterLabel,
  annotations: () => ({}),
  setsClusterName: true,
  ownerFlags: { controller: true, blockOwnerDeletion: true },
  adoptsUnowned: true,
  release: 'delete',
  isMarked: () => false,
  condition: capvCondition,
}

/**
 * cluster-api-provider-vsphere: names contain the index of the device, so a device that moves gets
 * other claims.
 */
const capv: Dialect = {
  ...contract,
  name: 'capv',
  claimName: ({ owner, deviceIndex, poolIndex }) => `${owner}-${deviceIndex}-${poolIndex}`,
  // always written; empty for an owner without a Cluster
  labels: ({ clusterName }) => ({ [CLUSTER_NAME_LABEL]: clusterName ?? '' }),
  setsClusterName: false,
  ownerFlags: {},
  ...protectedBy('vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection'),
  release: 'finalizer',
}

/**
 * cluster-api-provider-proxmox: names contain device and index; no finalizer, the garbage collector
 * deletes the claims.
 */
const proxmox: Dialect = {
  ...contract,
  name: 'proxmox',
  claimName: (place) => `${place.owner}-${place.deviceName}-${String(offsetOf(place)).padStart(2, '0')}-inet`,
  annotations: (place) => ({ [POOL_OFFSET_ANNOTATION]: String(offsetOf(place)) }),
  setsClusterName: false,
  release: 'finalizer',
  isMarked: (claim) => claim.metadata.annotations?.[POOL_OFFSET_ANNOTATION] !== undefined,
  condition: proxmoxCondition,
}

/** cluster-api-provider-metal3: one claim for each pool name, whatever its kind and the device. */
const metal3: Dialect = {
  ...contract,
  name: 'metal3',
  claimName: ({ owner, pool }) => `${owner}-${pool.name}`,
  labels: ({ labels }) => labels,
  setsClusterName: false,
  ownerFlags: { controller: true },
  ...protectedBy('metal3data.infrastructure.cluster.x-k8s.io'),
  // upstream has no condition for its claims
  condition: () => undefined,
}

/** The vSphere actuator of OpenShift's machine-api-operator. */
const openshift: Dialect = {
  ...contract,
  name: 'openshift',
  claimName: ({ owner, deviceIndex, poolIndex }) => `${owner}-claim-${deviceIndex}-${poolIndex}`,
  labels: () => ({}),
  setsClusterName: false,
  ...protectedBy('machine.openshift.io/ip-claim-protection'),
  release: 'finalizer',
  defaultPoolGroup: GROUP,
  condition: openshiftCondition,
}

/** The suffix of the claim of a server. */
const CAPO_SUFFIX = '-floating-ip-address'

/** cluster-api-provider-openstack: one floating IP for a server. */
const capo: Dialect = {
  ...contract,
  name: 'capo',
  claimName: ({ owner }) => `${owner}${CAPO_SUFFIX}`,
  setsClusterName: false,
  ownerFlags: {},
  ...protectedBy('openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim'),
  release: 'finalizer',
  condition: capoCondition,
}

/**
 * The dialects of existing infrastructure providers by name, and the one of the contract.
 *
 * Sources: cluster-api-provider-vsphere, controllers/vspherevm_ipaddress_reconciler.go;
 * cluster-api-provider-proxmox, pkg/kubernetes/ipam; cluster-api-provider-metal3,
 * baremetal/metal3data_manager.go; machine-api-operator, pkg/util/ipam;
 * cluster-api-provider-openstack, pkg/utils/names.
 */
export const dialects = { contract, capv, proxmox, metal3, openshift, capo } as const

/**
 * The part of a dialect that holds its claims by a finalizer, and recognises them by it.
 *
 * @example
 * const mine = { ...dialects.contract, name: 'mine', ...protectedBy('example.com/ip-claim') }
 * mine.finalizer // 'example.com/ip-claim'
 */
export function protectedBy(finalizer: string): Pick<Dialect, 'finalizer' | 'isMarked'> {
  check('protectedBy', 'finalizer', finalizer, 'text')

  return { finalizer, isMarked: (claim: IPAddressClaim) => hasFinalizer(claim, finalizer) }
}

/**
 * The name of the server of a claim in the dialect of cluster-api-provider-openstack; `undefined`
 * if the name is not of that dialect. O(1).
 *
 * @example
 * capoServerOf('worker-abc-floating-ip-address') // 'worker-abc'
 */
export function capoServerOf(claimName: string): string | undefined {
  check('capoServerOf', 'claimName', claimName, 'text')

  return claimName.endsWith(CAPO_SUFFIX) ? claimName.slice(0, -CAPO_SUFFIX.length) || undefined : undefined
}

function clusterLabel({ clusterName }: OwnerLabels): { readonly [key: string]: string } {
  return clusterName === undefined ? {} : { [CLUSTER_NAME_LABEL]: clusterName }
}

/** @throws IpamError `INVALID_ARGUMENT` for an annotation that is not a whole number */
function offsetOf({ annotations, poolIndex }: ClaimPlace): number {
  const written = annotations[POOL_OFFSET_ANNOTATION]
  if (written === undefined) return poolIndex
  if (/^\d{1,9}$/.test(written)) return Number(written)
  refuse('claimsFor', POOL_OFFSET_ANNOTATION, 'a whole number', written)
}

export type DialectName = keyof typeof dialects

/**
 * A dialect: one of `dialects` by name, your own, or the one of the contract with names of your
 * own.
 */
export type Naming = DialectName | Dialect | ((place: ClaimPlace) => string)

/**
 * The dialect that a naming means. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for an unknown name
 */
export function dialectOf(naming: Naming): Dialect {
  if (typeof naming === 'function') return { ...dialects.contract, name: 'own names', claimName: naming }
  if (typeof naming === 'object') return naming
  if (Object.hasOwn(dialects, naming)) return dialects[naming]
  refuse('claimsFor', 'options.naming', `a dialect, a function, or one of ${Object.keys(dialects).join(', ')}`, naming)
}
