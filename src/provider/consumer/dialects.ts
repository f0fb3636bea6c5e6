import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL, GROUP } from '../../crd/cluster-api/names.js'
import { hasFinalizer } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import type { ClaimPlace, Dialect, OwnerLabels } from './dialect.js'
import { capoCondition, capvCondition, openshiftCondition, proxmoxCondition } from './words.js'

/** Annotation of Proxmox: the place of the pool among those of the device. */
export const POOL_OFFSET_ANNOTATION = 'ipam.capmox.cluster.x-k8s.io/pool-ref-counter'
/**
 * Annotation of Proxmox: the address is one of the cluster's own pool, and its gateway is the
 * default one.
 */
export const DEFAULT_GATEWAY_ANNOTATION = 'ipam.capmox.cluster.x-k8s.io/default-gateway'

/**
 * What the contract of Cluster API asks of a consumer: `<machine>-<device>-<address>`, owner as
 * controller, the Cluster by field and label. It has no finalizer, because that has to be the
 * consumer's own: `{ ...dialects.contract, ...protectedBy('example.com/ip-claim') }`.
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
 * cluster-api-provider-vsphere: names by place, so that devices that change places change their
 * claims.
 */
const capv: Dialect = {
  ...contract,
  name: 'capv',
  claimName: ({ owner, deviceIndex, poolIndex }) => `${owner}-${deviceIndex}-${poolIndex}`,
  // always written, and empty for an owner without a Cluster
  labels: ({ clusterName }) => ({ [CLUSTER_NAME_LABEL]: clusterName ?? '' }),
  setsClusterName: false,
  ownerFlags: {},
  ...protectedBy('vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection'),
  release: 'finalizer',
}

/**
 * cluster-api-provider-proxmox: names by device and place, no finalizer; the garbage collector ends
 * the claims.
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

/**
 * cluster-api-provider-metal3: one claim for each pool by its name, whatever its kind and the
 * device.
 */
const metal3: Dialect = {
  ...contract,
  name: 'metal3',
  claimName: ({ owner, pool }) => `${owner}-${pool.name}`,
  labels: ({ labels }) => labels,
  setsClusterName: false,
  ownerFlags: { controller: true },
  ...protectedBy('metal3data.infrastructure.cluster.x-k8s.io'),
  // it has no condition for its claims
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

/** What the name of the claim of a server ends in. */
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
 * The dialects of today's infrastructure providers, by name, and that of the contract.
 *
 * Sources: cluster-api-provider-vsphere, controllers/vspherevm_ipaddress_reconciler.go;
 * cluster-api-provider-proxmox, pkg/kubernetes/ipam; cluster-api-provider-metal3,
 * baremetal/metal3data_manager.go; machine-api-operator, pkg/util/ipam;
 * cluster-api-provider-openstack, pkg/utils/names.
 */
export const dialects = { contract, capv, proxmox, metal3, openshift, capo } as const

/**
 * The part of a dialect that holds its claims by a finalizer, and knows them by it.
 *
 * @example
 * const mine = { ...dialects.contract, name: 'mine', ...protectedBy('example.com/ip-claim') }
 * mine.finalizer // 'example.com/ip-claim'
 */
export function protectedBy(finalizer: string): Pick<Dialect, 'finalizer' | 'isMarked'> {
  return { finalizer, isMarked: (claim: IPAddressClaim) => hasFinalizer(claim, finalizer) }
}

/**
 * The server that a claim in the dialect of cluster-api-provider-openstack is for, by its name;
 * `undefined` if no claim of that dialect has it. O(1).
 *
 * @example
 * capoServerOf('worker-abc-floating-ip-address') // 'worker-abc'
 */
export function capoServerOf(claimName: string): string | undefined {
  return claimName.endsWith(CAPO_SUFFIX) ? claimName.slice(0, -CAPO_SUFFIX.length) || undefined : undefined
}

function clusterLabel({ clusterName }: OwnerLabels): { readonly [key: string]: string } {
  return clusterName === undefined ? {} : { [CLUSTER_NAME_LABEL]: clusterName }
}

/** @throws IpamError `INVALID_ARGUMENT` for an annotation that is no whole number */
function offsetOf({ annotations, poolIndex }: ClaimPlace): number {
  const written = annotations[POOL_OFFSET_ANNOTATION]
  if (written === undefined) return poolIndex
  if (/^\d{1,9}$/.test(written)) return Number(written)
  refuse(POOL_OFFSET_ANNOTATION, 'a whole number', written)
}

export type DialectName = keyof typeof dialects

/** Which dialect: one of ours, one of yours, or that of the contract with names of your own. */
export type Naming = DialectName | Dialect | ((place: ClaimPlace) => string)

/**
 * The dialect that is meant. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a name that there is not
 */
export function dialectOf(naming: Naming): Dialect {
  if (typeof naming === 'function') return { ...dialects.contract, name: 'own names', claimName: naming }
  if (typeof naming === 'object') return naming
  if (Object.hasOwn(dialects, naming)) return dialects[naming]
  refuse('naming', `a dialect, a function, or one of ${Object.keys(dialects).join(', ')}`, naming)
}
