import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL } from '../../crd/cluster-api/names.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import { KIND_PATTERN, SUBDOMAIN_PATTERN } from '../../crd/meta/dns-names.js'
import { asObject } from '../../crd/meta/json.js'
import { formatRef, KUBE, type KubeObject, type OwnerReference, refOf } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { CLAIM_NAME_CONFLICT, INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { type IpamError, isIpamError } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import { assertClaimName } from './claim-name.js'
import type { ClaimPlace, Dialect, OwnerLabels } from './dialect.js'
import { dialectOf, EARLIER_UID_ANNOTATION, type Naming } from './dialects.js'
import { groupText } from './identity.js'
import type { ClaimOwner, DesiredClaim } from './resolution.js'

/**
 * A request of a device for one address from a pool. The group may include a version, which is
 * dropped.
 */
export interface PoolRequest extends IPPoolReference {
  /** In addition to those of the dialect. */
  readonly annotations?: { readonly [key: string]: string } | undefined
  readonly labels?: { readonly [key: string]: string } | undefined
}

/** A network device of a machine, as far as addresses matter. Two families are two pools. */
export interface ConsumerDevice {
  /** For dialects that name claims by it. */
  readonly name?: string | undefined
  readonly pools: readonly PoolRequest[]
}

export interface ClaimsForOptions {
  /** The Cluster of the owner. Left out: that of its label `cluster.x-k8s.io/cluster-name`. */
  readonly clusterName?: string | undefined
}

const CLAIMS_FOR_OPTIONS: KindOf<ClaimsForOptions> = { clusterName: 'text?' }

/**
 * The claims that a machine needs for its devices, in their order: one for each pool of each
 * device. O(pools).
 *
 * @param owner the machine as it was read: it needs a name, a namespace and a uid
 * @throws IpamError `CLAIM_NAME_CONFLICT` for two claims of one name, `INVALID_CLAIM_NAME` for a
 * name that an API server refuses ({@link boundedName} shortens), `INVALID_ARGUMENT` for an owner
 * without uid or namespace, and for a pool reference whose group, kind or name is invalid in an
 * IPAddressClaim
 *
 * @example
 * const metadata = { name: 'vm', namespace: 'default', uid: 'u1', labels: { 'cluster.x-k8s.io/cluster-name': 'blue' } }
 * const owner = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2', kind: 'VSphereVM', metadata }
 * const pools = [{ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }]
 * claimsFor(owner, [{ pools }, { pools }], 'capv').map((claim) => claim.name) // ['vm-0-0', 'vm-1-0']
 */
export function claimsFor(
  owner: KubeObject,
  devices: readonly ConsumerDevice[],
  naming: Naming,
  options: ClaimsForOptions = {},
): readonly DesiredClaim[] {
  check('claimsFor', 'owner', owner, KUBE)
  check('claimsFor', 'devices', devices, 'list')
  check('claimsFor', 'options', options, CLAIMS_FOR_OPTIONS)

  const { claims, problem } = nameableClaims(owner, devices, dialectOf(naming), options)
  if (problem !== undefined) throw problem
  return claims
}

/**
 * The claims with a valid, unique name, and the problem of the first one without. Claims of former
 * names can still be released.
 */
export function nameableClaims(
  owner: KubeObject,
  devices: readonly ConsumerDevice[],
  dialect: Dialect,
  options: ClaimsForOptions,
): NameableClaims {
  const { labels = {}, annotations = {} } = owner.metadata
  const clusterName = options.clusterName || labels[CLUSTER_NAME_LABEL] || undefined
  const earlierUid = annotations[EARLIER_UID_ANNOTATION]
  const of: Wanting = {
    labels,
    clusterName,
    dialect,
    claimOwner: {
      ownerReference: ownerReferenceOf(owner, dialect),
      adoptsUnowned: dialect.adoptsUnowned,
      ...(clusterName === undefined ? {} : { ownerCluster: clusterName }),
      ...(earlierUid === undefined ? {} : { earlierUid }),
    },
    owner: formatRef(refOf(owner)),
    namespace: storedField(owner, 'namespace'),
  }
  const claims = new Map<string, DesiredClaim>()
  let problem: IpamError | undefined
  for (const [deviceIndex, device] of devices.entries()) {
    if (!isDevice(device)) {
      problem ??= invalidArgument(`device ${deviceIndex} of ${of.owner}`, 'an object with a list of pools', device)
      continue
    }
    const { name: deviceName = String(deviceIndex), pools } = device
    for (const [poolIndex, request] of pools.entries()) {
      const at = { deviceIndex, deviceName, poolIndex }
      const claim = poolProblem(of, request, at) ?? desiredClaim(of, request, at)
      const before = 'code' in claim ? undefined : claims.get(claim.name)
      if ('code' in claim) problem ??= claim
      else if (before !== undefined) problem ??= conflictOf(before, claim)
      else claims.set(claim.name, claim)
    }
  }
  return { claims: [...claims.values()], problem, claimOwner: of.claimOwner }
}

interface NameableClaims {
  readonly claims: readonly DesiredClaim[]
  readonly problem: IpamError | undefined
  /** As in each claim. */
  readonly claimOwner: ClaimOwner
}

/** The fields that all claims of an owner have in common. */
interface Wanting extends OwnerLabels {
  readonly dialect: Dialect
  readonly claimOwner: ClaimOwner
  /** Kind, namespace and name, for messages. */
  readonly owner: string
  readonly namespace: string
}

type PoolPlace = Pick<DesiredClaim, 'deviceIndex' | 'deviceName' | 'poolIndex'>

/** The spec of a machine is read from JSON, where a device may be any value. */
function isDevice(device: unknown): device is ConsumerDevice {
  const { name, pools } = asObject(device) ?? {}
  return Array.isArray(pools) && (name === undefined || typeof name === 'string')
}

/**
 * Why an API server would refuse a claim for this pool: the rules of the v1beta2 schema for the
 * reference.
 */
function poolProblem(of: Wanting, request: PoolRequest, { deviceName, poolIndex }: PoolPlace): IpamError | undefined {
  const place = `pools[${poolIndex}] of device ${deviceName} of ${of.owner}`
  const fields = asObject(request)
  if (fields === undefined) return invalidArgument(place, 'a pool reference', request)
  const poolRef = poolOf(request, of.dialect)
  const field = POOL_FIELDS.find(({ name, longest, pattern }) => {
    const value: unknown = poolRef[name]
    return typeof value !== 'string' || value.length > longest || !new RegExp(pattern).test(value)
  })?.name
  if (field === undefined) return undefined
  return invalidArgument(`${field} of ${place}`, `the ${field} of a pool, as an IPAddressClaim takes it`, fields[field])
}

/** The rules of the v1beta2 schema, without the schema. */
const POOL_FIELDS = [
  { name: 'apiGroup', longest: 253, pattern: SUBDOMAIN_PATTERN },
  { name: 'kind', longest: 63, pattern: KIND_PATTERN },
  { name: 'name', longest: 253, pattern: SUBDOMAIN_PATTERN },
] as const

function invalidArgument(argument: string, expected: string, value: unknown): IpamError {
  const got = value === undefined || value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
  return ipamError(INVALID_ARGUMENT, { argument, expected, got })
}

function desiredClaim(
  of: Wanting,
  { annotations = {}, labels = {}, ...request }: PoolRequest,
  at: PoolPlace,
): DesiredClaim | IpamError {
  const { dialect, claimOwner, namespace, clusterName } = of
  const poolRef = poolOf(request, dialect)
  const place: ClaimPlace = { ...at, owner: claimOwner.ownerReference.name, pool: poolRef, annotations }
  const name = nameOf(place, dialect)
  if (typeof name !== 'string') return name
  return {
    name,
    namespace,
    labels: { ...dialect.labels(of), ...labels },
    annotations: { ...dialect.annotations(place), ...annotations },
    ...(dialect.finalizer === undefined ? {} : { finalizer: dialect.finalizer }),
    poolRef,
    ...(dialect.setsClusterName && clusterName !== undefined ? { clusterName } : {}),
    ...at,
    ...claimOwner,
  }
}

function nameOf(place: ClaimPlace, dialect: Dialect): string | IpamError {
  try {
    const name = dialect.claimName(place)
    assertClaimName(name)
    return name
  } catch (error) {
    if (isIpamError(error)) return error
    throw error
  }
}

/** The object to create for a desired claim. O(1). */
export function newClaim(desired: DesiredClaim): IPAddressClaim {
  const { name, namespace, labels, annotations, ownerReference, finalizer, poolRef, clusterName } = desired
  return {
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: IPAddressClaim.info.kind,
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(finalizer === undefined ? {} : { finalizers: [finalizer] }),
      ownerReferences: [ownerReference],
    },
    spec: { ...(clusterName === undefined ? {} : { clusterName }), poolRef },
  }
}

/** @throws IpamError `INVALID_ARGUMENT` */
function ownerReferenceOf(owner: KubeObject, dialect: Pick<Dialect, 'ownerFlags'>): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  return { apiVersion, kind, name: metadata.name, uid: storedField(owner, 'uid'), ...dialect.ownerFlags }
}

/**
 * A field that only stored objects have.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an object without it: it was not read from a store
 */
export function storedField(object: KubeObject, field: 'uid' | 'namespace'): string {
  const value = object.metadata[field]
  if (value !== undefined && value !== '') return value
  refuse('planClaims', `metadata.${field} of ${formatRef(refOf(object))}`, 'what the store has', 'none')
}

function poolOf({ apiGroup, kind, name }: IPPoolReference, dialect: Dialect): IPPoolReference {
  const group = typeof apiGroup === 'string' ? groupText(apiGroup) : apiGroup
  return { apiGroup: group || dialect.defaultPoolGroup || '', kind, name }
}

function conflictOf(first: DesiredClaim, second: DesiredClaim): IpamError {
  const wanted = ({ deviceName, poolRef }: DesiredClaim) => `${formatRef(poolRef)} on device ${deviceName}`
  return ipamError(CLAIM_NAME_CONFLICT, { name: first.name, first: wanted(first), second: wanted(second) })
}
