import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { claimStatusPatch } from '../../../crd/ipamclaims/index.js'
import { isMigrationOf } from '../../../crd/kubevirt/migration.js'
import { isDeleting, type KindInfo, type KubeObject } from '../../../crd/meta/object.js'
import type { Effect } from '../../../plan/index.js'
import type { Assignment } from './assignment.js'
import { type ClaimReading, claimRef, ownerReading, readClaimObject } from './holder.js'
import { makeClaim } from './make-claim.js'
import type { TaskObjects } from './objects.js'
import { isCompleted, podRefOf } from './pods.js'
import type { InterfaceRequest } from './request.js'
import type { Stop } from './stop.js'

/** The claim of an ADD: whether the Pod may use it, and its status. */
export class AddClaim {
  readonly #request: InterfaceRequest
  readonly #objects: TaskObjects
  /** The kinds that can own a claim which is made. Empty: none is made. */
  readonly #owners: readonly KindInfo[]
  /** Left out: the configuration names no claim, or it was not read yet. */
  reading: ClaimReading | undefined
  /** The containers of the rows for which a Pod was read, by Pod: a later one is of a later Pod. */
  readonly #containers = new Map<string, Set<string>>()

  constructor(request: InterfaceRequest, objects: TaskObjects, owners: readonly KindInfo[]) {
    this.#request = request
    this.#objects = objects
    this.#owners = owners
  }

  /** Reads the claim; `undefined`: the claim can be used, or none is configured. */
  read(): Stop | undefined {
    const { config, podNamespace } = this.#request
    const { claim } = config
    if (claim === undefined) return undefined
    this.reading = ownerReading(claim, podNamespace)
    if (this.reading !== undefined) return undefined
    if (claim.namespace !== undefined && claim.namespace !== podNamespace) {
      const message = `a Pod of ${podNamespace} cannot use a claim of the namespace ${claim.namespace}`
      return { outcome: { kind: 'refused', message } }
    }
    const ref = claimRef(claim, podNamespace)
    const step = this.#objects.read([ref], 'the claim of the addresses')
    if (step !== undefined) return { step }
    const object = this.#objects.get(ref)
    if (!object && this.#owners.length > 0) return makeClaim(ref, this.#request, this.#objects, this.#owners)
    const read = object ? readClaimObject(ref, object) : 'it does not exist'
    const problem = typeof read === 'string' ? read : read.isDeleting ? 'it is being deleted' : undefined
    if (problem !== undefined) {
      return { outcome: { kind: 'noClaim', message: `IPAMClaim ${podNamespace}/${claim.name}: ${problem}` } }
    }
    const reading = read as ClaimReading
    const message = otherNetwork(reading, config)
    if (message !== undefined) return { outcome: { kind: 'otherNetwork', message } }
    this.reading = reading
    return undefined
  }

  /**
   * Whether another Pod uses the rows of the claim; `undefined`: none does. The target of a
   * migration shares them with its source.
   *
   * @param reserved the Pods of the reservations of the claim: a row of it can be in another pool
   */
  useStep(assignments: readonly Assignment[], reserved: readonly string[]): Stop | undefined {
    if (this.reading === undefined) return undefined
    const { podNamespace, podName } = this.#request
    const own = `${podNamespace}/${podName}`
    const rows = assignments.flatMap(({ row }) => (row?.podref ? [row] : []))
    for (const { podref, id } of rows) {
      const ref = podRefOf(podref)
      const ids = this.#containers.get(podref) ?? new Set()
      this.#containers.set(podref, ids)
      // what was read for the status or a reservation can be an earlier Pod
      if (!ids.has(id) && ref !== undefined) this.#objects.forget(ref)
      ids.add(id)
    }
    const users = [...rows.map(({ podref }) => podref), ...reserved]
    // a late DEL of an earlier container of that Pod may have taken the Pod off the row
    const { ownerPod } = this.reading
    if (ownerPod !== undefined) users.push(`${podNamespace}/${ownerPod}`)
    const others = new Set(users.filter((podref) => podref !== own))
    const refs = [...others].flatMap((podref) => podRefOf(podref) ?? [])
    if (refs.length === 0) return undefined
    const step = this.#objects.read(refs, 'whether another Pod still uses the claim')
    if (step !== undefined) return { step }
    const pods = refs.map((ref) => this.#objects.get(ref)).filter((pod) => pod && !isCompleted(pod))
    if (pods.length === 0) return undefined
    const target = podRefOf(own)
    if (target === undefined) return undefined
    const ownStep = this.#objects.read([target], 'whether the Pod is the target of a migration')
    if (ownStep !== undefined) return { step: ownStep }
    const pod = this.#objects.get(target)
    const inUse = pods.find((user) => !pod || !isMigrationOf(pod, user as KubeObject))
    if (!inUse) return undefined
    const { namespace, name } = this.reading.ref
    const isLeaving = isDeleting(inUse) ? ', which is being deleted' : ''
    const message = `IPAMClaim ${namespace}/${name} is in use by Pod ${inUse.metadata.name}${isLeaving}`
    return { outcome: { kind: 'claimInUse', message } }
  }

  /** The status of the claim with its addresses and its Pod, unless it says so. */
  statusEffects(assignments: readonly Assignment[]): readonly Effect[] {
    const claim = this.reading
    if (claim?.object === undefined) return []
    const missing = assignments.filter(
      ({ address }) => !claim.addresses.some((known) => Address.equals(known, address)),
    )
    const { podName } = this.#request
    if (missing.length === 0 && claim.ownerPod === podName) return []
    const ips = [
      ...(claim.object.status?.ips ?? []),
      ...missing.map(({ address, place }) => Prefix.format(Prefix.of(address, place.length))),
    ]
    const { uid, resourceVersion } = claim.object.metadata
    const ref = claimRef({ name: claim.ref.name }, claim.ref.namespace as string)
    const patch = claimStatusPatch({ ips, ownerPod: { name: podName } })
    return [
      { kind: 'patch', ref, patch, if: { uid, resourceVersion }, subresource: 'status', why: 'addresses of the claim' },
    ]
  }
}

/** A claim is of one network, which KubeVirt calls by the `name` of the CNI configuration. */
function otherNetwork(
  { ref, network }: ClaimReading,
  { name, networkName }: InterfaceRequest['config'],
): string | undefined {
  if (!network || network === name || network === networkName) return undefined
  return `IPAMClaim ${ref.namespace}/${ref.name} is of the network ${network}, not ${name}`
}
