import { Ledger } from '../../allocator/index.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Service } from '../../crd/core/service.js'
import { type KubeObject, nameKey } from '../../crd/meta/object.js'
import { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { DefinedPlanner } from '../../plan/define-planner.js'
import { definePlanner, eventAbout, type Parsed, type Plan, type PlanTime } from '../../plan/index.js'
import type { ServiceIPOutcome } from './outcome.js'
import { planAddress } from './plan-address.js'
import { planRange } from './plan-range.js'
import { lacksRecord, planService } from './plan-service.js'
import { hostPrefix } from './ranges.js'
import { secondFamily } from './second-address.js'
import {
  heldByAddress,
  heldByService,
  newState,
  recordRanges,
  type ServiceContext,
  type ServiceIPState,
  waitingKeys,
  wakesOfMoved,
} from './state.js'
import { KEYS, readAddress, type ServiceWatches, WATCHES, wantsAddress } from './watches.js'

export interface ServiceIPOptions {
  /**
   * Any number, different for each process: with the uid of the Service it decides where the search
   * for an address begins.
   */
  readonly seed: number
  /**
   * How long something has to be missing or wrong before it is repaired or reported, in seconds,
   * from 0 to 86,400. An API server creates an IPAddress before its Service, and deletes it after:
   * beside an API server, choose more than the longest request (60 s). Default 60.
   */
  readonly graceSeconds?: number | undefined
  /**
   * After how long a ServiceCIDR that is not ready is reported by an Event, in seconds, from 0 to
   * 86,400. Default 600.
   */
  readonly reportSeconds?: number | undefined
}

const SERVICE_IP_OPTIONS: KindOf<ServiceIPOptions> = {
  seed: 'number',
  graceSeconds: 'number?',
  reportSeconds: 'number?',
}

/**
 * A planner of Services, IPAddresses and ServiceCIDRs: keys are `Service namespace/name`,
 * `IPAddress name`, `ServiceCIDR name`.
 */
export type ServiceIPPlanner = DefinedPlanner<ServiceIPOutcome, ServiceWatches, ServiceIPState>

/**
 * Addresses for Services, by IPAddress objects whose name is the address.
 *
 * - A Service without an address gets one of each family that it requests: the IPAddress is created
 *   first, and a name that exists already leads to the next address. One whose `ipFamilyPolicy` is
 *   raised gets the second one.
 * - A ServiceCIDR gets its finalizer and its condition. One that is being deleted gives no
 *   addresses, and loses the finalizer when no address depends on it, 10 s after its deletion at
 *   the earliest.
 * - A Service whose address has no IPAddress gets one; an IPAddress that nothing needs is deleted.
 *   Other problems that last as long are reported by an Event of type Warning, once for each cause.
 *
 * A kube-apiserver gives addresses itself. Beside one, the first part has nothing to do.
 *
 * Any number of processes may run it. An event costs O(objects of an address), one of a ServiceCIDR
 * O(ServiceCIDRs + addresses in it).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function serviceIPs(options: ServiceIPOptions): ServiceIPPlanner {
  check('serviceIPs', 'options', options, SERVICE_IP_OPTIONS)
  const { seed, graceSeconds = 60, reportSeconds = 600 } = options
  if (typeof seed !== 'number' || Number.isNaN(seed)) refuse('serviceIPs', 'seed', 'a number', seed)
  for (const [name, seconds] of Object.entries({ graceSeconds, reportSeconds })) {
    if (!(seconds >= 0 && seconds <= 86_400)) refuse('serviceIPs', name, 'seconds, 0 to 86400', seconds)
  }
  return definePlanner<ServiceIPOutcome, ServiceWatches, ServiceIPState>({
    name: 'service-ip',
    watches: WATCHES,
    state: () => newState(graceSeconds),
    ledger: () => new Ledger({ space: RangeSet.empty }),
    holds: { services: heldByService, addresses: heldByAddress },
    // one ledger has the addresses of all ServiceCIDRs
    usage: ({ holdings }) => holdings.usage().map((usage) => ({ ...usage, pool: 'services' })),
    moved: wakesOfMoved,
    wakes: {
      services({ ref }, { cache }) {
        const name = nameKey(ref)
        const own = cache.addresses.by('service', name)
        return [KEYS.format('Service', name), ...own.map(({ object }) => KEYS.format('IPAddress', object.metadata))]
      },
      addresses({ ref, before, now }) {
        const parents = [before, now].flatMap((entry) => (entry?.ok === true ? (entry.value.service ?? []) : []))
        return [KEYS.format('IPAddress', ref), ...parents.map((name) => KEYS.format('Service', name))]
      },
      ranges({ ref, before, now }, context) {
        const [was, is] = [before, now].map((entry) => (entry?.ok === true ? entry.value : undefined))
        return [KEYS.format('ServiceCIDR', ref), ...recordRanges(was, is, context)]
      },
    },
    plan(key, context, time) {
      const plan = planKey(key, context, time, { seed, reportSeconds })
      const isDone = isServed(key, context) && plan?.effects.every(({ kind }) => kind === 'event') !== false
      if (isDone) context.state.denied.delete(key)
      return plan
    },
    refused(key, { effect, code, message }, context) {
      const { cache, state } = context
      const { unkept, denied } = state
      // the status of a ServiceCIDR is not what Services wait for
      const isOfRange = effect.kind === 'patch' && ServiceCIDR.is(effect.ref) && effect.subresource === undefined
      const range = isOfRange ? cache.ranges.get(effect.ref.name) : undefined
      if (range === undefined) {
        const before = denied.get(key)
        // a Service whose address lacks its IPAddress gets no other address
        const isNewAddress = effect.kind === 'create' && !isServed(key, context)
        const address = isNewAddress ? readAddress(effect.object.metadata.name) : undefined
        const refused = RangeSet.fromPrefixes(address === undefined ? [] : [hostPrefix(address)])
        denied.set(key, { code, addresses: RangeSet.union(before?.addresses ?? RangeSet.empty, refused) })
        const object = objectOf(key, context)
        const isNew = object !== undefined && before?.code !== code
        const effects = isNew ? [eventAbout(object, { type: 'Warning', reason: 'WriteRefused', message })] : []
        return { outcome: { kind: 'problem', message }, effects }
      }
      const isNew = !unkept.has(range.metadata.name)
      unkept.add(range.metadata.name)
      const event = eventAbout(range, { type: 'Warning', reason: 'WriteRefused', message })
      const wakes = isNew ? [...waitingKeys(context), key] : []
      return { outcome: { kind: 'problem', message }, effects: isNew ? [event] : [], wakes }
    },
    isRepair(key, context) {
      const service = serviceOf(key, context)
      return service !== undefined && lacksRecord(service, context)
    },
    isServed,
    isAggregate: (key) => KEYS.read(key)?.kind === 'ServiceCIDR',
  })
}

function planKey(
  key: string,
  context: ServiceContext,
  time: PlanTime,
  { seed, reportSeconds }: { readonly seed: number; readonly reportSeconds: number },
): Plan<ServiceIPOutcome> | undefined {
  const { cache, state, sent } = context
  const planEntry = <T>(entry: Parsed<T> | undefined, plan: (value: T) => Plan<ServiceIPOutcome>) => {
    if (entry?.ok === true) return plan(entry.value)
    if (entry !== undefined) return { outcome: { kind: 'problem', message: entry.problem }, effects: [] } as const
    sent.forget(key)
    state.refused.delete(key)
    state.absences.look(key, [], time.nowMs)
    return undefined
  }
  const read = KEYS.read(key)
  switch (read?.kind) {
    case 'Service':
      return planEntry(cache.services.entry(read.name), (service) => planService(service, context, time, seed))
    case 'IPAddress':
      return planEntry(cache.addresses.entry(read.name), (seen) => planAddress(seen, context, time))
    case 'ServiceCIDR':
      return planEntry(cache.ranges.entry(read.name), (range) => planRange(range, context, time, reportSeconds))
    case undefined:
      return undefined
  }
}

/** Whether a key has the addresses that it requests. */
function isServed(key: string, context: ServiceContext): boolean {
  const service = serviceOf(key, context)
  return service === undefined || !(wantsAddress(service) || secondFamily(service, context) !== undefined)
}

/** The object of a key. */
function objectOf(key: string, { cache }: ServiceContext): KubeObject | undefined {
  const read = KEYS.read(key)
  const objects = { Service: cache.services, IPAddress: cache.addresses, ServiceCIDR: cache.ranges }
  return read && objects[read.kind].entry(read.name)?.object
}

/** The Service of a key, if it is one of a Service. */
function serviceOf(key: string, { cache }: ServiceContext): Service | undefined {
  const read = KEYS.read(key)
  return read?.kind === 'Service' ? cache.services.get(read.name) : undefined
}
