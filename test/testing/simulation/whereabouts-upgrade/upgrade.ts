import type { Attachment } from '../whereabouts/attachments.js'
import type { Call } from '../whereabouts/kubelet.js'
import { type Network, poolNameOf } from '../whereabouts/networks.js'

export type Phase = 'dual-write' | 'blocks' | 'finished' | undefined
/** What carries a call out: a plugin of upstream, or ours by the type of the definition. */
export type Carrier = 'upstream' | 'whereabouts' | 'ipam-kit'

/** What the operators of a cluster agree on: the types of definitions, and what has to wait for what. */
export class Upgrade {
  readonly networks: readonly Network[]
  /** Nothing unusual is created any more. */
  hasBegun = false
  /** The phase that the operators have to reach. Left out: they change it in both directions. */
  goal: 'finish' | 'back' | undefined
  /** Whether the operators begin no step. */
  isResting = false
  /** Steps that are under way. */
  busy = 0
  /** Grows with each step. */
  steps = 0
  readonly #onBlocks = new Set<Network>()
  readonly #carriers = new WeakMap<Attachment, 'whereabouts' | 'ipam-kit'>()
  readonly #calls = new Map<Call, Carrier>()
  readonly #stepsAt = new WeakMap<Call, number>()
  /** Pools whose rollBack may not have ended, by operator. */
  readonly #rollBacks = new Map<string, Set<string>>()
  /** Pools that may lack rows of ADDs on blocks. */
  readonly #hadAdd = new Set<string>()

  constructor(networks: readonly Network[]) {
    this.networks = networks
  }

  begins(call: Call): void {
    this.#stepsAt.set(call, this.steps)
    this.#calls.set(call, this.carrierFor(call))
  }

  /** Each ADD goes by the type that the definition has then; other calls by the last ADD. */
  carrierFor(call: Call): Carrier {
    const begun = this.#calls.get(call)
    if (begun !== undefined) return begun
    const { attachment, verb, program } = call
    const { network } = attachment
    if (program === 'upstream') return 'upstream'
    const type = this.#onBlocks.has(network) ? 'ipam-kit' : 'whereabouts'
    if (verb === 'GC') return type
    if (verb !== 'ADD') return this.#carriers.get(attachment) ?? 'whereabouts'
    this.#carriers.set(attachment, type)
    if (type === 'ipam-kit') for (const range of network.ranges) this.#hadAdd.add(poolNameOf(network, range))
    return type
  }

  /** How many steps have begun since a call has. */
  stepsSince(call: Call): number {
    return this.steps - (this.#stepsAt.get(call) ?? this.steps)
  }

  ends(call: Call): void {
    this.#calls.delete(call)
  }

  /** The calls that are under way, of one carrier. */
  calls(carrier: Carrier, networks: readonly Network[] = this.networks): readonly Call[] {
    return [...this.#calls].flatMap(([call, by]) =>
      by === carrier && networks.includes(call.attachment.network) ? [call] : [],
    )
  }

  isUnderWay(call: Call): boolean {
    return this.#calls.has(call)
  }

  networksOf(pool: string): readonly Network[] {
    return this.networks.filter((network) => network.ranges.some((range) => poolNameOf(network, range) === pool))
  }

  /** Whether all definitions of the networks of a pool have the type `ipam-kit`. */
  isOnBlocks(pool: string): boolean {
    return this.networksOf(pool).every((network) => this.#onBlocks.has(network))
  }

  /** Whether the blocks may have rows of the pool that were given on blocks alone. */
  hadAddOnBlocks(pool: string): boolean {
    return this.#hadAdd.has(pool)
  }

  /** Definitions get the type `ipam-kit`, if no pool of the network may be on its way back. */
  toBlocks(network: Network, phaseOf: (pool: string) => Phase): boolean {
    const pools = network.ranges.map((range) => poolNameOf(network, range))
    const isReady = pools.every((pool) => phaseOf(pool) === 'blocks' && !this.#rollBacks.has(pool))
    if (isReady) this.#onBlocks.add(network)
    return isReady
  }

  /** An operator is about to roll a pool back: its definitions get their former type. */
  rollsBack(pool: string, operator: string): void {
    const operators = this.#rollBacks.get(pool) ?? new Set()
    this.#rollBacks.set(pool, operators.add(operator))
    for (const network of this.networksOf(pool)) this.#onBlocks.delete(network)
  }

  hasRolledBack(pool: string, operator: string): void {
    const operators = this.#rollBacks.get(pool)
    operators?.delete(operator)
    if (operators?.size === 0) this.#rollBacks.delete(pool)
  }

  /** The pool has its rows again: blocks alone have given none. */
  isEqualAgain(pool: string): void {
    this.#hadAdd.delete(pool)
  }
}
