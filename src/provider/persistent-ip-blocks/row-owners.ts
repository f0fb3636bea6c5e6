import { hashText } from '../../allocator/util/hashing.js'
import { Pod } from '../../crd/core/index.js'
import type { IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import { MAX_ROW_TEXTS } from '../../crd/ipam-kit/names.js'
import { IPAMClaim } from '../../crd/ipamclaims/index.js'
import { labelProblem, subdomainProblem } from '../../crd/meta/names.js'
import { groupOf, type KubeObject, nameKey, type ObjectRef } from '../../crd/meta/object.js'
import { type Effect, guard, proofOfAbsence } from '../../plan/index.js'
import type { BlockOwner } from '../blocks/index.js'
import { podStage } from '../persistent-ip/serving/pod-stage.js'
import type { ServingCache } from '../persistent-ip/serving/watches.js'

/** The kind of a claim, as rows name it. */
export const CLAIM_KIND = `${IPAMClaim.info.kind}.${groupOf(IPAMClaim.info.apiVersion)}`

/** The owner of the rows of a claim, or of a Pod. */
export function ownerOf({ kind, metadata }: KubeObject): BlockOwner {
  const owner = { uid: metadata.uid ?? '', name: nameKey(metadata) }
  return kind === IPAMClaim.info.kind ? { ...owner, kind: CLAIM_KIND } : owner
}

/**
 * The name of an interface in a row: its key, or two hashes of it, as rows have room for 15
 * characters. Two interfaces of a Pod in one network have one name with a probability of 1 in 2^64.
 */
export function interfaceName(key: string): string {
  if (key.length <= MAX_ROW_TEXTS.interface) return key
  return [hashText(key), hashText(`#${key}`)].map((hash) => (hash >>> 0).toString(36).padStart(7, '0')).join('.')
}

/** The object that a row names as its owner; `undefined`: neither a claim nor a Pod. */
export function refOfOwner({ owner, kind = 'Pod' }: Pick<IPBlockRow, 'owner' | 'kind'>): ObjectRef | undefined {
  const info = kind === CLAIM_KIND ? IPAMClaim.info : kind === 'Pod' ? Pod.info : undefined
  const [namespace = '', name = ''] = owner.split('/')
  // any writer may have written the row: a store cannot be asked for an invalid name
  if (info === undefined || labelProblem(namespace) !== undefined || subdomainProblem(name) !== undefined) {
    return undefined
  }
  return { apiVersion: info.apiVersion, kind: info.kind, namespace, name }
}

/**
 * The owner of a row, if it exists and holds addresses: the claim, or the Pod that has not ended.
 */
export function livingOwner(
  { uid, owner, kind }: Pick<IPBlockRow, 'uid' | 'owner' | 'kind'>,
  { claims, pods }: ServingCache,
): KubeObject | undefined {
  const isClaim = kind === CLAIM_KIND
  const object = (isClaim ? claims : pods).entry(owner)?.object
  if (object === undefined || object.metadata.uid !== uid) return undefined
  return isClaim || podStage({ spec: {}, ...object } as Pod) !== 'ended' ? object : undefined
}

/**
 * Effects that stop a plan if the owner of a row still holds it. For a row without a living owner.
 */
export function ownerEnded(
  row: Pick<IPBlockRow, 'uid' | 'owner' | 'kind'>,
  { claims, pods }: ServingCache,
): readonly Effect[] {
  const why = 'the row is released only if its owner has ended'
  const object = (row.kind === CLAIM_KIND ? claims : pods).entry(row.owner)?.object
  if (object?.metadata.uid === row.uid) return [guard(object, why)]
  const ref = refOfOwner(row)
  return ref === undefined ? [] : proofOfAbsence({ ref, uid: row.uid }, why)
}
