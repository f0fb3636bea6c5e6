import { drawn, hashText } from '../../allocator/util/hashing.js'
import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Service } from '../../crd/core/service.js'
import { hasFinalizer, nameKey } from '../../crd/meta/object.js'
import { IPAddress } from '../../crd/networking/ip-address.js'
import {
  IP_FAMILY_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_ALLOCATOR,
  SERVICE_CIDR_FINALIZER,
} from '../../crd/networking/names.js'
import { addFinalizer, type Effect, guard, type Plan, type PlanTime, patchObject } from '../../plan/index.js'
import type { EventCause } from '../../plan/sent-events.js'
import { namedServiceAddress, nextServiceAddress, type ServiceChoice, type ServiceRefusal } from './choose.js'
import type { ServiceIPOutcome } from './outcome.js'
import { familyName, isReadyObject, type ServiceRange } from './ranges.js'
import { type Annotations, allocatedFor, secondFamily } from './second-address.js'
import { isInRange, isUsed, keeperOf, problemKey, type ServiceContext } from './state.js'
import { clusterIPsOf, KEYS, readAddress, type SeenAddress, wantsAddress } from './watches.js'

/**
 * Plans a Service: it gets addresses, or each of its addresses gets an IPAddress, or it gets the
 * address of its second family.
 */
export function planService(
  service: Service,
  context: ServiceContext,
  { nowMs }: PlanTime,
  seed: number,
): Plan<ServiceIPOutcome> {
  const { sent } = context
  const { absences, refused } = context.state
  const name = nameKey(service.metadata)
  const key = KEYS.format('Service', name)
  refused.delete(key)
  if (wantsAddress(service)) {
    const plan = planAllocation(service, context, seed)
    const events = sent.newEvents(key, service, lackOf(plan), openOf(plan))
    return { ...plan, effects: [...events, ...plan.effects] }
  }
  const looks = clusterIPsOf(service).map((text) => lookAt(text, name, context))
  const problems = looks.flatMap(({ problem }) => problem ?? [])
  const missing = looks.flatMap((look) => look.missing ?? [])
  const { due, requeueAfterSeconds } = absences.look(key, [...missing, ...problems.map(problemKey)], nowMs)
  const lasting = problems.filter((problem) => due.has(problemKey(problem)))
  const repairs = missing.filter((text) => due.has(text))
  if (repairs.length > 0) {
    // the Service may be deleted by now: its IPAddress was deleted after it
    const check = guard(service, 'it has the address')
    const creates = repairs.map((text) => createAddress(text, service, `Service ${name} has the address`))
    const reported = repairs.map((text) => repairEvent(service, text))
    const message = `${repairs.join(' and ')} had no IPAddress`
    return {
      outcome: { kind: 'repaired', message },
      // its problems are reported by the next plan, when the writes are done
      effects: [check, ...creates, ...reported],
      requeueAfterSeconds,
    }
  }
  const outcome = outcomeOf(service, problems, missing)
  const second = outcome.kind === 'ready' ? secondFamily(service, context) : undefined
  const plan = second === undefined ? { outcome, effects: [] } : planSecond(service, second, context, seed)
  const events = sent.newEvents(key, service, [...lasting, ...lackOf(plan)], openOf(plan))
  return { requeueAfterSeconds, ...plan, effects: [...events, ...plan.effects] }
}

/** The reason of the Event of a Service that gets no address. */
const LACK = 'ClusterIPNotAvailable'

/**
 * What a Service without an address is told. Ranges that are not ready have an Event of their own,
 * and are ready in a moment as a rule.
 */
function lackOf({ outcome: { kind, message } }: Plan<ServiceIPOutcome>): readonly EventCause[] {
  const isLacking = kind === 'full' || kind === 'allocated' || kind === 'notInRange' || kind === 'mismatchedNetwork'
  return isLacking ? [{ reason: LACK, message, cause: kind }] : []
}

/** What may still be true: the lack ends when the address is written. */
function openOf({ outcome }: Plan<ServiceIPOutcome>): readonly string[] {
  return outcome.kind === 'assigned' ? [LACK] : []
}

function outcomeOf(service: Service, problems: readonly EventCause[], missing: readonly string[]): ServiceIPOutcome {
  const [problem] = problems
  if (problem !== undefined) return { kind: 'problem', message: problem.message }
  if (missing.length > 0) return { kind: 'waiting', message: `${missing.join(' and ')} has no IPAddress yet` }
  const texts = clusterIPsOf(service)
  return { kind: 'ready', message: texts.length === 0 ? 'it has no cluster address' : `it has ${texts.join(' and ')}` }
}

interface Look {
  readonly problem?: EventCause | undefined
  /** The address in canonical form, if it has no IPAddress and this Service gets one. */
  readonly missing?: string | undefined
}

/** Whether an address of a Service has no IPAddress that keeps it from others. O(ranges). */
export function lacksRecord(service: Service, context: ServiceContext): boolean {
  const name = nameKey(service.metadata)
  return clusterIPsOf(service).some((text) => lookAt(text, name, context).missing !== undefined)
}

/** One address of a Service. Source of the reasons: `repairip.go` of Kubernetes 1.36. */
function lookAt(written: string, name: string, context: ServiceContext): Look {
  const { cache, state } = context
  const address = readAddress(written)
  if (address === undefined) {
    const message = `cluster IP ${JSON.stringify(written)} is not an IP address: create the Service again`
    return { problem: { reason: 'ClusterIPNotValid', message } }
  }
  const text = Address.format(address)
  const object = cache.addresses.get(text)
  const owner = keeperOf(text, context)
  if (owner !== undefined && owner !== name) {
    const message = `cluster IP ${text} is also that of Service ${owner}, which keeps it: create this Service again`
    return { problem: { reason: 'ClusterIPAlreadyAllocated', message, cause: text } }
  }
  if (!isInRange(address, state)) {
    const message = `cluster IP ${text} is in no range of a ServiceCIDR: create the Service again, or a ServiceCIDR that has it`
    return { problem: { reason: 'ClusterIPOutOfRange', message } }
  }
  return object === undefined ? { missing: text } : {}
}

function repairEvent(service: Service, text: string) {
  const { apiVersion, kind, metadata } = service
  const { name, namespace, uid } = metadata
  const message = `cluster IP ${text} had no IPAddress: created`
  return {
    kind: 'event',
    about: { apiVersion, kind, namespace, name },
    uid,
    type: 'Warning',
    reason: 'ClusterIPNotAllocated',
    message,
  } as const
}

/** The IPAddress of a Service, with `annotations` where it is a new address of the Service. */
function createAddress(text: string, service: Service, why: string, annotations?: Annotations): Effect {
  const { apiVersion, kind } = IPAddress.info
  const { namespace, name } = service.metadata
  const family = text.includes(':') ? familyName(6) : familyName(4)
  const labels = { [IP_FAMILY_LABEL]: family, [MANAGED_BY_LABEL]: SERVICE_ALLOCATOR }
  const parentRef = { group: '', resource: 'services', namespace, name }
  const metadata = { name: text, labels, ...(annotations && { annotations }) }
  return { kind: 'create', object: { apiVersion, kind, metadata, spec: { parentRef } }, why }
}

/** Gives a Service all of its addresses, or none. */
function planAllocation(service: Service, context: ServiceContext, seed: number): Plan<ServiceIPOutcome> {
  const families = familiesOf(service, context)
  if ('message' in families) return { outcome: families, effects: [] }
  const given = families.wanted.map((family, index) =>
    giveAddress(service, { family, named: index === 0 ? families.named : undefined, seed }, context),
  )
  const refusals = given.filter((each) => 'message' in each)
  // an address that becomes used wakes no Service: what the ranges refuse is told first
  const refusal = refusals.find(({ kind }) => kind !== 'full' && kind !== 'allocated') ?? refusals[0]
  if (refusal !== undefined) return { outcome: refusal, effects: [] }
  const free = given.filter((each) => 'text' in each)
  const texts = free.map(({ text }) => text)
  const spec = {
    clusterIP: texts[0] as string,
    clusterIPs: texts,
    ipFamilies: families.wanted.map(familyName),
    ipFamilyPolicy: service.spec.ipFamilyPolicy ?? 'SingleStack',
  }
  const message = texts.join(' and ')
  return {
    outcome: { kind: 'assigned', message },
    effects: [...free.flatMap(({ effects }) => effects), patchObject(service, { spec }, `it gets ${message}`)],
  }
}

/** Gives a Service that has one address the one of its second family. */
function planSecond(service: Service, family: Family, context: ServiceContext, seed: number): Plan<ServiceIPOutcome> {
  const given = giveAddress(service, { family, named: undefined, seed }, context)
  if ('message' in given) return { outcome: given, effects: [] }
  const [first = ''] = clusterIPsOf(service)
  const clusterIPs = [first, given.text]
  const ipFamilies = [familyName(family === 4 ? 6 : 4), familyName(family)]
  const spec = { clusterIP: first, clusterIPs, ipFamilies }
  return {
    outcome: { kind: 'assigned', message: clusterIPs.join(' and ') },
    effects: [...given.effects, patchObject(service, { spec }, `it gets ${given.text} as well`)],
  }
}

interface AddressQuery {
  readonly family: Family
  /** The address that the Service names. */
  readonly named: Address.Address | undefined
  readonly seed: number
}

/** The effects that give a Service one address before it is written to it, or why there is none. */
function giveAddress(
  service: Service,
  query: AddressQuery,
  context: ServiceContext,
): { readonly text: string; readonly effects: readonly Effect[] } | ServiceRefusal {
  const own = ownAddress(service, query.family, query.named, context)
  if (own !== undefined) return { text: own.text as string, effects: [adopt(own, service)] }
  const name = nameKey(service.metadata)
  const choice = choose(service, query, context)
  if (choice.kind !== 'free') {
    context.state.refused.add(KEYS.format('Service', name))
    return choice
  }
  const text = Address.format(choice.address)
  const create = createAddress(text, service, `Service ${name} gets it`, allocatedFor(service))
  return { text, effects: takeAddress(choice, create, context) }
}

/**
 * Creates an IPAddress only while its range is ready: a ServiceCIDR that is being deleted gives
 * none. One without the finalizer gets it first, as it would be deleted at once.
 */
function takeAddress(
  { range }: Extract<ServiceChoice, { kind: 'free' }>,
  create: Effect,
  { state: { unkept } }: ServiceContext,
): readonly Effect[] {
  const ready = range.objects.filter(isReadyObject)
  const withFinalizer = ready.filter((object) => hasFinalizer(object, SERVICE_CIDR_FINALIZER))
  const kept = withFinalizer.find(({ metadata }) => !unkept.has(metadata.name)) ?? withFinalizer[0]
  if (kept !== undefined) return [guard(kept, 'Services get addresses of it'), create]
  const why = 'keeps it while addresses depend on it'
  const open = ready.filter(({ metadata }) => !unkept.has(metadata.name))
  return [...open.slice(0, 1).map((object) => addFinalizer(object, SERVICE_CIDR_FINALIZER, why)), create]
}

/** Whether the store refuses no write of a ready ServiceCIDR of a range, as far as known. */
function isOpen({ objects }: ServiceRange, { unkept }: ServiceContext['state']): boolean {
  return objects.some((object) => isReadyObject(object) && !unkept.has(object.metadata.name))
}

/** Whether a ready ServiceCIDR of a range has its finalizer, or can get it as far as known. */
function isKept({ objects }: ServiceRange, { unkept }: ServiceContext['state']): boolean {
  const ready = objects.filter(isReadyObject)
  return ready.some((object) => hasFinalizer(object, SERVICE_CIDR_FINALIZER) || !unkept.has(object.metadata.name))
}

/**
 * The guard of a creation is a write as well: a ServiceCIDR that has its finalizer, and whose
 * writes the store refuses, is tried when no other one has an address.
 */
function choose(
  service: Service,
  { family, named, seed }: AddressQuery,
  { state, holdings }: ServiceContext,
): ServiceChoice {
  const { unkept, ranges } = state
  const ledger = holdings.ledger()
  const { uid = '' } = service.metadata
  const start = drawn(hashText(`${seed} ${uid} ${family}`))
  const denied = state.denied.get(KEYS.format('Service', service.metadata))?.addresses ?? RangeSet.empty
  const rest: Pick<typeof ledger, 'next'> = {
    next: ({ within = RangeSet.empty, ...query } = {}) =>
      ledger.next({ ...query, within: RangeSet.subtract(within, denied) }),
  }
  const chooseFrom = (list: readonly ServiceRange[]) => {
    if (named !== undefined) return namedServiceAddress(list, ledger, named)
    const choice = nextServiceAddress(list, rest, { family, start })
    return choice.kind === 'full' ? nextServiceAddress(list, ledger, { family, start }) : choice
  }
  if (unkept.size === 0) return chooseFrom(ranges)
  const choice = chooseFrom(ranges.map((range) => ({ ...range, isReady: isOpen(range, state) })))
  if (choice.kind === 'free') return choice
  return chooseFrom(ranges.map((range) => ({ ...range, isReady: isKept(range, state) })))
}

interface Families {
  readonly wanted: readonly Family[]
  /** The address that the Service requests, of the first family. */
  readonly named: Address.Address | undefined
}

/** The families of a Service in order: those that it names, else that of the oldest ServiceCIDR. */
function familiesOf({ spec }: Service, { state: { ranges } }: ServiceContext): Families | ServiceRefusal {
  const { clusterIP = '', ipFamilies = [], ipFamilyPolicy = 'SingleStack' } = spec
  const named = clusterIP === '' ? undefined : readAddress(clusterIP)
  if (clusterIP !== '' && named === undefined) {
    return { kind: 'mismatchedNetwork', message: `cluster IP ${JSON.stringify(clusterIP)} is not an IP address` }
  }
  const unknown = ipFamilies.find((family) => family !== 'IPv4' && family !== 'IPv6')
  if (unknown !== undefined) {
    return { kind: 'mismatchedNetwork', message: `IP family ${JSON.stringify(unknown)} is not IPv4 or IPv6` }
  }
  const offered = new Set(ranges.map(({ prefix }) => prefix.address.family))
  const asked = ipFamilies[0] === undefined ? undefined : ipFamilies[0] === 'IPv4' ? 4 : 6
  const first = asked ?? named?.family ?? [...offered][0]
  if (first === undefined) return { kind: 'mismatchedNetwork', message: 'there is no ServiceCIDR' }
  if (named !== undefined && named.family !== first) {
    return { kind: 'mismatchedNetwork', message: `cluster IP ${clusterIP} is not of family ${familyName(first)}` }
  }
  const second = first === 4 ? 6 : 4
  const isDual = ipFamilyPolicy === 'RequireDualStack' || (ipFamilyPolicy === 'PreferDualStack' && offered.has(second))
  return { wanted: isDual ? [first, second] : [first], named }
}

/**
 * An address that was created for a Service and not written to it: its writer was interrupted. In a
 * range, as any address that a Service gets.
 */
function ownAddress(
  service: Service,
  family: Family,
  named: Address.Address | undefined,
  context: ServiceContext,
): SeenAddress | undefined {
  const { cache, state } = context
  const text = named && Address.format(named)
  return cache.addresses
    .by('service', nameKey(service.metadata))
    .find(
      (own) =>
        own.address?.family === family &&
        isInRange(own.address, state) &&
        own.isManaged &&
        own.text === own.object.metadata.name &&
        own.object.metadata.deletionTimestamp === undefined &&
        !isUsed(own.text, context) &&
        (text === undefined || own.text === text),
    )
}

/**
 * Writes to an IPAddress before its Service gets the address. A writer that is about to delete it,
 * because it has read a version of the Service that wants no address, then meets a conflict.
 */
function adopt({ object }: SeenAddress, service: Service): Effect {
  return patchObject(object, { metadata: { annotations: allocatedFor(service) } }, 'it was created for the Service')
}
