import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Effect, Plan } from 'ipam-kit/plan'
import { type NodeIPAMOutcome, type NodeIPAMPlanner, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { describe, expect } from 'vitest'
import type { ClusterCIDRSpec } from '../../../src/crd/node-ipam/cluster-cidr.js'
import type { SubnetChoice } from '../../../src/provider/node-ipam/subnets.js'
import { property } from '../../cidr/property.js'
import { absent, node, present, range, selects } from './objects.js'

const SERVICES = [Prefix.parse('10.0.0.0/25'), Prefix.parse('fd00::/124')]
const LABELS = [{}, { zone: 'a' }, { zone: 'a', disk: 'ssd' }] as const

/** Small ranges that overlap, of one family or both, with and without a selector. */
const SPECS: readonly Partial<ClusterCIDRSpec>[] = [
  { ipv4: '10.0.0.0/23', perNodeHostBits: 7 },
  { ipv4: '10.0.1.0/24', perNodeHostBits: 6, nodeSelector: selects({ zone: 'a' }) },
  { ipv4: '10.1.0.0/24', ipv6: 'fd00::/121', perNodeHostBits: 6 },
  { ipv6: 'fd00::/122', perNodeHostBits: 4, nodeSelector: selects({ zone: 'a', disk: 'ssd' }) },
  { ipv4: '10.0.0.0/22', perNodeHostBits: 9, nodeSelector: selects({ disk: 'ssd' }) },
  { ipv4: '10.1.0.0/24', perNodeHostBits: 9 },
]
const PRESETS = [
  ['10.0.0.128/25'],
  ['10.1.0.0/26', 'fd00::40/122'],
  ['192.168.0.0/24'],
  ['10.0.1.64/26'],
  ['10.0.0.0/8'],
]

const name = fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5', 'n6')
const rangeName = fc.constantFrom('r1', 'r2', 'r3')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('join' as const), name, labels: fc.constantFrom(...LABELS) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('plan' as const), at: fc.nat(20), isLost: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('plan all' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('label' as const), name, labels: fc.constantFrom(...LABELS) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('preset' as const), name, podCIDRs: fc.constantFrom(...PRESETS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), name, isSlow: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('range' as const), name: rangeName, spec: fc.constantFrom(...SPECS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const), name: rangeName, isForced: fc.boolean() }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

describe('node IPAM', () => {
  property([fc.array(step, { maxLength: 60, size: 'max' })])(
    'plans after each event what a planner plans that has just been started, and gives no subnet twice',
    (steps) => {
      const world = new World()
      for (const each of steps) {
        world.act(each)
        world.expectSameAsRebuilt()
        world.expectNoneWaitsForNothing()
      }
    },
  )
})

/** Some objects, and a planner that is shown each of their changes. */
class World {
  readonly #planner = nodeIPAM({ serviceCIDRs: SERVICES })
  readonly #objects = new Map<string, KubeObject>()
  readonly #given = new Map<string, readonly Prefix[]>()
  #version = 0

  act(given: Step): void {
    switch (given.do) {
      case 'join':
        if (!this.#objects.has(`Node ${given.name}`))
          this.#show(node(given.name, { labels: given.labels, uid: `u${++this.#version}` }))
        break
      case 'plan':
        this.#plan(given.at, given.isLost)
        break
      case 'plan all':
        for (let at = this.#objects.size - 1; at >= 0; at--) this.#plan(at, false)
        break
      case 'label':
        this.#change(`Node ${given.name}`, { metadata: { labels: given.labels } })
        break
      case 'preset':
        this.#preset(given.name, given.podCIDRs)
        break
      case 'leave':
        if (given.isSlow) this.#change(`Node ${given.name}`, DELETION)
        else this.#remove(`Node ${given.name}`)
        break
      case 'range':
        if (!this.#objects.has(`ClusterCIDR ${given.name}`))
          this.#show(range(given.name, given.spec, { uid: `u${++this.#version}` }))
        break
      case 'end':
        if (given.isForced) this.#remove(`ClusterCIDR ${given.name}`)
        else this.#change(`ClusterCIDR ${given.name}`, DELETION)
        break
    }
  }

  /** The plans of each key, but for Events, which depend on what was said before. */
  expectSameAsRebuilt(): void {
    const rebuilt = nodeIPAM({ serviceCIDRs: SERVICES, cursors: new Map(this.#planner.context.state.cursors) })
    for (const object of this.#objects.values()) rebuilt.observe(present(object))
    for (const key of this.#objects.keys())
      expect(withoutEvents(this.#planner, key)).toEqual(withoutEvents(rebuilt, key))
  }

  /**
   * A Node waits only if no range that is for it has a free subnet of each family, in a list of all
   * of them.
   */
  expectNoneWaitsForNothing(): void {
    const taken = [...SERVICES, ...this.#subnets().flatMap(([, prefixes]) => prefixes)]
    const isFree = (subnet: Prefix) => !taken.some((one) => Prefix.overlaps(one, subnet))
    for (const [key, object] of this.#objects) {
      const outcome = key.startsWith('Node ') ? this.#planner.plan(key, { nowMs: 0 })?.outcome : undefined
      if (outcome?.kind !== 'waiting') continue
      const open = this.#ranges().filter(
        (each) => isFor(each, object) && spacesOf(each).every((all) => all.some(isFree)),
      )
      expect(open.map(({ metadata }) => metadata.name)).toEqual([])
    }
  }

  /** Carries out the plan of some key, or loses it on its way. */
  #plan(at: number, isLost: boolean): void {
    const keys = [...this.#objects.keys()]
    const key = keys[at % keys.length]
    const plan = key === undefined ? undefined : this.#planner.plan(key, { nowMs: 0 })
    if (key === undefined || plan === undefined) return
    const release = this.#planner.begin?.(plan)
    for (const effect of isLost ? [] : plan.effects) this.#carryOut(key, effect)
    release?.()
    if (plan.outcome.kind === 'assigned' && !isLost) this.#noteGiven(key, plan.outcome.choice)
  }

  #noteGiven(key: string, { range: from, subnets }: SubnetChoice): void {
    // one subnet of each family of the range, each one of those that it is cut into
    const giver = this.#objects.get(`ClusterCIDR ${from}`) as ClusterCIDR
    expect(giver.metadata.deletionTimestamp).toBeUndefined()
    expect(isFor(giver, this.#objects.get(key)!)).toBe(true)
    const all = spacesOf(giver)
    expect(subnets.length).toBe(all.length)
    subnets.forEach((subnet, index) => {
      expect(all[index]!.map(Prefix.format)).toContain(Prefix.format(subnet))
      expect(SERVICES.some((service) => Prefix.overlaps(service, subnet))).toBe(false)
    })
    for (const [other, prefixes] of this.#subnets()) {
      if (other === key) continue
      for (const prefix of prefixes) expect(subnets.some((subnet) => Prefix.overlaps(subnet, prefix))).toBe(false)
    }
    expect(this.#given.has(this.#objects.get(key)!.metadata.uid!)).toBe(false)
    this.#given.set(this.#objects.get(key)!.metadata.uid!, subnets)
  }

  #carryOut(key: string, effect: Effect): void {
    if (effect.kind !== 'patch') return
    if (Array.isArray(effect.patch)) {
      const podCIDRs = effect.patch.find(({ path }) => path === '/spec/podCIDRs')!.value as string[]
      this.#preset(key.slice('Node '.length), podCIDRs)
      return
    }
    this.#change(key, effect.patch as { readonly metadata?: object })
    const object = this.#objects.get(key)!
    if (object.metadata.deletionTimestamp === undefined || object.metadata.finalizers?.length !== 0) return
    // nothing that a Node has is let go
    const spaces = rangesOf(object as ClusterCIDR)
    const used = this.#subnets().flatMap(([, prefixes]) => prefixes)
    expect(used.filter((subnet) => spaces.some((space) => Prefix.overlaps(space, subnet)))).toEqual([])
    this.#remove(key)
  }

  #preset(name: string, podCIDRs: readonly string[]): void {
    const object = this.#objects.get(`Node ${name}`) as { spec?: { podCIDRs?: unknown } } | undefined
    if (object?.spec?.podCIDRs !== undefined) return
    this.#change(`Node ${name}`, { spec: { podCIDR: podCIDRs[0], podCIDRs } })
  }

  #subnets(): readonly (readonly [string, readonly Prefix[]])[] {
    return [...this.#objects].map(([key, object]) => {
      const { podCIDRs = [] } = ((object as { spec?: { podCIDRs?: string[] } }).spec ?? {}) as { podCIDRs?: string[] }
      return [key, podCIDRs.map((text) => Prefix.parse(text))]
    })
  }

  #ranges(): readonly ClusterCIDR[] {
    const all = [...this.#objects].filter(([key]) => key.startsWith('ClusterCIDR '))
    const living = all.filter(([, { metadata }]) => metadata.deletionTimestamp === undefined)
    return living.map(([, object]) => object as ClusterCIDR).filter(isValid)
  }

  #show(object: KubeObject): void {
    const shown = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }
    this.#objects.set(`${object.kind} ${object.metadata.name}`, shown)
    this.#planner.observe(present(shown))
  }

  #change(key: string, patch: { readonly metadata?: object; readonly spec?: object }): void {
    const object = this.#objects.get(key) as (KubeObject & { readonly spec?: object }) | undefined
    if (object === undefined) return
    const metadata = { ...object.metadata, ...patch.metadata }
    this.#show({ ...object, metadata, spec: { ...object.spec, ...patch.spec } } as KubeObject)
  }

  #remove(key: string): void {
    const object = this.#objects.get(key)
    if (object === undefined) return
    this.#objects.delete(key)
    this.#planner.observe(absent(object))
  }
}

const DELETION = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }

function withoutEvents(planner: NodeIPAMPlanner, key: string): Plan<NodeIPAMOutcome> | undefined {
  const plan = planner.plan(key, { nowMs: 0 })
  const told = plan && { ...plan, effects: plan.effects.filter(({ kind }) => kind !== 'event') }
  // messages name other Nodes in the order in which they were seen
  return told && inAnyOrder(told)
}

function inAnyOrder<T>(plan: T): T {
  const sorted = (key: string, value: unknown) =>
    key === 'message' ? `${value}`.split(/; |: /).sort().join('; ') : value
  return JSON.parse(
    JSON.stringify(plan, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    sorted,
  )
}

function isValid({ spec: { ipv4, ipv6, perNodeHostBits } }: ClusterCIDR): boolean {
  const texts = [ipv4, ipv6].filter((text) => text !== undefined)
  return texts.every((text) => {
    const { address, length } = Prefix.parse(text)
    return length + perNodeHostBits <= (address.family === 4 ? 32 : 128)
  })
}

/** The prefixes of a range. */
function rangesOf({ spec: { ipv4, ipv6 } }: ClusterCIDR): readonly Prefix[] {
  return [ipv4, ipv6].filter((text) => text !== undefined).map((text) => Prefix.parse(text))
}

/** All subnets of each family. */
function spacesOf(object: ClusterCIDR): readonly (readonly Prefix[])[] {
  return rangesOf(object).map((prefix) => {
    const bits = prefix.address.family === 4 ? 32 : 128
    return [...Prefix.split(prefix, bits - object.spec.perNodeHostBits)]
  })
}

function isFor({ spec: { nodeSelector } }: ClusterCIDR, { metadata: { labels = {} } }: KubeObject): boolean {
  const [term] = nodeSelector?.nodeSelectorTerms ?? []
  return term === undefined || term.matchExpressions!.every(({ key, values }) => labels[key] === values![0])
}
