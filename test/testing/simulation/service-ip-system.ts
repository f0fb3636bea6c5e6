import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import { isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import type { Store } from 'ipam-kit/store'
import type { Dice, ObservedWrite, SimulatedSystem, SimulationRules } from 'ipam-kit/testing'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const POLICIES = ['SingleStack', 'PreferDualStack', 'RequireDualStack'] as const
const RANGES = {
  first: ['10.0.0.0/29'],
  second: ['10.0.0.8/30', 'fd00::/126'],
  both: ['10.0.0.0/28'],
} as const
const RANGE_NAMES = Object.keys(RANGES) as (keyof typeof RANGES)[]

/**
 * Addresses of Services with ranges of a few addresses that overlap, and people who make, change
 * and delete Services and ServiceCIDRs.
 *
 * Always: no address belongs to two Services, none that a Service has loses its IPAddress, and no
 * controller ends a ServiceCIDR while it knows of an IPAddress in it and in no other one. At rest:
 * each address of a Service has an IPAddress, and there are no others; no Service with a policy for
 * two addresses has one alone while one of the other family is free.
 *
 * Any number of writers at a time. What a writer does not know of yet when it ends a ServiceCIDR is
 * no mistake: as in Kubernetes, the 10 s rely on watches that are not later.
 */
export function serviceIPSystem(): SimulatedSystem {
  let seed = 0
  return {
    kinds: [Service.info, IPAddress.info, ServiceCIDR.info],
    planner: () => serviceIPs({ seed: ++seed, graceSeconds: 2 }),
    prepare: async (store) => {
      for (const name of ['first', 'second'] as const) unwrap(await store.create(rangeNamed(name)))
    },
    act: people,
    rules: () => new ServiceRules(),
  }
}

function rangeNamed(name: keyof typeof RANGES): KubeObject {
  const { apiVersion, kind } = ServiceCIDR.info
  return { apiVersion, kind, metadata: { name }, spec: { cidrs: RANGES[name] } }
}

async function people(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(NAMES)
  const { apiVersion, kind } = Service.info
  const namespace = 'a'
  const ref = { apiVersion, kind, namespace, name }
  const draw = dice.next()
  if (draw < 0.5) {
    const named = dice.chance(0.2) ? { clusterIP: `10.0.0.${1 + dice.below(14)}` } : {}
    const families = dice.chance(0.1) ? { ipFamilies: ['IPv6'] } : {}
    const spec = { ipFamilyPolicy: dice.pick(POLICIES), ...named, ...families }
    await store.create({ apiVersion, kind, metadata: { namespace, name }, spec })
  } else if (draw < 0.6) await store.patch(ref, { spec: { ipFamilyPolicy: dice.pick(POLICIES) } })
  else if (draw < 0.7) await store.delete(ref)
  else if (draw < 0.78) {
    // an API server takes the addresses away with this change, and so a change back asks for new
    // ones
    const isExternal = dice.chance(0.5)
    const spec = isExternal ? { type: 'ExternalName', clusterIP: null, clusterIPs: null } : { type: 'ClusterIP' }
    await store.patch(ref, { spec })
  } else if (draw < 0.9) await store.delete({ ...ServiceCIDR.info, name: dice.pick(RANGE_NAMES) })
  else await store.create(rangeNamed(dice.pick(RANGE_NAMES)))
}

/** Whether a Service can have an address of a range: not its first, nor the last of IPv4. */
function canHave(prefix: Prefix, address: Address): boolean {
  const isLast = address.family === 4 && Address.equals(address, Prefix.last(prefix))
  return Prefix.contains(prefix, address) && !isLast && !Address.equals(address, Prefix.first(prefix))
}

function addressesIn(prefix: Prefix): Iterable<Address> {
  return RangeSet.addresses(RangeSet.fromPrefixes([prefix]))
}

class ServiceRules implements SimulationRules {
  readonly #objects = new Map<string, KubeObject>()
  /** By the name of an IPAddress: the number of the change that has created it. */
  readonly #since = new Map<string, number>()
  #count = 0

  observe(change: Change, { by }: ObservedWrite): string | undefined {
    const at = this.#count++
    const ref = change.kind === 'present' ? change.object : { kind: change.ref.kind, metadata: change.ref }
    const key = `${ref.kind} ${ref.metadata.name}`
    const before = this.#objects.get(key)
    if (before === undefined && ref.kind === IPAddress.info.kind) this.#since.set(ref.metadata.name, at)
    if (change.kind === 'present') this.#objects.set(key, change.object)
    else this.#objects.delete(key)
    return this.#twice() ?? this.#lost(change, before) ?? this.#rangeLost(change, before, by?.knows ?? at)
  }

  async atRest(store: Store): Promise<string | undefined> {
    // a Service that waits for a second family keeps what was created for it
    const waits = new Set(this.#services().flatMap(({ spec, metadata }) => (spec.clusterIPs ? [] : [metadata.name])))
    const objects = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
    const names = objects.filter(({ spec }) => !waits.has(spec.parentRef.name)).map(({ metadata }) => metadata.name)
    const used = this.#services().flatMap(({ spec }) => spec.clusterIPs ?? [])
    if (names.sort().join() !== used.sort().join()) return `Services have ${used}, and there are IPAddresses ${names}`
    return this.#single(objects.map(({ metadata }) => metadata.name))
  }

  /** A Service with one address whose policy is for two, and a free address of the other family. */
  #single(inUse: readonly string[]): string | undefined {
    const kept = [...this.#objects.values()].filter((object) => ServiceCIDR.is(object) && !isDeleting(object))
    const free = kept
      .flatMap((object) => ServiceCIDR.parse(object).spec.cidrs.map((cidr) => Prefix.parse(cidr)))
      .flatMap((prefix) => [...addressesIn(prefix)].filter((address) => canHave(prefix, address)))
      .filter((address) => !inUse.includes(Address.format(address)))
    const single = this.#services().find(({ spec: { ipFamilyPolicy, clusterIPs = [] } }) => {
      const [first, second] = clusterIPs
      if (ipFamilyPolicy === 'SingleStack' || first === undefined || second !== undefined) return false
      return free.some(({ family }) => family !== Address.parse(first).family)
    })
    return single && `Service ${single.metadata.name} has ${single.spec.clusterIPs} alone, and others are free`
  }

  #services(): readonly Service[] {
    return [...this.#objects.values()].filter((object) => Service.is(object)).map((object) => Service.parse(object))
  }

  #twice(): string | undefined {
    const used = this.#services().flatMap(({ spec }) => spec.clusterIPs ?? [])
    const twice = used.find((text, nth) => used.indexOf(text) !== nth)
    return twice && `two Services have ${twice}`
  }

  /** Every address that a Service has was created for it, and stays. */
  #lost(change: Change, before: KubeObject | undefined): string | undefined {
    const has = (text: string, name: string) => {
      const object = this.#objects.get(`IPAddress ${text}`)
      return object !== undefined && IPAddress.parse(object).spec.parentRef.name === name
    }
    const lost = this.#services().find(({ spec, metadata }) =>
      spec.clusterIPs?.some((text) => !has(text, metadata.name)),
    )
    if (lost === undefined) return undefined
    return `Service ${lost.metadata.name} has ${lost.spec.clusterIPs} without IPAddress, after ${change.kind} ${before?.kind} ${before?.metadata.name}`
  }

  /**
   * @param knows the number of the changes that are known to what has ended the range: a watch may
   * be later than the 10 s after which it ends
   */
  #rangeLost(change: Change, before: KubeObject | undefined, knows: number): string | undefined {
    if (change.kind !== 'absent' || before === undefined || !ServiceCIDR.is(before)) return undefined
    const ranges = [...this.#objects.values()].filter((object) => ServiceCIDR.is(object))
    const isIn = (object: KubeObject, address: Address) =>
      ServiceCIDR.parse(object).spec.cidrs.some((cidr) => canHave(Prefix.parse(cidr), address))
    for (const object of this.#objects.values()) {
      if (!IPAddress.is(object) || this.#since.get(object.metadata.name)! >= knows) continue
      const address = Address.parse(object.metadata.name)
      if (isIn(before, address) && !ranges.some((other) => isIn(other, address))) {
        return `ServiceCIDR ${before.metadata.name} is gone, and ${object.metadata.name} was in it alone`
      }
    }
    return undefined
  }
}
