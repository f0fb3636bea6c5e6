import { Address, Prefix } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import type { Store } from 'ipam-kit/store'
import { type Dice, type SimulatedSystem, type SimulationRules, simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { share } from '../../setup/depth.js'
import { kinds, range, service } from './world.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const RANGES = [
  range('first', '10.0.0.0/29'),
  range('second', '10.0.0.8/30', 'fd00::/126'),
  range('both', '10.0.0.0/28'),
]

/**
 * Writers that give addresses, repair, and end ranges; people who make, change and delete Services and ranges.
 *
 * Always: no address belongs to two Services, none that a Service has loses its IPAddress, and no
 * range goes while an IPAddress lies in it and in no other one.
 */
function serviceSystem(): SimulatedSystem {
  let seed = 0
  return {
    kinds,
    planner: () => serviceIPs({ seed: ++seed, graceSeconds: 2 }),
    prepare: async (store) => {
      for (const object of RANGES.slice(0, 2)) unwrap(await store.create(object))
    },
    act: people,
    rules: () => new ServiceRules(),
  }
}

async function people(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(NAMES)
  const ref = { ...Service.info, namespace: 'a', name }
  const draw = dice.next()
  if (draw < 0.5) {
    const ipFamilyPolicy = dice.pick(['SingleStack', 'PreferDualStack', 'RequireDualStack'])
    const named = dice.chance(0.2) ? { clusterIP: `10.0.0.${1 + dice.below(14)}` } : {}
    await store.create(service(name, { ipFamilyPolicy, ...named }))
  } else if (draw < 0.7) await store.delete(ref)
  else if (draw < 0.78) {
    // an API server takes the addresses away with this change, and so a change back asks for new ones
    const isExternal = dice.chance(0.5)
    const spec = isExternal ? { type: 'ExternalName', clusterIP: null, clusterIPs: null } : { type: 'ClusterIP' }
    await store.patch(ref, { spec })
  } else if (draw < 0.9) await store.delete({ ...ServiceCIDR.info, name: dice.pick(RANGES).metadata.name })
  else await store.create(dice.pick(RANGES))
}

class ServiceRules implements SimulationRules {
  readonly #objects = new Map<string, KubeObject>()

  observe(change: Change): string | undefined {
    const ref = change.kind === 'present' ? change.object : { kind: change.ref.kind, metadata: change.ref }
    const key = `${ref.kind} ${ref.metadata.name}`
    const before = this.#objects.get(key)
    if (change.kind === 'present') this.#objects.set(key, change.object)
    else this.#objects.delete(key)
    return this.#twice() ?? this.#lost(change, before) ?? this.#rangeLost(change, before)
  }

  async atRest(store: Store): Promise<string | undefined> {
    // a Service that waits for a second family keeps what was created for it
    const waits = new Set(this.#services().flatMap(({ spec, metadata }) => (spec.clusterIPs ? [] : [metadata.name])))
    const objects = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
    const names = objects.filter(({ spec }) => !waits.has(spec.parentRef.name)).map(({ metadata }) => metadata.name)
    const used = this.#services().flatMap(({ spec }) => spec.clusterIPs ?? [])
    if (names.sort().join() !== used.sort().join()) return `Services have ${used}, and there are IPAddresses ${names}`
    return undefined
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

  #rangeLost(change: Change, before: KubeObject | undefined): string | undefined {
    if (change.kind !== 'absent' || before === undefined || !ServiceCIDR.is(before)) return undefined
    const ranges = [...this.#objects.values()].filter((object) => ServiceCIDR.is(object))
    const isIn = (object: KubeObject, address: Address) =>
      ServiceCIDR.parse(object).spec.cidrs.some((cidr) => Prefix.contains(Prefix.parse(cidr), address))
    for (const object of this.#objects.values()) {
      if (!IPAddress.is(object)) continue
      const address = Address.parse(object.metadata.name)
      if (isIn(before, address) && !ranges.some((other) => isIn(other, address))) {
        return `ServiceCIDR ${before.metadata.name} is gone, and ${object.metadata.name} was in it alone`
      }
    }
    return undefined
  }
}

/** The seeds from 1 that go wrong, with what was found. */
async function failing(seeds: number, writers: number, mayWrite: 'one' | 'all') {
  const found = new Map<number, readonly string[]>()
  let faults = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulate({
      system: serviceSystem(),
      seed,
      writers,
      mayWrite,
      actions: 25,
      concurrency: 1 + (seed % 3),
    })
    faults += result.faults
    if (result.problems.length > 0) found.set(seed, result.problems)
  }
  expect(faults).toBeGreaterThan(seeds)
  return found
}

test.each([2, 3])(
  '%i writers that all write at once: no address twice, none lost, no range ends too early',
  async (writers) => {
    expect(await failing(share(200), writers, 'all')).toEqual(new Map())
  },
)

test('writers of whom one writes at a time', async () => {
  expect(await failing(share(100), 2, 'one')).toEqual(new Map())
})
