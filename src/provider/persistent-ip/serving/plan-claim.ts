import * as Address from '../../../cidr/nouns/address.js'
import { claimAddresses, claimStatusPatch, type IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { migrationStage } from '../../../crd/kubevirt/index.js'
import { isDeleting, nameKey, refOf } from '../../../crd/meta/object.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import { type Effect, type EventCause, type Plan, patchStatus } from '../../../plan/index.js'
import { type ClaimPlan, claimPlan } from './claim-plan.js'
import { claimStatus } from './claim-status.js'
import { mayUse } from './claim-user.js'
import type { Given } from './edited-claims.js'
import { isElsewhere, KEYS } from './holds.js'
import { macHolder } from './mac-holder.js'
import { interfacesOf, nameOfPod, networkNamed, type PodInterface } from './networks.js'
import { type PersistentIPsOutcome, type PersistentIPsReason, unreadable } from './outcome.js'
import { type PodPlan, podPlan } from './pod-plan.js'
import { podStage } from './pod-stage.js'
import { addressesOf, writePod } from './pod-writes.js'
import { type ServingContext, waitsForAddress } from './serving-context.js'
import { writeStatus } from './status-write.js'
import { nadOfKey, networksOf, type ServedPod } from './watches.js'

/** A Pod that names the claim, with its interfaces that do. */
interface User {
  readonly served: ServedPod
  readonly interfaces: readonly PodInterface[]
}

interface Refusal {
  readonly reason: PersistentIPsReason
  readonly message: string
}

/** Plans what a claim and the Pods that name it get: the status of the claim, then the Pods. */
export function planClaim(
  key: string,
  name: string,
  context: ServingContext,
  nowMs: number,
): Plan<PersistentIPsOutcome> | undefined {
  const { cache } = context
  const entry = cache.claims.entry(name)
  const pods = cache.pods.by('claim', name).filter(({ pod }) => podStage(pod) === 'served')
  if (entry === undefined) {
    if (pods.length === 0) return undefined
    return only('waiting', `IPAMClaim ${name} does not exist, and is named by ${pods.map(nameOfPod).join(', ')}`)
  }
  if (!entry.ok) return unreadable(editKey(key), entry, context.sent)
  if (cache.definitions === undefined) return only('off', 'the feature is off')
  const before = cache.edited.before(entry.value)
  if (before === undefined) return planWith(key, entry.value, pods, context, nowMs)
  // the status is written with the addresses before the edit, on the version with the edit
  const { spec, status } = entry.value
  const { network = spec.network, texts } = before
  const counting = { ...entry.value, spec: { ...spec, network }, status: { ...status, ips: texts } }
  const plan = planWith(key, counting, pods, context, nowMs)
  return restored(key, entry.value, plan, { network, texts }, context)
}

/**
 * The plan for a claim that another client has edited: its addresses are set back. The network of
 * its spec is not, but the claim keeps its addresses in the one that gave them.
 */
function restored(
  key: string,
  claim: IPAMClaim,
  plan: Plan<PersistentIPsOutcome>,
  { network, texts }: Given,
  { sent, isUnchanged }: ServingContext,
): Plan<PersistentIPsOutcome> {
  const { ips = [], ownerPod, conditions } = claim.status ?? {}
  const isEdited = ips.join() !== texts.join()
  const isWritten = plan.effects.some((effect) => effect.kind === 'patch' && effect.subresource === 'status')
  const status = { ips: texts, ...(ownerPod && { ownerPod }), ...(conditions && { conditions }) }
  const isDone = !isEdited || isWritten || isUnchanged(refOf(claim))
  const write = isDone ? [] : [patchStatus(claim, claimStatusPatch(status), 'its status was edited')]
  const message = `status.ips was changed to [${ips.join(', ')}], and is set back to [${texts.join(', ')}]`
  const its = claim.spec.network
  const moved = {
    reason: 'NetworkMismatch',
    message: `spec.network was changed to ${its}: the claim keeps its addresses in ${network}`,
  }
  const causes = [...(isEdited ? [{ reason: 'StatusEdited', message }] : []), ...(its === network ? [] : [moved])]
  const effects = [...write, ...plan.effects, ...sent.newEvents(editKey(key), claim, causes)]
  if (its !== network) return { ...plan, outcome: refusedBy([moved]), effects }
  const outcome = plan.outcome.kind === 'served' ? { kind: 'restored' as const, message } : plan.outcome
  return { ...plan, outcome, effects }
}

/** The key under which the Events about an edit of a claim are remembered. */
export function editKey(key: string): string {
  return `${key} status`
}

function only(kind: 'waiting' | 'off', message: string): Plan<PersistentIPsOutcome> {
  return { outcome: { kind, message }, effects: [] }
}

function planWith(
  key: string,
  claim: IPAMClaim,
  pods: readonly ServedPod[],
  context: ServingContext,
  nowMs: number,
): Plan<PersistentIPsOutcome> {
  const network = networkNamed(claim.spec.network, context.cache)
  const users = pods.map((served) => ({ served, interfaces: naming(served, claim, context) }))
  const refusals = new Map<User, Refusal>()
  for (const user of users) {
    const refusal = refusalOf(user, claim)
    if (refusal !== undefined) refusals.set(user, refusal)
  }
  if (network === undefined) return withoutNetwork(key, claim, users, refusals, context)
  const read = claimAddresses(claim)
  const has = read.ok ? read.value : []
  const asking = users.filter((user) => user.interfaces.length > 0 && !refusals.has(user) && !isGoing(user, has))
  const own = new Set([key, ...asking.map(({ served }) => KEYS.format('Pod', nameOfPod(served)))])
  const isLater = (holder: string) => cameLater(holder, claim, context)
  const record = context.open({ object: claim, network: network.definition, own, isLater, has })
  const isTaken = (address: Address.Address) => record.isTaken(address)
  const decided = claimPlan({
    claim,
    network: network.definition,
    pods: asking.map(({ served, interfaces: [first, ...others] }) => ({
      name: served.pod.metadata.name,
      interfaces: 1 + others.length,
      requests: first!.attachment.ips,
      addresses: addressesOf(first!),
      macHolder: macHolder(served, first!, context.cache, context.options),
      migration: migrationStage(served.pod),
    })),
    isTaken,
    next: (within) => record.next(within),
    terminatingClaim: context.options.terminatingClaim,
    isStretched: context.options.stretched?.includes(network.definition.name),
  })
  const step = record.before(decided.condition?.status === 'True' ? decided.addresses : [])
  const plan = step?.isExhausted === true ? exhausted(decided, step.message) : decided
  if (step !== undefined && !step.isExhausted) {
    const { message, effects, requeueAfterSeconds } = step
    return { outcome: { kind: 'waiting', message }, effects, requeueAfterSeconds }
  }
  if (waitsForAddress(plan.condition?.reason)) context.wait(claim.spec.network)
  const writes = asking.flatMap((user) => {
    const given = planOfPod(user, plan, isTaken)
    if (given.kind === 'refused') refusals.set(user, given)
    return writePod(user.served, [{ interface: user.interfaces[0]!, plan: given }])
  })
  const status = statusOf(claim, plan, context, nowMs)
  const checks = writes.length > 0 && status.length === 0 ? context.checks(claim) : []
  return {
    outcome: outcomeOf(plan, [...refusals.values()]),
    effects: [...status, ...checks, ...writes, ...eventsOf(key, users, refusals, context)],
    requeueAfterSeconds: step?.requeueAfterSeconds,
  }
}

/** The plan for a claim of a network without a definition. Its Pods may be in another one. */
function withoutNetwork(
  key: string,
  { spec }: IPAMClaim,
  users: readonly User[],
  refusals: ReadonlyMap<User, Refusal>,
  context: ServingContext,
): Plan<PersistentIPsOutcome> {
  const effects = eventsOf(key, users, refusals, context)
  const message = `no definition of the network ${JSON.stringify(spec.network)} exists`
  if (refusals.size === 0) return { outcome: { kind: 'waiting', message }, effects }
  return { outcome: refusedBy([{ reason: 'NetworkMismatch', message }, ...refusals.values()]), effects }
}

/**
 * Whether a holder came later, with an address that this claim has: the claim of another cluster,
 * which has served no Pod here, or a Pod that has it by a definition that does not exist.
 */
function cameLater(holder: string, claim: IPAMClaim, { cache }: ServingContext): boolean {
  if (!isAllocated(claim)) return false
  if (isElsewhere(holder, claim.spec.network, cache)) return true
  const read = KEYS.read(holder)
  const other = read?.kind === 'IPAMClaim' ? cache.claims.get(read.name) : undefined
  return other !== undefined && !isAllocated(other)
}

/** Whether a claim has served a Pod here. A later condition `False` does not change that. */
function isAllocated({ status }: IPAMClaim): boolean {
  if (status?.ownerPod !== undefined) return true
  return status?.conditions?.some((each) => each.type === 'IPsAllocated' && each.status === 'True') === true
}

/**
 * Whether a Pod is being deleted and has no address of the claim. One of an earlier machine of the
 * same name then keeps what it has, and gives nothing to the new claim.
 */
function isGoing({ served: { pod }, interfaces: [first] }: User, has: readonly InterfaceAddress[]): boolean {
  const own = first === undefined ? [] : addressesOf(first)
  return isDeleting(pod) && !own.some(({ address }) => has.some((one) => Address.equals(one.address, address)))
}

function exhausted(plan: ClaimPlan, message: string): ClaimPlan {
  return plan.condition === undefined ? plan : { ...plan, condition: { ...plan.condition, message } }
}

/** The interfaces of a Pod that name a claim of its namespace. */
function naming(served: ServedPod, claim: IPAMClaim, { cache, options }: ServingContext): readonly PodInterface[] {
  const { interfaces } = interfacesOf(served, cache, options)
  return interfaces.filter(
    ({ attachment, network }) => attachment.claim === claim.metadata.name && network.definition.claims === 'honoured',
  )
}

function refusalOf({ served, interfaces }: User, claim: IPAMClaim): Refusal | undefined {
  const what = `IPAMClaim ${nameKey(claim.metadata)}`
  const other = interfaces.find(({ network }) => network.definition.name !== claim.spec.network)
  if (other !== undefined) {
    const message = `${what} is of the network ${claim.spec.network}, not of ${other.network.definition.name}`
    return { reason: 'NetworkMismatch', message }
  }
  if (mayUse(served.pod, claim)) return undefined
  return { reason: 'NotOfOwner', message: `${what} has other owners than Pod ${nameOfPod(served)}` }
}

function planOfPod(
  { served, interfaces }: User,
  claim: ClaimPlan,
  isTaken: (address: Address.Address) => boolean,
): PodPlan {
  const { network, attachment, has } = interfaces[0]!
  // an interface that was unplugged may have left its addresses under the key of another one
  const entry = networksOf(served).find(
    (each) => each.network !== attachment.key && network.nads.has(nadOfKey(each.network)) && hasAny(each, claim),
  )
  if (entry !== undefined) {
    const message = `the Pod has the addresses of the claim as ${entry.network}, not as ${attachment.key}`
    return { kind: 'refused', reason: 'AddressesDiffer', message }
  }
  return podPlan({
    pod: served.pod.metadata.name,
    network: network.definition,
    requests: attachment.ips,
    requestedMAC: attachment.mac,
    addresses: has?.addresses ?? [],
    mac: has?.mac,
    claim,
    isTaken,
    next: () => undefined,
  })
}

function hasAny({ addresses }: { readonly addresses: readonly InterfaceAddress[] }, claim: ClaimPlan): boolean {
  return addresses.some(({ address }) => claim.addresses.some((one) => Address.equals(one.address, address)))
}

function statusOf(
  claim: IPAMClaim,
  plan: ClaimPlan,
  { cache, isUnchanged }: ServingContext,
  nowMs: number,
): readonly Effect[] {
  const status = claimStatus(claim, plan, `${new Date(nowMs).toISOString().slice(0, -5)}Z`)
  if (status === undefined || isUnchanged(refOf(claim))) return []
  const stored = cache.claims.entry(claim.metadata)?.object ?? claim
  return [writeStatus(claim, stored, status, plan.isNew)]
}

function eventsOf(
  key: string,
  users: readonly User[],
  refusals: ReadonlyMap<User, Refusal>,
  { cache, sent }: ServingContext,
): readonly Effect[] {
  return users.flatMap((user) => {
    const name = nameOfPod(user.served)
    const object = cache.pods.entry(name)?.object
    const refusal = refusals.get(user)
    const causes: readonly EventCause[] = refusal === undefined ? [] : [refusal]
    return object === undefined ? [] : sent.newEvents(eventKey(key, name), object, causes)
  })
}

/** The key under which the Events of a Pod about a claim are remembered. */
export function eventKey(key: string, pod: string): string {
  return `${key} ${pod}`
}

function refusedBy(all: readonly EventCause[]): PersistentIPsOutcome {
  const reasons = [...new Set(all.map(({ reason }) => reason as PersistentIPsReason))]
  return { kind: 'refused', message: [...new Set(all.map(({ message }) => message))].join('; '), reasons }
}

function outcomeOf({ phase, condition }: ClaimPlan, refusals: readonly Refusal[]): PersistentIPsOutcome {
  const failed = condition?.status === 'False' ? [condition] : []
  const all = [...failed, ...refusals]
  if (all.length > 0) return refusedBy(all)
  if (phase === 'Releasing') return { kind: 'releasing', message: 'the claim is being deleted' }
  if (phase === 'Pending') return { kind: 'pending', message: 'no Pod asks for addresses yet' }
  return { kind: 'served', message: 'the claim has its addresses' }
}
