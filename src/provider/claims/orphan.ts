import { type Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL } from '../../crd/cluster-api/names.js'
import { formatRef, hasFinalizer, isDeleting, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import type { Parsed } from '../../plan/cached-objects.js'
import { Absences, type Effect, type Plan, type PlanTime, proofOfAbsence, removeFinalizer } from '../../plan/index.js'
import { controllersOf, deletionOf } from './address-object.js'
import type { ClaimObjects } from './objects.js'
import type { ClaimOutcome } from './outcome.js'
import { refTo } from './references.js'
import { areOrphansLeft, type ProviderRules } from './rules.js'

/** What a plan for an IPAddress is made from whose claim nobody has seen. */
interface OrphanInput {
  readonly address: IPAddress
  /** The finalizer that the provider puts on an IPAddress. */
  readonly finalizer: string
  readonly pool: Parsed<KubeObject> | undefined
  readonly cluster: Parsed<Cluster> | undefined
  /** How long it stays for the case that its claim comes. */
  readonly waitSeconds: number
}

/** Looks again after this long whether what holds an IPAddress still does. */
const HELD_SECONDS = 60

/**
 * Whether an IPAddress was made for the claim of its own name by a provider with this finalizer,
 * and stays because nobody removes it. One whose finalizer was taken off in a release that then
 * broke off is known by its controller.
 */
function isMadeForClaim(address: IPAddress, finalizer: string): boolean {
  const { name } = address.metadata
  if (address.spec.claimRef.name !== name) return false
  if (hasFinalizer(address, finalizer)) return true
  return !isDeleting(address) && controllersOf(address).some((owner) => IPAddressClaim.is(owner) && owner.name === name)
}

/** The IPAddress objects whose claims nobody has seen, and since when they are seen so. */
export class Orphans {
  readonly #rules: ProviderRules
  readonly #objects: ClaimObjects
  /** Claims that are missing, by their key and for the uid of the IPAddress. */
  readonly #absences: Absences

  constructor(rules: ProviderRules, objects: ClaimObjects) {
    this.#rules = rules
    this.#objects = objects
    this.#absences = new Absences(rules.sweepAfterSeconds ?? 0)
  }

  /** There is a claim of this key. */
  forget(key: string): void {
    this.#absences.look(key, [], 0)
  }

  /** What is to be done about an IPAddress that the provider has made for a claim of this key. */
  plan(key: string, time: PlanTime): Plan<ClaimOutcome> | undefined {
    const { finalizers, sweepAfterSeconds } = this.#rules
    const objects = this.#objects
    const address = objects.address(key)
    const pool = objects.poolKeyOf(address)
    const isOurs = address !== undefined && pool !== undefined && isMadeForClaim(address, finalizers.address)
    if (!isOurs || areOrphansLeft(this.#rules) || (sweepAfterSeconds === undefined && !isDeleting(address))) {
      this.forget(key)
      return undefined
    }
    const { metadata } = address
    const { requeueAfterSeconds = 0 } = this.#absences.look(key, [`${metadata.uid}`], time.nowMs)
    const waitSeconds = isDeleting(address) ? 0 : requeueAfterSeconds
    const name = metadata.labels?.[CLUSTER_NAME_LABEL]
    const cluster = name ? objects.clusters.entry({ ...metadata, name }) : undefined
    const finalizer = finalizers.address
    return planOrphan({ address, finalizer, pool: objects.poolEntry(pool), cluster, waitSeconds })
  }
}

/**
 * What becomes of an IPAddress without its claim. One that is being deleted is let go: only our
 * finalizer holds it, and nobody is left to take that off. One that is not is removed when the time
 * for it is over, if there is such a time.
 *
 * The proof that there is no claim is asked of the store when the plan is carried out. It is about
 * the name and not about a uid: a claim of that name adopts the address, and the garbage collector
 * may have cut the uid of the one before out of it. The address is deleted before the finalizer is
 * taken off: after a crash in between it is one that is being deleted.
 */
function planOrphan(input: OrphanInput): Plan<ClaimOutcome> {
  const { address, finalizer, waitSeconds } = input
  const claim = claimRefOf(address)
  const what = `${formatRef(refOf(address))} has no claim`
  const stays = (why: string, requeueAfterSeconds?: number, remainingSeconds?: number): Plan<ClaimOutcome> => ({
    outcome: { kind: 'orphaned', remainingSeconds, message: `${what}, and ${why}` },
    effects: [],
    requeueAfterSeconds,
  })
  const held = whyHeld(input)
  if (held !== undefined) return stays(held, HELD_SECONDS)
  if (waitSeconds > 0) return stays(`is removed in ${waitSeconds} s`, waitSeconds, waitSeconds)
  const effects: Effect[] = [
    ...proofOfAbsence({ ref: claim }, 'a claim of that name adopts the address'),
    ...(isDeleting(address) ? [] : [deletionOf(address)]),
    ...(hasFinalizer(address, finalizer) ? [removeFinalizer(address, finalizer, 'its claim is gone')] : []),
  ]
  return { outcome: { kind: 'swept', address: address.spec.address, message: `${what}, and goes` }, effects }
}

function claimRefOf({ metadata, spec }: IPAddress): ObjectRef {
  return refTo(IPAddressClaim.info, metadata.namespace, spec.claimRef.name)
}

/**
 * What keeps an IPAddress as it is, claim or no claim: a move pauses the Cluster, and what cannot
 * be read may be paused.
 */
function whyHeld({ address, pool, cluster }: OrphanInput): string | undefined {
  if (hasPausedAnnotation(address)) return 'is paused'
  if (cluster?.ok === false) return `its Cluster cannot be read: ${cluster.problem}`
  if (cluster !== undefined && isClusterPaused(cluster.value)) return `${formatRef(refOf(cluster.value))} is paused`
  if (pool?.ok === false) return `its pool cannot be read: ${pool.problem}`
  if (pool !== undefined && hasPausedAnnotation(pool.value)) return `${formatRef(refOf(pool.value))} is paused`
  return undefined
}
