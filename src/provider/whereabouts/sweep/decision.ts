import * as Address from '../../../cidr/nouns/address.js'
import { Pod } from '../../../crd/core/pod.js'
import { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import type { JsonObject } from '../../../crd/meta/json.js'
import { labelProblem, subdomainProblem } from '../../../crd/meta/names.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { type PoolRow, readPodref } from '../../../crd/whereabouts/index.js'
import { type CachedObjects, type Effect, guard, proofOfAbsence } from '../../../plan/index.js'
import type { TrimmedObject } from '../../../plan/selection.js'
import { type RowClaim, readRowClaim } from '../tasks/holder.js'
import { type ClaimFacts, type PodFacts, type ReportedAddress, reportedBy, textOf } from './watches.js'

/** When the sweep frees addresses of Pods that still exist. */
export interface PodRules {
  /** Whether Pods that have ended keep their addresses as long as they exist. */
  readonly completedPods: 'keep' | 'free'
  /** Whether Pods that the taint manager evicts keep their addresses as long as they exist. */
  readonly evictedPods: 'keep' | 'free'
}

/** A row or a reservation: an address that a Pod has. */
export interface Holding {
  readonly podref: string
  readonly address: Address.Address
  /** The interface that has it. Left out: it is not known. */
  readonly ifname?: string | undefined
  /** The row as it is stored. Left out: a reservation. */
  readonly stored?: { readonly [member: string]: unknown } | undefined
  /** The other rows with the address. For a reservation, those of other networks alone. */
  readonly others: () => readonly OtherRow[]
}

/** Another row with the address of a holding. */
export type OtherRow = Pick<PoolRow, 'podref' | 'ifname' | 'stored'>

/** What to do with a holding. */
export type Decision =
  /** It stays: its Pod or its claim has the address, or that is not certain. */
  | { readonly kind: 'stays'; readonly isCertain: boolean }
  /** It is freed at once, if the checks hold. */
  | { readonly kind: 'free'; readonly checks: readonly Effect[]; readonly why: string }
  /** Its Pod reports other addresses. It is freed after the grace period, if the checks hold. */
  | { readonly kind: 'surplus'; readonly checks: readonly Effect[]; readonly why: string }

const KEPT: Decision = { kind: 'stays', isCertain: true }
const UNCERTAIN: Decision = { kind: 'stays', isCertain: false }

/**
 * Decides on a row or a reservation. O(addresses of its Pod).
 *
 * A Pod that does not exist needs no grace period: a row that is written for a new Pod of the name
 * changes the version of the pool, for which the patch is.
 */
export function decisionOn(
  holding: Holding,
  pods: CachedObjects<PodFacts, TrimmedObject>,
  claims: CachedObjects<ClaimFacts> | undefined,
  rules: PodRules,
): Decision {
  if (isOfOwner(holding) || isClaimed(holding, claims)) return KEPT
  const { podref } = holding
  const ref = podRefOf(podref)
  if (ref === undefined) return claims === undefined ? UNCERTAIN : withoutPod(holding, claims)
  const entry = pods.entry(ref)
  const ofClaim = () => (claims === undefined ? [] : claimProof(holding, claims))
  if (entry === undefined) {
    const ofPod = proofOfAbsence({ ref }, `the address is freed only if ${podref} does not exist`)
    return { kind: 'free', checks: [...ofPod, ...ofClaim()], why: `the Pod ${podref} does not exist` }
  }
  if (!entry.ok) return UNCERTAIN
  const { phase, isEvicted } = entry.value
  const isCompleted = phase === 'Succeeded' || phase === 'Failed'
  const checks = () => [guard(entry.object, `the state of the Pod ${podref} has not changed`), ...ofClaim()]
  if (isCompleted && rules.completedPods === 'free') {
    return { kind: 'free', checks: checks(), why: `the Pod ${podref} has ended` }
  }
  if (isEvicted && rules.evictedPods === 'free') {
    return { kind: 'free', checks: checks(), why: `the taint manager evicts the Pod ${podref}` }
  }
  const isStarted = isCompleted || phase === 'Running'
  const reported = isStarted ? reportedBy(entry.value) : undefined
  if (reported === undefined) return UNCERTAIN
  if (isReported(holding, reported)) return KEPT
  return { kind: 'surplus', checks: checks(), why: `the Pod ${podref} reports other addresses` }
}

/**
 * Whether a Pod reports the address for the holding. A network status names no pool, so that a row
 * with the interface that is reported has the address rather than
 *
 * - a row of another interface
 * - a reservation without a row, if each report of the address has such a row of another network
 *
 * Of two rows of one interface the status does not say which has the address: both stay.
 */
function isReported(holding: Holding, reported: readonly ReportedAddress[]): boolean {
  const { podref, address, ifname = '', stored } = holding
  const ofAddress = reported.filter((each) => isSame(each.address, address))
  if (ofAddress.length === 0) return false
  const isOwn = (each: ReportedAddress) => each.ifname === '' || ifname === '' || each.ifname === ifname
  if (stored !== undefined && ofAddress.some(isOwn)) return true
  const others = holding.others().filter((row) => row.podref === podref)
  if (stored !== undefined) return !ofAddress.every((each) => others.some((row) => row.ifname === each.ifname))
  const isReportedRow = (row: OtherRow) => ofAddress.some((each) => each.ifname === '' || isOf(row, each.ifname))
  return ofAddress.length > others.filter(isReportedRow).length
}

/** A row of an old release names no interface. */
function isOf({ ifname = '' }: OtherRow, name: string): boolean {
  return ifname === '' || ifname === name
}

/**
 * The row of a claim that no Pod uses: it is freed with its claim. A row that names its claim by
 * the uid alone is freed after the grace period, as a store cannot be asked for it. So is one that
 * is left beside the address that the status of the claim names.
 */
function withoutPod(holding: Holding, claims: CachedObjects<ClaimFacts>): Decision {
  const mark = holding.podref === '' ? markOf(holding) : undefined
  if (mark === undefined) return UNCERTAIN
  const { namespace, name, uid } = mark
  const checks = claimProof(holding, claims)
  if (checks.length > 0 && claims.countBy('text', `${namespace}/${name}`) === 0) {
    return { kind: 'free', checks, why: `the IPAMClaim ${namespace}/${name} does not exist` }
  }
  if (uid === '') return UNCERTAIN
  const state = claims.countBy('text', uid) > 0 ? 'has another address' : 'does not exist'
  return { kind: 'surplus', checks, why: `the IPAMClaim ${uid} ${state}` }
}

/**
 * That the claim which a row names does not exist, if the sweep does not know the claim: the watch
 * of claims may be late.
 */
function claimProof(holding: Holding, claims: CachedObjects<ClaimFacts>): readonly Effect[] {
  const { namespace = '', name = '', uid = '' } = markOf(holding) ?? {}
  const path = `${namespace}/${name}`
  const isNamed = labelProblem(namespace) === undefined && subdomainProblem(name) === undefined
  if (!isNamed || claims.countBy('text', uid === '' ? path : uid) > 0) return []
  const { apiVersion, kind } = IPAMClaim.info
  const ref = { apiVersion, kind, namespace, name }
  const why = `the address is freed only if the IPAMClaim ${path} does not exist`
  return proofOfAbsence(uid === '' ? { ref } : { ref, uid }, why)
}

/** What a row says of its holder; `undefined`: nothing. */
function markOf({ podref, stored }: Pick<Holding, 'podref' | 'stored'>): RowClaim | undefined {
  const { id } = stored ?? {}
  if (stored === undefined || typeof id !== 'string') return undefined
  return readRowClaim({ id, podref, stored: stored as JsonObject })
}

/**
 * Whether a row is that of an owner that is no IPAMClaim: the store is not asked for such objects.
 */
function isOfOwner(holding: Holding): boolean {
  return markOf(holding)?.kind !== undefined
}

function isSame(left: Address.Address, right: Address.Address): boolean {
  return Address.equals(Address.unmap(left), Address.unmap(right))
}

/** The Pod of a row, if a store can be asked for it: any writer may have written the row. */
function podRefOf(podref: string): ObjectRef | undefined {
  const pod = readPodref(podref)
  if (pod === undefined) return undefined
  const isName = labelProblem(pod.namespace) === undefined && subdomainProblem(pod.name) === undefined
  return isName ? { apiVersion: Pod.info.apiVersion, kind: Pod.info.kind, ...pod } : undefined
}

/** Whether a claim that a row names has its address: not if it has another one of the family. */
function mayHave({ addresses }: ClaimFacts, address: Address.Address): boolean {
  const ofFamily = addresses.filter(({ family }) => family === address.family)
  return ofFamily.length === 0 || ofFamily.some((other) => isSame(other, address))
}

/**
 * The texts by which a row can name its claim: its uid alone, as a later claim has the same name.
 */
function textsOf(stored: NonNullable<Holding['stored']>, podref: string): readonly string[] {
  const { id = '', ...members } = stored
  const claim = typeof id === 'string' ? readRowClaim({ id, podref, stored: stored as JsonObject }) : undefined
  const isOfUid = claim?.uid && (claim.name === '' || Object.values(members).includes(claim.uid))
  return isOfUid ? [claim.uid] : Object.values(stored).filter((each) => typeof each === 'string')
}

/**
 * Whether a claim has the address. A row names its claim in any of its texts: upstream has no fixed
 * member for it, and an API server may have dropped the member. The addresses of a claim count too,
 * unless another row names the claim, which has the address then.
 */
function isClaimed(
  { podref, address, stored, others }: Holding,
  claims: CachedObjects<ClaimFacts> | undefined,
): boolean {
  if (claims === undefined) return false
  const texts = stored === undefined ? [] : textsOf(stored, podref)
  if (texts.some((text) => text !== podref && claims.by('text', text).some((claim) => mayHave(claim, address))))
    return true
  const namespace = podref.split('/')[0] ?? ''
  const ofAddress = claims.by('address', `${namespace} ${textOf(address)}`)
  if (ofAddress.length === 0) return false
  const rows = others()
  return ofAddress.some(({ texts: [uid] }) => !rows.some((row) => Object.values(row.stored).includes(uid)))
}
