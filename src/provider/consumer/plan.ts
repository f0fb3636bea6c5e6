import { type Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, KUBE, type KubeObject, refOf } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import type { IpamError } from '../../errors/index.js'
import { type Effect, guard, type Outcome, type Plan, patchObject, removeFinalizer } from '../../plan/index.js'
import { type Aggregate, aggregate } from './aggregate.js'
import { type ClaimsForOptions, type ConsumerDevice, nameableClaims, newClaim, storedField } from './desired.js'
import type { Dialect } from './dialect.js'
import { dialectOf, type Naming } from './dialects.js'
import { repairOf } from './metadata.js'
import type { ClaimOwner, DesiredClaim, ResolvedClaim } from './resolution.js'
import { isRestored, ownershipOf, resolveClaims } from './resolve.js'
import { actionOn, type ConsumerAction, type ConsumerEvent, type ConsumerState, consumerStateOf } from './table.js'

/** The input of a plan for the claims of one owner. */
export interface ConsumerInput extends ClaimsForOptions {
  /** The machine, as it was read. */
  readonly owner: KubeObject
  readonly naming: Naming
  readonly devices: readonly ConsumerDevice[]
  /**
   * The claims with the name of a desired one, or with this owner. May be all claims of the
   * namespace: others are ignored.
   */
  readonly claims: readonly IPAddressClaim[]
  /**
   * The addresses that those claims name, and those with the name of a desired claim. May be all
   * addresses of the namespace.
   */
  readonly addresses: readonly IPAddress[]
  /** The Cluster of the owner, if it has one: it may be paused. */
  readonly cluster?: Cluster | undefined
}

/** Claims and addresses are checked where they are resolved. */
const INPUT: KindOf<ConsumerInput> = [
  'open',
  { owner: KUBE, devices: ['list', 'object'], claims: ['list', 'object'], addresses: ['list', 'object'] },
]

export interface PlanClaimsOptions {
  /**
   * Names of claims whose device or pool is no longer in the spec, and whose address is no longer
   * in use.
   */
  readonly detached?: readonly string[] | undefined
}

const PLAN_CLAIMS_OPTIONS: KindOf<PlanClaimsOptions> = { detached: ['list?', 'text'] }

export interface ReleaseOptions {
  /**
   * Delete the claims instead of leaving them to the garbage collector. Left out: as in the
   * dialect.
   */
  readonly deleteExplicitly?: boolean | undefined
}

const RELEASE_OPTIONS: KindOf<ReleaseOptions> = { deleteExplicitly: 'flag?' }

/** The outcome of a plan for the claims of an owner. */
export type ConsumerOutcome = Outcome &
  Aggregate & {
    /**
     * - `ready`: all claims are Bound: `deviceConfig` makes settings of their addresses
     * - `creating`: some claims are being created
     * - `waiting`: all claims exist, and some have no address yet
     * - `terminating`: some claims are being deleted: do not configure their addresses
     * - `conflict`: some claims cannot be used, and are not changed
     * - `paused`: nothing is done
     * - `holding`: the owner is being deleted, and its infrastructure may still use the addresses.
     *   The message names the addresses that are released all the same: those of claims without the
     *   finalizer of the consumer that are being deleted, or that the garbage collector is about to
     *   delete
     * - `released`: no claim of the owner is left when the effects are done
     */
    readonly kind: 'ready' | 'creating' | 'waiting' | 'terminating' | 'conflict' | 'paused' | 'holding' | 'released'
    /** The desired claims, in the order of the devices. */
    readonly claims: readonly ResolvedClaim[]
    /**
     * Names of claims that the owner no longer wants, and that still hold addresses because
     * `detached` does not name them.
     */
    readonly attached: readonly string[]
  }

/** The next plan comes after this time, if no event of a claim is certain. */
const RETRY_SECONDS = 30

/**
 * Plans the claims of an owner that is not being deleted: {@link consumerRules}, for each of its
 * claims. Claims that are no longer wanted are released when `detached` names them.
 *
 * Every write is for one uid in the version that was read, and never for a claim of another owner.
 * A plan with writes begins with a guard on the owner, in the version that was read. The finalizer
 * on the claim of a missing owner would never be removed. O(n) in claims and addresses.
 *
 * @throws IpamError as `claimsFor`, for an owner that is not being deleted
 *
 * @example
 * import { explain } from 'ipam-kit/plan'
 *
 * const metadata = { name: 'vm', namespace: 'default', uid: 'u1', resourceVersion: '7' }
 * const owner = { apiVersion: 'example.com/v1', kind: 'Machine', metadata }
 * const devices = [{ pools: [{ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }] }]
 * const plan = planClaims({ owner, naming: 'capv', devices, claims: [], addresses: [] })
 * explain(plan).split('\n')[0] // 'creating: 1 of 1 claims are created now'
 */
export function planClaims(input: ConsumerInput, options: PlanClaimsOptions = {}): Plan<ConsumerOutcome> {
  check('planClaims', 'input', input, INPUT)
  check('planClaims', 'options', options, PLAN_CLAIMS_OPTIONS)

  const work = workOf(input)
  if (isPaused(input)) return planPaused(work)
  const event = isDeleting(input.owner) ? 'OwnerDeleting' : 'Reconcile'
  if (event === 'Reconcile' && work.problem !== undefined) throw work.problem
  const effects: Effect[] = []
  const attached: string[] = []
  for (const claim of event === 'Reconcile' ? work.surplus : []) {
    const action = settled(actionOn('Removed', stateOfSurplus(claim)), claim, work.dialect, options)
    if (action === 'Hold') attached.push(claim.metadata.name)
    effects.push(...effectsOf(action, { claim, work, event: 'Removed' }))
  }
  // they come after the releases: a creation that a quota refuses must not hold those up
  for (const { desired, resolution } of work.claims) {
    const action = actionOn(event, consumerStateOf(resolution))
    effects.push(...effectsOf(action, { desired, claim: claimOf({ desired, resolution }), work, event }))
  }
  if (effects.length > 0) effects.unshift(guard(input.owner, 'its claims depend on it'))
  return finish(work, effects, { event, attached })
}

/**
 * Plans the release of all addresses of an owner: finalizers are removed, and claims are deleted if
 * the dialect or `deleteExplicitly` says so. It covers desired and existing claims, so a claim
 * whose device has left the spec is released too.
 *
 * Call it only when the machine does not exist any more: a released address may be given to another
 * machine at once. If another process may have just created a claim, remove the finalizer of the
 * machine after a `proofOfAbsence` of each claim that is missing. Devices whose claims have invalid
 * names do not stop it. O(n) in claims.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an owner or a claim that was not read from a store
 *
 * @example
 * const metadata = { name: 'vm', namespace: 'default', uid: 'u1', resourceVersion: '7' }
 * const owner = { apiVersion: 'example.com/v1', kind: 'Machine', metadata }
 * releasePlan({ owner, naming: 'capv', devices: [], claims: [], addresses: [] }).outcome.kind // 'released'
 */
export function releasePlan(input: ConsumerInput, options: ReleaseOptions = {}): Plan<ConsumerOutcome> {
  check('releasePlan', 'input', input, INPUT)
  check('releasePlan', 'options', options, RELEASE_OPTIONS)

  const work = workOf(input)
  if (isPaused(input)) return planPaused(work)
  const event = 'InfrastructureGone'
  const isDeleted = options.deleteExplicitly ?? work.dialect.release === 'delete'
  const wanted = work.claims.flatMap((each) => {
    const { desired } = each
    const claim = claimOf(each)
    const state = consumerStateOf(each.resolution)
    // a claim of this owner is released, whatever else is wrong with it
    if (claim === undefined || !isOurs(claim, work)) return []
    // a claim of an earlier owner that was not adopted because of a problem is not deleted: the
    // deletion could never complete
    if (state === 'Conflict' && ownershipOf(claim, work.claimOwner) === 'earlier') return []
    return [{ claim, desired, action: actionOn(event, state === 'Conflict' ? 'Bound' : state) }]
  })
  const withAction = (claim: IPAddressClaim) => ({
    claim,
    desired: undefined,
    action: actionOn(event, stateOfSurplus(claim)),
  })
  const effects = [...wanted, ...work.surplus.map(withAction)].flatMap(({ claim, desired, action }) => {
    const done = action === 'Release' && isDeleted ? 'Delete' : action
    // the next plan recognises a claim that is being deleted by its owner
    const isLeft = done === 'Delete' && desired !== undefined && ownershipOf(claim, work.claimOwner) === 'earlier'
    // the claim does not get a finalizer that it does not have
    const owned = desired && { ...desired, finalizer: undefined }
    const adoption = isLeft ? effectsOf('Repair', { desired: owned, claim, work, event }) : []
    return [...adoption, ...effectsOf(done, { claim, work, event })]
  })
  return finish(work, effects, { event, attached: [] })
}

/** An owner with its desired and existing claims. */
interface Work {
  readonly input: ConsumerInput
  readonly dialect: Dialect
  readonly claims: readonly ResolvedClaim[]
  readonly claimOwner: ClaimOwner
  /** Claims of the owner, made in its dialect, that it does not want any more. */
  readonly surplus: readonly IPAddressClaim[]
  /** Why some desired claims have no valid name. An owner that is being deleted needs no names. */
  readonly problem: IpamError | undefined
}

function workOf(input: ConsumerInput): Work {
  const { owner, devices, naming } = input
  const dialect = dialectOf(naming)
  const { claims: desired, problem, claimOwner } = nameableClaims(owner, devices, dialect, input)
  const namespace = storedField(owner, 'namespace')
  const claims = resolveClaims(desired, input.claims, input.addresses)
  const names = new Set(desired.map(({ name }) => name))
  const work = { input, dialect, claims, claimOwner, problem }
  const surplus = input.claims.filter(
    (claim) =>
      claim.metadata.namespace === namespace &&
      !names.has(claim.metadata.name) &&
      // a claim without an owner may belong to anything
      (claim.metadata.ownerReferences ?? []).length > 0 &&
      dialect.isMarked(claim) &&
      isOurs(claim, work),
  )
  return { ...work, surplus }
}

function isPaused({ owner, cluster }: ConsumerInput): boolean {
  return hasPausedAnnotation(owner) || (cluster !== undefined && isClusterPaused(cluster))
}

function planPaused(work: Work): Plan<ConsumerOutcome> {
  const { owner, cluster } = work.input
  const by = hasPausedAnnotation(owner) || cluster === undefined ? owner : cluster
  const message = `${formatRef(refOf(by))} is paused`
  const outcome = { ...aggregate(work.claims, work.dialect), claims: work.claims, attached: [] }
  return { outcome: { kind: 'paused', message, ...outcome }, effects: [] }
}

interface Case {
  readonly desired?: DesiredClaim | undefined
  readonly claim: IPAddressClaim | undefined
  readonly work: Work
  readonly event: ConsumerEvent
}

function effectsOf(action: ConsumerAction, { desired, claim, work, event }: Case): readonly Effect[] {
  const owner = formatRef(refOf(work.input.owner))
  const why = event === 'Removed' ? `${owner} no longer wants it` : `${owner} no longer uses its address`
  switch (action) {
    case 'Nothing':
    case 'Hold':
    case 'DeleteWhenDetached':
    case 'LetGoWhenDetached':
    case 'Configure':
      return []
    case 'Create':
      return desired ? [{ kind: 'create', object: newClaim(desired), why: `${owner} wants an address` }] : []
    case 'Repair': {
      const repair = claim && desired && repairOf(claim, desired)
      return repair === undefined ? [] : [patchObject(claim as IPAddressClaim, repair, `the claim belongs to ${owner}`)]
    }
    case 'DropStaleFinalizer':
      return claim ? dropStaleFinalizer(claim, work) : []
    case 'Release':
    case 'LetGo':
      return claim ? letGo(claim, work, why) : []
    case 'Delete':
      return claim ? [...deletion(claim, why), ...letGo(claim, work, why)] : []
  }
}

/**
 * The deletion comes before the removal of the finalizer: the finalizer is how the next plan
 * recognises a claim that is no longer wanted.
 */
function deletion(claim: IPAddressClaim, why: string): Effect[] {
  const asItIs = { uid: storedField(claim, 'uid'), resourceVersion: claim.metadata.resourceVersion }
  return [{ kind: 'delete', ref: refOf(claim), if: asItIs, why }]
}

function letGo(claim: IPAddressClaim, { dialect }: Work, why: string): Effect[] {
  return isProtected(claim, dialect) ? [removeFinalizer(claim, dialect.finalizer as string, why)] : []
}

/** Whether a claim has the finalizer of the dialect. */
function isProtected(claim: IPAddressClaim, { finalizer }: Dialect): boolean {
  return finalizer !== undefined && hasFinalizer(claim, finalizer)
}

/**
 * Releases a claim of an earlier owner of the name, if the operator has named that owner. No other
 * controller would remove the finalizer, and the new claim could never be created.
 */
function dropStaleFinalizer(claim: IPAddressClaim, work: Work): Effect[] {
  const isLeft = ownershipOf(claim, work.claimOwner) === 'earlier'
  return isLeft ? letGo(claim, work, 'an earlier owner of this name has left it') : []
}

function settled(
  action: ConsumerAction,
  claim: IPAddressClaim,
  dialect: Dialect,
  { detached }: PlanClaimsOptions,
): ConsumerAction {
  const isDetached = detached?.includes(claim.metadata.name) ?? false
  if (action === 'DeleteWhenDetached') return isDetached ? 'Delete' : 'Hold'
  if (action !== 'LetGoWhenDetached') return action
  // without an address nothing is attached, and without the finalizer nothing is held
  const holdsAddress = claim.status?.addressRef !== undefined && isProtected(claim, dialect)
  return isDetached || !holdsAddress ? 'LetGo' : 'Hold'
}

/**
 * The state of a claim that is not wanted: it has an address or not, and is being deleted or not.
 */
function stateOfSurplus(claim: IPAddressClaim): ConsumerState {
  if (isDeleting(claim)) return 'Deleting(mine)'
  return claim.status?.addressRef === undefined ? 'Pending' : 'Bound'
}

/** A restored claim is recognised by the mark of the dialect alone. */
function isOurs(claim: IPAddressClaim, { claimOwner, dialect }: Omit<Work, 'surplus'>): boolean {
  return ownershipOf(claim, claimOwner) === 'mine' || (dialect.isMarked(claim) && isRestored(claim, claimOwner))
}

function claimOf({ resolution }: ResolvedClaim): IPAddressClaim | undefined {
  return resolution.kind === 'missing' ? undefined : resolution.claim
}

function finish(
  work: Work,
  effects: readonly Effect[],
  { event, attached }: { readonly event: ConsumerEvent; readonly attached: readonly string[] },
): Plan<ConsumerOutcome> {
  const { claims, dialect } = work
  const states = claims.map(({ resolution }) => consumerStateOf(resolution))
  const summary = event === 'OwnerDeleting' ? holdingOutcome(work) : outcomeOf(states, event, attached)
  const outcome: ConsumerOutcome = { ...summary, ...aggregate(claims, dialect), claims, attached }
  const isStuck = summary.kind === 'conflict' || states.some((state) => state.startsWith('Deleting'))
  return { outcome, effects, ...(event === 'Reconcile' && isStuck ? { requeueAfterSeconds: RETRY_SECONDS } : {}) }
}

/** The finalizer of an owner whose dependents the garbage collector deletes before it. */
const FOREGROUND = 'foregroundDeletion'

/** The addresses that an owner keeps while it is being deleted, and those that it loses. */
function holdingOutcome({ input, claims, surplus, dialect }: Work): Pick<ConsumerOutcome, 'kind' | 'message'> {
  const names = new Set(input.addresses.map(({ metadata }) => metadata.name))
  const mine = claims.flatMap((each) => {
    const claim = claimOf(each)
    return claim !== undefined && HAS_ADDRESS.includes(consumerStateOf(each.resolution)) ? [claim] : []
  })
  const served = [...mine, ...surplus].filter(({ status }) => names.has(status?.addressRef?.name ?? ''))
  const isKept = (claim: IPAddressClaim) =>
    isProtected(claim, dialect) || !(isDeleting(claim) || hasFinalizer(input.owner, FOREGROUND))
  const lost = served.filter((claim) => !isKept(claim)).map(({ metadata }) => metadata.name)
  const kept = `${served.length - lost.length} addresses stay in use until its infrastructure is gone`
  if (lost.length === 0) return { kind: 'holding', message: kept }
  return { kind: 'holding', message: `${kept}, and nothing holds those of ${lost.join(', ')}` }
}

const HAS_ADDRESS: readonly ConsumerState[] = ['Bound', 'Deleting(mine)']

function outcomeOf(
  states: readonly ConsumerState[],
  event: ConsumerEvent,
  attached: readonly string[],
): Pick<ConsumerOutcome, 'kind' | 'message'> {
  const total = states.length
  const count = (...wanted: readonly ConsumerState[]) => states.filter((state) => wanted.includes(state)).length
  if (event === 'InfrastructureGone') return { kind: 'released', message: 'its addresses are released' }
  if (states.every((state) => actionOn('AllBound', state) === 'Configure')) {
    const more = attached.length === 0 ? '' : `, and ${attached.length} that it no longer wants are still attached`
    return { kind: 'ready', message: `all of ${total} claims are bound${more}` }
  }
  const [conflicts, missing] = [count('Conflict'), count('Missing')]
  if (conflicts > 0) return { kind: 'conflict', message: `${conflicts} of ${total} claims cannot be used` }
  if (missing > 0) return { kind: 'creating', message: `${missing} of ${total} claims are created now` }
  const deleting = count('Deleting(mine)', 'Deleting(foreign)')
  if (deleting > 0) return { kind: 'terminating', message: `${deleting} of ${total} claims are being deleted` }
  return { kind: 'waiting', message: `${count('Pending')} of ${total} claims have no address yet` }
}
