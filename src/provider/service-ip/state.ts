import { Ledger } from '../../allocator/index.js'
import type { Address } from '../../cidr/index.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Service } from '../../crd/core/service.js'
import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import type { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { Absences, byAge, type EventEffect, eventAbout, type PlannerContext } from '../../plan/index.js'
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
import { nameKey, readAddress, type SeenAddress, type ServiceWatches, WAITING } from './watches.js'

/** The holder of an address: `Service default/web`, or the parent of an IPAddress as text. */
export interface ServiceHolder {
  readonly key: string
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
  /** The problems of each key that were reported. */
  readonly reported: Map<string, ReadonlySet<string>>
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
    reported: before?.reported ?? new Map(),
    ranges: [],
  }
}

export const serviceKey = (service: string) => `Service ${service}`
export const addressKey = (name: string) => `IPAddress ${name}`
export const rangeKey = (name: string) => `ServiceCIDR ${name}`

/** `Service default/web` as its kind and its name. */
export function readKey(key: string): readonly [kind: string, name: string] {
  const space = key.indexOf(' ')
  return [key.slice(0, space), key.slice(space + 1)]
}

/** The Services that lack an address, the oldest first. */
function waitingKeys({ cache }: ServiceContext): readonly string[] {
  return cache.services.by('waiting', WAITING).map(({ metadata }) => serviceKey(nameKey(metadata)))
}

/**
 * Records the present holder of an address, and returns the keys that it concerns. O(objects of the
 * address).
 */
export function recordAddress(text: string, context: ServiceContext): readonly string[] {
  const { cache, state } = context
  const { ledger } = state
  const address = readAddress(text)
  if (address === undefined) return []
  const users = cache.services.by('address', text)
  const objects = cache.addresses.by('address', text)
  const holder = holderOf(users, objects)
  const wasHeld = ledger.get(text) !== undefined
  if (holder === undefined) ledger.delete(text)
  else ledger.set(text, { prefix: hostPrefix(address), reason: 'held', holder: { key: holder } })
  const isChanged = wasHeld !== (holder !== undefined)
  return [
    ...keysAt(text, context),
    ...(isChanged ? endingKeys(cache.ranges) : []),
    ...(isChanged && wasHeld ? state.refused : []),
  ]
}

function holderOf(users: readonly Service[], objects: readonly SeenAddress[]): string | undefined {
  const [user] = users
  return objects[0]?.parent ?? (user && serviceKey(nameKey(user.metadata)))
}

/** The ServiceCIDRs that are being deleted. */
function endingKeys(ranges: Iterable<ServiceCIDR>): readonly string[] {
  return [...ranges].filter(isDeleting).map(({ metadata }) => rangeKey(metadata.name))
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
  const keys = objects.map(({ metadata }) => rangeKey(metadata.name))
  const [was, is] = [before, now].map((object) => object !== undefined && isReadyObject(object))
  const isSame = String(before?.spec.cidrs) === String(now?.spec.cidrs)
  if (was !== is || !isSame) keys.push(...waitingKeys(context))
  if (isSame) return keys
  state.ledger.setSpace({ space: usableAddresses(state.ranges) })
  const prefixes = [before, now].flatMap((object) => (object === undefined ? [] : prefixesOf(object)))
  for (const prefix of prefixes) {
    for (const { prefix: held } of state.ledger.holders(prefix)) keys.push(...keysAt(addressText(held), context))
  }
  return keys
}

/** The keys of all objects of an address. */
function keysAt(text: string, { cache }: ServiceContext): readonly string[] {
  return [
    ...cache.services.by('address', text).map(({ metadata }) => serviceKey(nameKey(metadata))),
    ...cache.addresses.by('address', text).map(({ object }) => addressKey(object.metadata.name)),
  ]
}

/** Whether any range can hold an address ({@link canHold}). O(ranges). */
export function isInRange(address: Address, { ranges }: ServiceIPState): boolean {
  return ranges.some(({ prefix }) => canHold(prefix)(address))
}

/** A problem that a user has to solve. */
export interface Problem {
  /** The reason of the Event, in CamelCase. */
  readonly reason: string
  readonly message: string
}

/** Names a problem among those of an object. */
export function problemKey({ reason, message }: Problem): string {
  return `${reason} ${message}`
}

/**
 * Events for those problems of a key that were not reported yet: one for each cause, not for each
 * plan.
 */
export function reportProblems(
  key: string,
  object: KubeObject,
  problems: readonly Problem[],
  { reported }: Pick<ServiceIPState, 'reported'>,
): readonly EventEffect[] {
  const before = reported.get(key)
  const now = new Set(problems.map(problemKey))
  if (now.size === 0) reported.delete(key)
  else reported.set(key, now)
  return problems
    .filter((problem) => before?.has(problemKey(problem)) !== true)
    .map((problem) => eventAbout(object, { type: 'Warning', ...problem }))
}
