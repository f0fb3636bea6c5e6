import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { Service } from '../../crd/core/service.js'
import { isDeleting, type KubeObject, nameKey } from '../../crd/meta/object.js'
import type { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import type { Holding, Moved } from '../../plan/holdings.js'
import { Absences, byAge, type Parsed, type PlannerContext } from '../../plan/index.js'
import type { EventCause } from '../../plan/sent-events.js'
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
import { addressesOf, KEYS, readAddress, type SeenAddress, type ServiceWatches, WAITING } from './watches.js'

/** The state of the planner beside the objects. */
export interface ServiceIPState {
  readonly absences: Absences
  /**
   * Services for which no address was free, or not the one that they name: they wait for a release.
   */
  readonly refused: Set<string>
  /** Names of ServiceCIDRs of which the store has refused a write: no Service waits for it. */
  readonly unkept: Set<string>
  /**
   * Why the store has refused the last write of a key, and the addresses that it has refused since
   * the key had nothing to write and its addresses: the Service gets one of them if there is no
   * other one.
   */
  readonly denied: Map<string, { readonly code: string; readonly addresses: RangeSet.RangeSet }>
  /** The ranges of all ServiceCIDRs, the oldest first. */
  ranges: readonly ServiceRange[]
}

export type ServiceContext = PlannerContext<ServiceWatches, ServiceIPState>

export function newState(graceSeconds: number): ServiceIPState {
  return {
    absences: new Absences(graceSeconds),
    refused: new Set(),
    unkept: new Set(),
    denied: new Map(),
    ranges: [],
  }
}

/** The Services that lack an address, the oldest first. */
export function waitingKeys({ cache }: ServiceContext): readonly string[] {
  return cache.services.by('waiting', WAITING).map(({ metadata }) => KEYS.format('Service', metadata))
}

/** What a Service has: the addresses in it that can be read, also if the Service cannot be. */
export function heldByService({ object }: Parsed<Service>): readonly Holding[] {
  const key = KEYS.format('Service', object.metadata)
  return textsIn(object).flatMap((text) => {
    const address = readAddress(text)
    return address === undefined ? [] : [{ prefix: hostPrefix(address), key, field: 'spec.clusterIPs' }]
  })
}

function textsIn({ spec }: KubeObject & { readonly spec?: unknown }): readonly string[] {
  const { clusterIPs } = (spec ?? {}) as { readonly clusterIPs?: unknown }
  return Array.isArray(clusterIPs) ? clusterIPs.filter((text) => typeof text === 'string') : []
}

/** What an IPAddress has: the address of its name, for its Service. */
export function heldByAddress(entry: Parsed<SeenAddress>): readonly Holding[] {
  if (!entry.ok || entry.value.address === undefined) return []
  const { object, address, service, parent } = entry.value
  const key = service === undefined ? KEYS.format('IPAddress', object.metadata) : KEYS.format('Service', service)
  return [{ prefix: hostPrefix(address), key, owner: parent, field: 'metadata.name' }]
}

/**
 * After an address has other holders: two of them, the Service that keeps it, its IPAddress
 * objects, and ServiceCIDRs that wait for its end. After it came free: Services that no address was
 * free for, and Services to which the store has refused only others.
 */
export function wakesOfMoved({ touched, freed, others }: Moved, context: ServiceContext): readonly string[] {
  const texts = touched.map(({ prefix }) => addressText(prefix))
  const keepers = texts.flatMap((text) => keeperOf(text, context) ?? [])
  return [
    ...others,
    ...keepers.map((name) => KEYS.format('Service', name)),
    ...texts.flatMap((text) => addressKeysAt(text, context)),
    ...(texts.length > 0 ? endingKeys(context.cache.ranges) : []),
    ...(freed.length > 0 ? context.state.refused : []),
    ...deniedKeys(freed, context.state),
  ]
}

/** The Services to which the store has refused addresses, but not all of those that came free. */
function deniedKeys(freed: Moved['freed'], { denied }: ServiceIPState): readonly string[] {
  const isOther = (addresses: RangeSet.RangeSet) =>
    !RangeSet.isEmpty(addresses) && freed.some(({ prefix }) => !RangeSet.contains(addresses, prefix))
  return [...denied].flatMap(([key, { addresses }]) => (isOther(addresses) ? [key] : []))
}

/** The Service that keeps an address: that of its IPAddress, else the oldest one. */
export function keeperOf(text: string, context: ServiceContext): string | undefined {
  const { cache } = context
  const [object] = cache.addresses.by('address', text)
  const own = object?.service === undefined ? undefined : cache.services.get(object.service)
  if (own && addressesOf(own).includes(text)) return nameKey(own.metadata)
  const unreadable = unreadableUsers(text, context)
  const isOwn = ({ metadata }: KubeObject) => nameKey(metadata) === object?.service
  const [oldest] = [...cache.services.by('address', text).slice(0, 1), ...unreadable].sort(byAge)
  const keeper = unreadable.find(isOwn) ?? oldest
  return keeper && nameKey(keeper.metadata)
}

/** Whether any Service has an address, also one that cannot be read. */
export function isUsed(text: string, context: ServiceContext): boolean {
  return context.cache.services.countBy('address', text) > 0 || unreadableUsers(text, context).length > 0
}

/**
 * The Services that have an address and cannot be read: no index has them. O(1) if each Service can
 * be read, else O(unreadable Services + holders of the address).
 */
function unreadableUsers(text: string, { cache: { services }, holdings }: ServiceContext): readonly KubeObject[] {
  if (services.unreadable().length === 0) return []
  return [...holdings.ledger().overlapping(hostPrefix(Address.parse(text)))].flatMap(({ reason, holder }) => {
    const isService = reason === 'held' && holder.object !== undefined && Service.is(holder.object)
    const entry = isService ? services.entry(holder.object) : undefined
    return entry?.ok === false ? [entry.object] : []
  })
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
  const { cache, state, holdings } = context
  const objects = [...cache.ranges].sort(byAge)
  state.ranges = serviceRanges(objects)
  const keys = objects.map(({ metadata }) => KEYS.format('ServiceCIDR', metadata))
  const [was, is] = [before, now].map((object) => object !== undefined && isReadyObject(object))
  const isSame = String(before?.spec.cidrs) === String(now?.spec.cidrs)
  const wasUnkept = state.unkept.delete((now ?? before)?.metadata.name ?? '')
  if (was !== is || !isSame || wasUnkept) keys.push(...waitingKeys(context))
  if (isSame) return keys
  holdings.ledger().setSpace({ space: usableAddresses(state.ranges) })
  const prefixes = [before, now].flatMap((object) => (object === undefined ? [] : prefixesOf(object)))
  for (const prefix of prefixes) {
    for (const { prefix: held } of holdings.ledger().holders(prefix)) keys.push(...keysAt(addressText(held), context))
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
export function isInRange(address: Address.Address, { ranges }: ServiceIPState): boolean {
  return ranges.some(({ prefix }) => canHold(prefix)(address))
}

/** Names a problem among those of an object. */
export function problemKey({ reason, message, cause = message }: EventCause): string {
  return `${reason} ${cause}`
}
