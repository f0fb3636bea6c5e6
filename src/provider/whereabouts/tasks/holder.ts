import * as Address from '../../../cidr/nouns/address.js'
import { isDeleting, type KubeObject, type ObjectRef } from '../../../crd/meta/object.js'
import { type PoolRow, WHEREABOUTS_GROUP } from '../../../crd/whereabouts/index.js'
import { check } from '../../../errors/check.js'
import type { ConfiguredClaim } from '../config/types.js'
import { IPAM_CLAIM, readClaimStatus } from './claim-object.js'

/** Annotation of a reservation: the uid of the claim that holds the address. */
export const CLAIM_UID_ANNOTATION: string = `${WHEREABOUTS_GROUP}/ipamclaim-uid`

/** The object that a row is held by, beyond the life of a Pod. */
export interface RowClaim {
  /** Empty: the row has the uid alone. */
  readonly name: string
  readonly namespace: string
  /** Empty: the row of a writer that stores the name alone. */
  readonly uid: string
}

/** Members that name a claim, in lower case. Upstream has not settled on one. */
const NAME_MEMBERS: ReadonlySet<string> = new Set(['ipamclaim', 'ipamclaimref', 'ipamclaimreference', 'claimref'])
const UID_MEMBERS: ReadonlySet<string> = new Set(['ipamclaimuid', 'claimuid'])

/**
 * The claim that holds a row; `undefined`: the row is that of its Pod alone. O(members).
 *
 * - `ipamclaim` and `ipamclaimuid`: as this library writes them. An API server with the definitions
 *   of upstream drops both: then `status.ips` of the claim has the address
 * - a member with another name that pull request 742 of upstream may get, with `namespace/name`, or
 *   a name in the namespace of the Pod
 * - no Pod and a uid as `id`: the row of a claim that no Pod uses. Upstream never frees such a row
 */
export function readRowClaim(row: Pick<PoolRow, 'id' | 'podref' | 'stored'>): RowClaim | undefined {
  check('readRowClaim', 'row', row, ['open', { id: 'text', podref: 'text', stored: 'object' }])

  let [name, uid] = ['', '']
  for (const [member, value] of Object.entries(row.stored)) {
    if (typeof value !== 'string') continue
    if (NAME_MEMBERS.has(member.toLowerCase())) name = value
    if (UID_MEMBERS.has(member.toLowerCase())) uid = value
  }
  if (uid === '' && row.podref === '' && UID.test(row.id)) uid = row.id
  if (name === '' && uid === '') return undefined
  const slash = name.indexOf('/')
  const namespace = slash < 0 ? (row.podref.split('/')[0] ?? '') : name.slice(0, slash)
  return { name: name.slice(slash + 1), namespace, uid }
}

const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A claim as a task reads it. */
export interface ClaimReading {
  /** Left out: the owner is no IPAMClaim. */
  readonly object?: KubeObject | undefined
  readonly ref: Pick<ObjectRef, 'namespace' | 'name'>
  readonly uid: string
  readonly isDeleting: boolean
  readonly addresses: readonly Address.Address[]
  readonly ownerPod: string | undefined
}

/** The reference to the claim of a configuration, in the namespace of the Pod. */
export function claimRef({ name }: ConfiguredClaim, podNamespace: string): ObjectRef {
  return { ...IPAM_CLAIM, namespace: podNamespace, name }
}

/** The owner of a configuration that is no IPAMClaim. */
export function ownerReading({ name, owner }: ConfiguredClaim, podNamespace: string): ClaimReading | undefined {
  if (owner === undefined) return undefined
  const ref = { namespace: podNamespace, name }
  return { ref, uid: owner.uid, isDeleting: false, addresses: [], ownerPod: undefined }
}

/** @returns the problem of an object that cannot be read */
export function readClaimObject(ref: ObjectRef, object: KubeObject): ClaimReading | string {
  const status = readClaimStatus(object)
  if (status === undefined) return 'its status has a text that is no address'
  return {
    object,
    ref,
    uid: object.metadata.uid ?? '',
    isDeleting: isDeleting(object),
    addresses: status.addresses,
    ownerPod: status.ownerPod,
  }
}

/** Whether a row is held by this claim. */
export function isHeldBy(row: PoolRow, claim: ClaimReading): boolean {
  const mark = readRowClaim(row)
  if (mark?.uid) return mark.uid === claim.uid
  const { namespace, name } = claim.ref
  if (mark !== undefined) return mark.name === name && mark.namespace === namespace
  // the API server may have dropped the members of the row
  const isOfNamespace = row.podref === '' || row.podref.startsWith(`${namespace}/`)
  return isOfNamespace && claim.addresses.some((address) => Address.equals(address, row.address))
}
