import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect, Plan } from 'ipam-kit/plan'
import { type NetworkView, networkView } from 'ipam-kit/provider/network-view'
import { type NodeIPAMOptions, type NodeIPAMOutcome, type NodeIPAMPlanner, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

/** A finalizer of another component, which keeps a Node that is being deleted. */
const OTHER_FINALIZER = 'example.com/hold'

type Kind = 'Node' | 'ClusterCIDR'

/** The outcomes that have a field. */
type OutcomeWith<Field extends string> = Extract<NodeIPAMOutcome, { readonly [F in Field]: unknown }>

/** Nodes and ClusterCIDRs in a store, with the controller of their subnets. */
export class NodeIPAMWorld {
  readonly #options: NodeIPAMOptions
  readonly #store
  readonly #objects = new Map<string, ObjectRef>()
  readonly events: EventEffect[] = []
  /** What each Node got here last, by its name. */
  readonly given = new Map<string, OutcomeWith<'choice'>['choice']>()
  planner: NodeIPAMPlanner
  #outcomes: ReadonlyMap<string, NodeIPAMOutcome> = new Map()
  #seconds = 0

  constructor(options: NodeIPAMOptions) {
    this.#options = options
    this.#store = memoryStore({ now: () => ++this.#seconds * 1000, kinds: [Node.info, ClusterCIDR.info] })
    this.planner = this.#start()
  }

  /** Stores an object. One that is being deleted is kept by a finalizer. */
  async put(object: KubeObject): Promise<void> {
    const { deletionTimestamp, finalizers = [], ...metadata } = object.metadata
    const isHeld = deletionTimestamp !== undefined && finalizers.length === 0
    const created = unwrap(
      await this.#store.create({
        ...object,
        metadata: { ...metadata, finalizers: isHeld ? [OTHER_FINALIZER] : finalizers },
      }),
    )
    const { apiVersion, kind } = created
    const ref = { apiVersion, kind, name: metadata.name }
    this.#objects.set(`${kind} ${metadata.name}`, ref)
    if (deletionTimestamp !== undefined) unwrap(await this.#store.delete(ref))
  }

  /** Deletes an object. `isHeld`: a finalizer keeps it. */
  async delete(kind: Kind, name: string, { isHeld = false } = {}): Promise<void> {
    const ref = this.#objects.get(`${kind} ${name}`)
    const found = ref && (await this.#store.get(ref))
    if (ref === undefined || found?.ok !== true) return
    const { finalizers = [] } = found.value.metadata
    if (isHeld) {
      unwrap(await this.#store.patch(ref, { metadata: { finalizers: [...finalizers, OTHER_FINALIZER] } }))
    }
    unwrap(await this.#store.delete(ref))
  }

  /** Lets the controller work until it has nothing left to do. */
  async run(): Promise<void> {
    const onEvent = (event: EventEffect) => void this.events.push(event)
    const { outcomes } = await runUntilQuiet(this.#store, [this.planner], { now: () => this.#seconds * 1000, onEvent })
    this.#outcomes = outcomes
  }

  /** The controller ends, and another one begins with what is stored. */
  restart(): void {
    this.planner = this.#start()
  }

  has(kind: Kind, name: string): boolean {
    return this.#objects.has(`${kind} ${name}`)
  }

  /** The names of all objects of a kind that were ever there, in the order in which they came. */
  names(kind: Kind): string[] {
    return [...this.#objects.values()].filter((ref) => ref.kind === kind).map(({ name }) => name)
  }

  async get(kind: Kind, name: string): Promise<KubeObject | undefined> {
    const ref = this.#objects.get(`${kind} ${name}`)
    const found = ref && (await this.#store.get(ref))
    return found?.ok === true ? found.value : undefined
  }

  outcome(kind: Kind, name: string): NodeIPAMOutcome | undefined {
    return this.#outcomes.get(`${kind} ${name}`)
  }

  /** What is wrong with the subnets that Nodes have. */
  problems(): OutcomeWith<'problems'>['problems'] {
    return [...this.#outcomes.values()].flatMap((outcome) => ('problems' in outcome ? outcome.problems : []))
  }

  /** What a component that reads the Nodes and the ClusterCIDRs sees. */
  async view(serviceCIDRs: readonly Prefix[] = []): Promise<NetworkView> {
    const [nodes, ranges] = [await this.#store.list(Node.info), await this.#store.list(ClusterCIDR.info)]
    const read = unwrap(ranges).items.map((object) => ClusterCIDR.safeParse(object))
    return networkView({
      nodes: unwrap(nodes).items.map((object) => Node.parse(object)),
      clusterCIDRs: read.flatMap((each) => (each.ok ? [each.value] : [])),
      serviceCIDRs: serviceCIDRs.map(Prefix.format),
    })
  }

  /**
   * The subnets of Nodes: now, or as a controller finds them that begins with some objects and has
   * given none yet.
   */
  inUse(start?: readonly KubeObject[]): readonly Prefix[] {
    const planner = start === undefined ? this.planner : nodeIPAM(this.#options)
    for (const object of start ?? []) planner.observe({ kind: 'present', object })
    return planner.entries().map(({ prefix }) => prefix)
  }

  #start(): NodeIPAMPlanner {
    const planner = nodeIPAM(this.#options)
    const begin = planner.begin?.bind(planner)
    return Object.assign(planner, {
      begin: (plan: Plan) => {
        const outcome = plan.outcome as NodeIPAMOutcome
        if (outcome.kind === 'assigned') this.given.set(outcome.node, outcome.choice)
        return begin?.(plan) ?? (() => [])
      },
    })
  }
}

/** The texts of prefixes, each once, in their order. */
export function textsOf(prefixes: readonly Prefix[]): string[] {
  return [...new Set([...prefixes].sort(Prefix.compare).map(Prefix.format))]
}
