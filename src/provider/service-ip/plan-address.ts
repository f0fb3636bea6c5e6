import { Service } from '../../crd/core/service.js'
import { isDeleting, type ObjectRef, readNameKey } from '../../crd/meta/object.js'
import {
  deleteObject,
  type Effect,
  eventAbout,
  guard,
  type Plan,
  type PlanTime,
  proofOfAbsence,
} from '../../plan/index.js'
import type { EventCause } from '../../plan/sent-events.js'
import type { ServiceIPOutcome } from './outcome.js'
import { isAllocatedFor, mayGetSecond } from './second-address.js'
import { isInRange, isUsed, keeperOf, problemKey, type ServiceContext } from './state.js'
import { addressesOf, KEYS, type SeenAddress, wantsAddress } from './watches.js'

/** The use of an IPAddress. */
type Finding =
  | { readonly is: 'fine'; readonly outcome: ServiceIPOutcome }
  | { readonly is: 'problem'; readonly problem: EventCause }
  /** The IPAddress is not needed. `proof`: effects that have to succeed before it is deleted. */
  | { readonly is: 'surplus'; readonly why: string; readonly proof: readonly Effect[] }

/**
 * Plans an IPAddress: it is deleted if nothing needs it, now and after the grace period, and the
 * store confirms that. An IPAddress that a Service uses is never deleted; its problems are
 * reported.
 */
export function planAddress(seen: SeenAddress, context: ServiceContext, { nowMs }: PlanTime): Plan<ServiceIPOutcome> {
  const { state } = context
  const { object } = seen
  const key = KEYS.format('IPAddress', object.metadata)
  const finding = findingOf(seen, context)
  const { due, requeueAfterSeconds } = state.absences.look(key, waitsFor(finding), nowMs)
  const problems = finding.is === 'problem' && due.size > 0 ? [finding.problem] : []
  const events = context.sent.newEvents(key, object, problems)
  switch (finding.is) {
    case 'fine':
      return { outcome: finding.outcome, effects: events }
    case 'problem':
      return { outcome: { kind: 'problem', message: finding.problem.message }, effects: events, requeueAfterSeconds }
    case 'surplus': {
      const { why, proof } = finding
      if (due.size === 0) return { outcome: { kind: 'waiting', message: why }, effects: events, requeueAfterSeconds }
      const event = eventAbout(object, { type: 'Warning', reason: 'IPAddressNotAllocated', message: `${why}: deleted` })
      return { outcome: { kind: 'repaired', message: why }, effects: [...proof, deleteObject(object, why), event] }
    }
  }
}

/** What has to stay true for the grace period. */
function waitsFor(finding: Finding): readonly string[] {
  if (finding.is === 'fine') return []
  return [finding.is === 'surplus' ? finding.why : problemKey(finding.problem)]
}

function findingOf(seen: SeenAddress, context: ServiceContext): Finding {
  const { object, address, text, parent, problem } = seen
  const { name } = object.metadata
  const fine = (kind: ServiceIPOutcome['kind'], message: string): Finding => ({
    is: 'fine',
    outcome: { kind, message },
  })
  if (isDeleting(object)) return fine('terminating', 'it is being deleted')
  if (!seen.isManaged) return fine('foreign', `it belongs to ${parent}, and another component manages it`)
  if (problem !== undefined) return wrong('IPAddressNotValid', `IPAddress ${name} cannot be read: ${problem}`)
  if (address === undefined || text === undefined) {
    return wrong('IPAddressNotValid', `the name of IPAddress ${name} is not an IP address: delete it`)
  }
  const entry = seen.service === undefined ? undefined : context.cache.services.entry(seen.service)
  if (entry?.ok === false) return wrong('ServiceNotReadable', `${parent} cannot be read: ${entry.problem}`)
  if (!isUsed(text, context)) return unused(seen, entry?.value, context)
  if (name !== text) return notCanonical(seen, text, context)
  if (entry === undefined || !addressesOf(entry.value).includes(text)) {
    const has = `Service ${keeperOf(text, context)} has it`
    return wrong(
      'IPAddressWrongReference',
      `the parent of IPAddress ${name} is ${parent}, and ${has}: create that Service again`,
    )
  }
  if (!isInRange(address, context.state)) {
    return wrong('IPAddressOutOfRange', `IPAddress ${name} is in no range of a ServiceCIDR`)
  }
  return fine('ready', `${parent} has it`)
}

function wrong(reason: string, message: string): Finding {
  return { is: 'problem', problem: { reason, message } }
}

/** An IPAddress in use whose name does not keep others from creating the same address. */
function notCanonical({ object }: SeenAddress, text: string, { cache }: ServiceContext): Finding {
  const { name } = object.metadata
  const canonical = cache.addresses.get(text)
  if (canonical === undefined || isDeleting(canonical.object)) {
    return wrong('IPAddressNotCanonical', `IPAddress ${name} should have the name ${text}`)
  }
  const proof = [guard(canonical.object, 'it has the address under its right name')]
  return { is: 'surplus', why: `IPAddress ${text} has the address of ${name}`, proof }
}

/** An address that no Service uses. */
function unused(seen: SeenAddress, own: Service | undefined, context: ServiceContext): Finding {
  const { object, address, service, parent } = seen
  const { name } = object.metadata
  if (service === undefined) {
    return wrong('IPAddressWrongReference', `the parent of IPAddress ${name} is ${parent}, and no Service: delete it`)
  }
  if (own === undefined) {
    const proof = proofOfAbsence({ ref: serviceRef(service) }, `${parent} would have the address`)
    return { is: 'surplus', why: `${parent} does not exist`, proof }
  }
  const isUsable = address !== undefined && isInRange(address, context.state)
  // a writer that sees other ranges may be about to give it to this version of the Service
  const isGiven = isAllocatedFor(object, own)
  if (isGiven || (isUsable && (wantsAddress(own) || mayGetSecond(own, address.family, context))))
    return { is: 'fine', outcome: { kind: 'waiting', message: `${parent} gets it` } }
  return {
    is: 'surplus',
    why: `${parent} does not use ${name}`,
    proof: [guard(own, 'it does not use the address')],
  }
}

function serviceRef(service: string): ObjectRef {
  const { apiVersion, kind } = Service.info
  return { apiVersion, kind, ...readNameKey(service) }
}
