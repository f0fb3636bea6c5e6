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

/** The input of a plan for an IPAddress without a known claim. */
interface OrphanInput {
  readonly address: IPAddress
  /** The finalizer that the provider puts on an IPAddress. */
  readonly finalizer: string
  readonly pool: Parsed<KubeObject> | undefined
  readonly cluster: Parsed<Cluster> | undefined
  /** How long it stays in case its claim appears. */
  readonly waitSeconds: number
}

/** An IPAddress that is held by a pause is planned again after this time. */
const HELD_SECONDS = 60

/**
 * Whether a provider with this finalizer made an IPAddress for the claim of its own name. One whose
 * finalizer was removed in an interrupted release is recognised by its controller.
 */
function isMadeForClaim(address: IPAddress, finalizer: string): boolean {
  const { name } = address.metadata
  if (address.spec.claimRef.name !== name) return false
  if (hasFinalizer(address, finalizer)) return true
  return !isDeleting(address) && controllersOf(address).some((owner) => IPAddressClaim.is(owner) && owner.name === name)
}

/** The IPAddress objects without a known claim, and since when. */
export class Orphans {
  readonly #rules: ProviderRules
  readonly #objects: ClaimObjects
  /** Missing claims, by their key and the uid of the IPAddress. */
  readonly #absences: Absences

  constructor(rules: ProviderRules, objects: ClaimObjects) {
    this.#rules = rules
    this.#objects = objects
    this.#absences = new Absences(rules.sweepAfterSeconds ?? 0)
  }

  /** Called when the claim of a key exists. */
  forget(key: string): void {
    this.#absences.look(key, [], 0)
  }

  /**
   * The plan for an IPAddress that the provider has made for the claim of a key; `undefined`: none
   * is needed.
   */
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
 * Plans an IPAddress without its claim. If it is being deleted, only the finalizer of the provider
 * holds it, and is removed. Else it is deleted after the sweep time, if one is set.
 *
 * When the plan is executed, the store is asked for proof that the claim does not exist. The proof
 * is about the name, not about a uid: a claim of that name adopts the address, and the garbage
 * collector may have removed the uid of the earlier claim. The address is deleted before its
 * finalizer is removed: after a crash in between it is an address that is being deleted.
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
    ...(hasFinalizer(address, finalizer) ? [removeFinalizer(address, finalizer, 'its claim does not exist')] : []),
  ]
  return {
    outcome: {
      kind: 'swept',
      address: address.spec.address,
      message: `deleting orphaned ${formatRef(refOf(address))}`,
    },
    effects,
  }
}

function claimRefOf({ metadata, spec }: IPAddress): ObjectRef {
  return refTo(IPAddressClaim.info, metadata.namespace, spec.claimRef.name)
}

/**
 * Why an IPAddress stays, with or without a claim: a move pauses the Cluster, and an unreadable
 * object may be paused.
 */
function whyHeld({ address, pool, cluster }: OrphanInput): string | undefined {
  if (hasPausedAnnotation(address)) return 'is paused'
  if (cluster?.ok === false) return `its Cluster cannot be read: ${cluster.problem}`
  if (cluster !== undefined && isClusterPaused(cluster.value)) return `${formatRef(refOf(cluster.value))} is paused`
  if (pool?.ok === false) return `its pool cannot be read: ${pool.problem}`
  if (pool !== undefined && hasPausedAnnotation(pool.value)) return `${formatRef(refOf(pool.value))} is paused`
  return undefined
}
