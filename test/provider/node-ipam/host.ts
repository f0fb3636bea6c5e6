import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Change, EventEffect } from 'ipam-kit/plan'
import { type NodeIPAMOptions, type NodeIPAMOutcome, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import type { PatchEffect } from '../../../src/plan/effect.js'
import { isJsonPatch } from '../../../src/plan/field-guards.js'
import { absent, present } from './objects.js'

type Stored = KubeObject & { readonly spec?: { readonly podCIDRs?: readonly string[] } }

/**
 * What is stored, and a planner that is shown each change of it and whose plans are carried out.
 */
export class Host {
  readonly #options: NodeIPAMOptions
  readonly objects = new Map<string, Stored>()
  readonly events: EventEffect[] = []
  planner
  /** Plans made so far. */
  planned = 0
  /** The API server refuses patches of Nodes, and says this. */
  refusal: string | undefined
  #version = 0
  readonly #keys = new Set<string>()

  constructor(options: NodeIPAMOptions = {}) {
    this.#options = options
    this.planner = nodeIPAM(options)
  }

  /** Stores objects, shows them to the planner, and works. */
  put(...objects: readonly KubeObject[]): this {
    for (const object of objects) this.#store(object)
    return this.work()
  }

  /** Changes the metadata of an object. */
  change(key: string, metadata: object): this {
    const object = this.objects.get(key)!
    return this.put({ ...object, metadata: { ...object.metadata, ...metadata } })
  }

  /** Deletes an object: one with finalizers stays until they are removed. */
  delete(key: string): this {
    const object = this.objects.get(key)!
    if ((object.metadata.finalizers ?? []).length === 0) this.#remove(object)
    else this.change(key, { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 })
    return this.work()
  }

  /** Plans the keys that were woken until none is left. */
  work(): this {
    for (const key of this.#keys) this.#plan(key)
    return this
  }

  /** Another process takes over: it knows what is stored, and no more. */
  restart(): this {
    this.planner = nodeIPAM(this.#options)
    for (const object of this.objects.values()) this.#show(present(object))
    return this.work()
  }

  /** Plans a key without need. */
  retry(key: string): this {
    this.#keys.add(key)
    return this.work()
  }

  /** The subnets that each Node has. */
  get subnets(): { readonly [node: string]: readonly string[] | undefined } {
    const nodes = [...this.objects.values()].filter(({ kind }) => kind === 'Node')
    return Object.fromEntries(nodes.map(({ metadata, spec }) => [metadata.name, spec?.podCIDRs]))
  }

  outcome(key: string): NodeIPAMOutcome | undefined {
    return this.planner.plan(key, { nowMs: 0 })?.outcome
  }

  /** What the Events say: about which object, the reason, and what of the message is asked for. */
  get told(): readonly string[] {
    return this.events.map(({ about, reason }) => `${about.name} ${reason}`)
  }

  #plan(key: string): void {
    this.#keys.delete(key)
    const plan = this.planner.plan(key, { nowMs: 0 })
    if (plan === undefined) return
    this.planned++
    const release = this.planner.begin?.(plan) ?? (() => [])
    for (const effect of plan.effects) {
      if (effect.kind === 'event') this.events.push(effect)
      else if (effect.kind === 'create') this.#store(effect.object)
      else if (effect.kind === 'patch' && !this.#patch(effect)) this.#refuse(key, effect)
    }
    for (const woken of release()) this.#keys.add(woken)
  }

  #refuse(key: string, effect: PatchEffect): void {
    const plan = this.planner.refused?.(key, { effect, code: 'STORE_INVALID', message: this.refusal! }, { nowMs: 0 })
    for (const each of plan?.effects ?? []) if (each.kind === 'event') this.events.push(each)
  }

  /** Whether the API server takes a patch. */
  #patch(effect: PatchEffect): boolean {
    const { ref } = effect
    const object = this.objects.get(`${ref.kind} ${ref.name}`)!
    if (isJsonPatch(effect)) {
      if (this.refusal !== undefined) return false
      if (object.spec?.podCIDRs !== undefined) throw new Error(`${ref.name} has subnets`)
      const [podCIDR, podCIDRs] = effect.patch.map((operation) => ('value' in operation ? operation.value : undefined))
      this.#store({ ...object, spec: { ...object.spec, podCIDR, podCIDRs } })
      return true
    }
    const { finalizers } = (effect.patch as { readonly metadata: { readonly finalizers: readonly string[] } }).metadata
    const isGone = object.metadata.deletionTimestamp !== undefined && finalizers.length === 0
    if (isGone) this.#remove(object)
    else this.#store({ ...object, metadata: { ...object.metadata, finalizers } })
    return true
  }

  #store(object: KubeObject): void {
    const { kind, metadata } = object
    const stored = { ...object, metadata: { ...metadata, resourceVersion: `${++this.#version}` } } as Stored
    this.objects.set(`${kind} ${metadata.name}`, stored)
    this.#show(present(stored))
  }

  #remove(object: KubeObject): void {
    this.objects.delete(`${object.kind} ${object.metadata.name}`)
    this.#show(absent(object))
  }

  #show(change: Change): void {
    for (const key of this.planner.observe(change)) this.#keys.add(key)
  }
}
