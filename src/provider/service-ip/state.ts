import { Ledger } from '../../allocator/index.js'
import type { Address } from '../../cidr/index.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Service } from '../../crd/core/service.js'
import { isDeleting, nameKey } from '../../crd/meta/object.js'
import type { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { Absences, byAge, type PlannerContext } from '../../plan/index.js'
import { type EventCause, SentEvents } from '../../plan/sent-events.js'
import {
  addressText,
  canHold,
  hostPrefix,
  isReadyObject,
  prefixesOf,
  type ServiceRange,
  serviceRanges,
  usableAddresses,
} from './ranges.js'
import { addressesOf, KEYS, readAddress, type ServiceWatches, WAITING } from './watches.js'

/** The holder of an address: `Service default/web`, or the parent of an IPAddress as text. */
export interface ServiceHolder {
  readonly key: string
  /** `namespace/name` of the Service that keeps the address, if several have it. */
  readonly owner?: string | undefined
}

/** The state of the planner beside the objects. */
export interface ServiceIPState {
  /** The addresses that have an IPAddress, or that a Service has; and those about to be created. */
  readonly ledger: Ledger<ServiceHolder>
  readonly absences: Absences
  /**
   * Services for which no address was free, or not the one that they name: they wait for a release.
   */
  readonly refused: Set<string>
  /** Names of ServiceCIDRs of which the store has refused a write: no Service waits for it. */
  readonly unkept: Set<string>
  /**
   * Why the store has refused the last write of a key, and the addresses that it has refused since
   * the key had nothing to write: the Service gets one of them if there is no other one.
   */
  readonly denied: Map<string, { readonly code: string; readonly addresses: RangeSet.RangeSet }>
  /** The Events about problems that were sent. */
  readonly sent: SentEvents
  /** The ranges of all ServiceCIDRs, the oldest first. */
  ranges: readonly ServiceRange[]
}

export type ServiceContext = PlannerContext<ServiceWatches, ServiceIPState>

/** @param before the state before a reset: reported problems are not reported again */
export function newState(graceSeconds: number, before?: ServiceIPState): ServiceIPState {
  return {
    ledger: new Ledger({ space: RangeSet.empty }),
    absences: new Absences(graceSeconds),
    refused: new Set(),
    unkept: new Set(),
    denied: new Map(),
    sent: before?.sent ?? new SentEvents(),
    ranges: [],
  }
}

/** The Services that lack an address, the oldest first. */
export function waitingKeys({ cache }: ServiceContext): readonly string[] {
  return cache.services.by('waiting', WAITING).map(({ metadata }) => KEYS.format('Service', metadata))
}

/**
 * Records the present holder of an address, and returns the keys that it concerns. The other
 * Services that have the address are among them only if another one keeps it now. O(IPAddress
 * objects of the address), else O(its Services).
 *
 * @param changed the Service that has changed, if it is one
 */
export function recordAddress(text: string, changed: Service | undefined, context: ServiceContext): readonly string[] {
  const { cache, state } = context
  const { ledger } = state
  const address = readAddress(text)
  if (address === undefined) return []
  const [object] = cache.addresses.by('address', text)
  const before = ledger.get(text)?.holder
  const owner = ownerOf(text, [object?.service, before?.owner], changed, context)
  const key = object?.parent ?? (owner && KEYS.format('Service', owner))
  if (key === undefined) ledger.delete(text)
  else ledger.set(text, { prefix: hostPrefix(address), reason: 'held', holder: { key, owner } })
  const isChanged = (before === undefined) !== (key === undefined)
  const isSameOwner = owner !== undefined && before?.owner === owner
  return [
    ...(isSameOwner ? [KEYS.format('Service', owner), ...addressKeysAt(text, context)] : keysAt(text, context)),
    ...(isChanged ? endingKeys(cache.ranges) : []),
    ...(isChanged && before !== undefined ? state.refused : []),
  ]
}

/**
 * The Service that keeps an address: that of its IPAddress, else the oldest one.
 *
 * @param known the Service of the IPAddress, and the one that kept the address before
 */
function ownerOf(
  text: string,
  [ofObject, before]: readonly (string | undefined)[],
  changed: Service | undefined,
  { cache }: ServiceContext,
): string | undefined {
  const userOf = (name: string | undefined) => {
    const service = name === undefined ? undefined : cache.services.get(name)
    return service !== undefined && addressesOf(service).includes(text) ? service : undefined
  }
  const kept = userOf(ofObject)
  if (kept !== undefined) return nameKey(kept.metadata)
  const oldest = userOf(before)
  const other = changed && userOf(nameKey(changed.metadata))
  // what is older than the oldest one before is the changed one
  const first = ofObject === undefined && oldest && other ? [oldest, other].sort(byAge)[0] : undefined
  const [user] = first === undefined ? cache.services.by('address', text) : [first]
  return user && nameKey(user.metadata)
}

/** The ServiceCIDRs that are being deleted. */
function endingKeys(ranges: Iterable<ServiceCIDR>): readonly string[] {
  return [...ranges].filter(isDeleting).map(({ metadata }) => KEYS.format('ServiceCIDR', metadata))
}

/**
 * Reads the present ranges, and returns the keys that a change of one concerns: all ranges, the
 * waiting Services if it is ready now or was, and the addresses in its CIDRs if these have changed.
 * O(ranges + addresses).
 */
export function recordRanges(
  before: ServiceCIDR | undefined,
  now: ServiceCIDR | undefined,
  context: ServiceContext,
): readonly string[] {
  const { cache, state } = context
  const objects = [...cache.ranges].sort(byAge)
  state.ranges = serviceRanges(objects)
  const keys = objects.map(({ metadata }) => KEYS.format('ServiceCIDR', metadata))
  const [was, is] = [before, now].map((object) => object !== undefined && isReadyObject(object))
  const isSame = String(before?.spec.cidrs) === String(now?.spec.cidrs)
  const wasUnkept = state.unkept.delete((now ?? before)?.metadata.name ?? '')
  if (was !== is || !isSame || wasUnkept) keys.push(...waitingKeys(context))
  if (isSame) return keys
  state.ledger.setSpace({ space: usableAddresses(state.ranges) })
  const prefixes = [before, now].flatMap((object) => (object === undefined ? [] : prefixesOf(object)))
  for (const prefix of prefixes) {
    for (const { prefix: held } of state.ledger.holders(prefix)) keys.push(...keysAt(addressText(held), context))
  }
  return keys
}

/** The keys of all objects of an address. */
function keysAt(text: string, context: ServiceContext): readonly string[] {
  const services = context.cache.services.by('address', text)
  return [...services.map(({ metadata }) => KEYS.format('Service', metadata)), ...addressKeysAt(text, context)]
}

function addressKeysAt(text: string, { cache }: ServiceContext): readonly string[] {
  return cache.addresses.by('address', text).map(({ object }) => KEYS.format('IPAddress', object.metadata))
}

/** Whether any range can hold an address ({@link canHold}). O(ranges). */
export function isInRange(address: Address, { ranges }: ServiceIPState): boolean {
  return ranges.some(({ prefix }) => canHold(prefix)(address))
}

/** Names a problem among those of an object. */
export function problemKey({ reason, message, cause = message }: EventCause): string {
  return `${reason} ${cause}`
}
