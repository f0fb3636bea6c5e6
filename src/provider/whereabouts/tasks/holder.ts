import * as Address from '../../../cidr/nouns/address.js'
import { claimAddresses, IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { isDeleting, type KubeObject, type ObjectRef } from '../../../crd/meta/object.js'
import { type PoolRow, WHEREABOUTS_GROUP } from '../../../crd/whereabouts/index.js'
import { check } from '../../../errors/check.js'
import type { ConfiguredClaim } from '../config/types.js'

/** Annotation of a reservation: the uid of the claim that holds the address. */
export const CLAIM_UID_ANNOTATION: string = `${WHEREABOUTS_GROUP}/ipamclaim-uid`

/** The object that a row is held by, beyond the life of a Pod. */
export interface RowClaim {
  /** Empty: the row has the uid alone. */
  readonly name: string
  readonly namespace: string
  /** Empty: the row of a writer that stores the name alone. */
  readonly uid: string
  /**
   * Left out: the holder is an IPAMClaim. Otherwise the kind of another owner, such as
   * VirtualMachine; empty: it is not known.
   */
  readonly kind?: string | undefined
}

/** Members that name a claim, in lower case. Upstream has not settled on one. */
const NAME_MEMBERS: ReadonlySet<string> = new Set(['ipamclaim', 'ipamclaimref', 'ipamclaimreference', 'claimref'])
const UID_MEMBERS: ReadonlySet<string> = new Set(['ipamclaimuid', 'claimuid'])
/** Members of the row of an owner that is no IPAMClaim. The uid can be any text. */
const OWNER_MEMBERS = { name: 'ipamowner', kind: 'ipamownerkind', uid: 'ipamowneruid' } as const
/** The members that `marksOf` writes. */
export const MARKS: readonly string[] = ['ipamclaim', 'ipamclaimuid', ...Object.values(OWNER_MEMBERS)]
/** Before the uid of such an owner, in the `id` of its row without a Pod. */
const OWNER_ID = 'owner:'

/**
 * The claim that holds a row; `undefined`: the row is that of its Pod alone. O(members).
 *
 * - `ipamclaim` and `ipamclaimuid`: as this library writes them. An API server with the definitions
 *   of upstream drops both: then `status.ips` of the claim has the address
 * - a member with another name that pull request 742 of upstream may get, with `namespace/name`, or
 *   a name in the namespace of the Pod
 * - no Pod and a uid as `id`: the row of a claim that no Pod uses. Upstream never frees such a row
 * - `ipamowner`, `ipamownerkind` and `ipamowneruid`, or no Pod and an `id` that begins with
 *   `owner:`: the row of an owner that is no IPAMClaim
 */
export function readRowClaim(row: Pick<PoolRow, 'id' | 'podref' | 'stored'>): RowClaim | undefined {
  check('readRowClaim', 'row', row, ['open', { id: 'text', podref: 'text', stored: 'object' }])

  const owner = readOwner(row)
  if (owner !== undefined) return owner
  let [name, uid] = ['', '']
  for (const [member, value] of Object.entries(row.stored)) {
    if (typeof value !== 'string') continue
    if (NAME_MEMBERS.has(member.toLowerCase())) name = value
    if (UID_MEMBERS.has(member.toLowerCase())) uid = value
  }
  if (uid === '' && row.podref === '' && UID.test(row.id)) uid = row.id
  if (name === '' && uid === '') return undefined
  return { ...nameParts(name, row.podref), uid }
}

/** A name without a namespace is in that of the Pod. */
function nameParts(name: string, podref: string): Pick<RowClaim, 'name' | 'namespace'> {
  const slash = name.indexOf('/')
  const namespace = slash < 0 ? (podref.split('/')[0] ?? '') : name.slice(0, slash)
  return { name: name.slice(slash + 1), namespace }
}

/** The owner of a row that is no IPAMClaim. */
function readOwner({ id, podref, stored }: Pick<PoolRow, 'id' | 'podref' | 'stored'>): RowClaim | undefined {
  const [name, kind, uid] = [OWNER_MEMBERS.name, OWNER_MEMBERS.kind, OWNER_MEMBERS.uid].map((member) => {
    const text = stored[member]
    return typeof text === 'string' ? text : ''
  }) as [string, string, string]
  if (uid !== '') return { ...nameParts(name, podref), uid, kind }
  if (podref !== '' || !id.startsWith(OWNER_ID)) return undefined
  return { name: '', namespace: '', uid: id.slice(OWNER_ID.length), kind: '' }
}

/** The members of a row that a claim holds. An API server may drop them. */
export function marksOf({ ref: { namespace = '', name }, uid, kind }: ClaimReading): {
  readonly [member: string]: string
} {
  const path = `${namespace}/${name}`
  if (kind === undefined) return { ipamclaim: path, ipamclaimuid: uid }
  return { [OWNER_MEMBERS.name]: path, [OWNER_MEMBERS.kind]: kind, [OWNER_MEMBERS.uid]: uid }
}

/** The `id` of a row that no Pod uses: it says what holds the row without other members. */
export function idleId({ uid, kind }: ClaimReading): string {
  return kind === undefined ? uid : `${OWNER_ID}${uid}`
}

const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A claim as a task reads it. */
export interface ClaimReading {
  /** Left out: the owner is no IPAMClaim. */
  readonly object?: IPAMClaim | undefined
  readonly ref: Pick<ObjectRef, 'namespace' | 'name'>
  readonly uid: string
  /** The kind of an owner that is no IPAMClaim. */
  readonly kind?: string | undefined
  /** The network of the IPAMClaim: `name` of its CNI configuration. Empty: it names none. */
  readonly network?: string | undefined
  readonly isDeleting: boolean
  readonly addresses: readonly Address.Address[]
  readonly ownerPod: string | undefined
}

/** The reference to the claim of a configuration, in the namespace of the Pod. */
export function claimRef({ name }: ConfiguredClaim, podNamespace: string): ObjectRef {
  const { apiVersion, kind } = IPAMClaim.info
  return { apiVersion, kind, namespace: podNamespace, name }
}

/** The owner of a configuration that is no IPAMClaim. */
export function ownerReading({ name, owner }: ConfiguredClaim, podNamespace: string): ClaimReading | undefined {
  if (owner === undefined) return undefined
  const ref = { namespace: podNamespace, name }
  return { ref, uid: owner.uid, kind: owner.kind, isDeleting: false, addresses: [], ownerPod: undefined }
}

/** The owner that a row names, which is no IPAMClaim. */
export function ownerOfRow({ namespace, name, uid, kind }: RowClaim): ClaimReading {
  return { ref: { namespace, name }, uid, kind, isDeleting: false, addresses: [], ownerPod: undefined }
}

/** @returns the problem of an object that cannot be read */
export function readClaimObject(ref: ObjectRef, object: KubeObject): ClaimReading | string {
  const read = IPAMClaim.safeParse(object)
  if (!read.ok) return read.failure.message
  const addresses = claimAddresses(read.value)
  if (!addresses.ok) return addresses.failure.message
  const { metadata, spec, status } = read.value
  return {
    object: read.value,
    ref,
    uid: metadata.uid ?? '',
    network: spec?.network,
    isDeleting: isDeleting(object),
    addresses: addresses.value.map(({ address }) => address),
    ownerPod: status?.ownerPod?.name,
  }
}

/** Whether a row is held by this claim. */
export function isHeldBy(row: PoolRow, claim: ClaimReading): boolean {
  const mark = readRowClaim(row)
  const isOwner = claim.kind !== undefined
  if (mark !== undefined && (mark.kind !== undefined) !== isOwner) return false
  if (mark?.uid) return mark.uid === claim.uid
  const { namespace, name } = claim.ref
  if (mark !== undefined) return mark.name === name && mark.namespace === namespace
  // the API server may have dropped the members of the row
  const isOfNamespace = row.podref === '' || row.podref.startsWith(`${namespace}/`)
  return isOfNamespace && claim.addresses.some((address) => Address.equals(address, row.address))
}
