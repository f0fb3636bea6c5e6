import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import type { Cluster, ObjectChange } from './cluster.js'
import type { Process } from './process.js'
import type { AddressRecord, Project } from './project.js'

/** A call to the cloud, from the moment when a planner makes it. */
export interface CloudCall {
  readonly process: Process
  readonly call: ExternalCall
  readonly label: string
  /** Namespace and name of its pool; empty: it is for a server. */
  readonly pool: string
  /** The pool as it was stored when the call was made. */
  readonly stored: KubeObject | undefined
  /** The versions of the pool that the process knew then, or shortly before. */
  readonly known: readonly KubeObject[]
  readonly madeMs: number
  /** Whether the process was the leader then. */
  readonly isByLeader: boolean
}

/** A call that has arrived. */
export interface ArrivedCall extends CloudCall {
  readonly answer: ExternalResult
  /** Whether its process was no leader when it arrived, or was suspended after it made the call. */
  readonly isLate: boolean
  readonly created: readonly AddressRecord[]
  readonly deleted: readonly AddressRecord[]
}

/** A change of an object, with the process that has made it. */
export interface WrittenChange extends ObjectChange {
  /** Undefined: people. */
  readonly by: Process | undefined
}

/** What rules see of the world. */
export interface RuleWorld {
  readonly clusters: readonly Cluster[]
  readonly project: Project
  readonly nowMs: number
  /** Since when a leader of the cluster has been working without a suspension. */
  leadingSinceMs(cluster: Cluster): number | undefined
  /** When the last fault happened. */
  readonly disturbedMs: number
  /** Reports what is wrong. @param words what the trace is searched for */
  report(message: string, words: readonly string[]): void
}

/** Something that must hold at every step. */
export interface Rule {
  onChange?(change: WrittenChange): void
  onCall?(call: CloudCall): void
  onArrival?(call: ArrivedCall): void
  /** A planner gets the answer to its call. */
  onAnswer?(call: CloudCall, answer: ExternalResult): void
  /** Every few seconds: for what must not last. */
  onTick?(): void
}

/** Conditions that may hold for a limited time, by what they are about. */
export class Lasting {
  readonly #world: RuleWorld
  readonly #seconds: number
  readonly #since = new Map<string, number>()

  /** @param seconds how long a condition may hold while a leader works */
  constructor(world: RuleWorld, seconds: number) {
    this.#world = world
    this.#seconds = seconds
  }

  /**
   * Notes which conditions hold now.
   *
   * @param isQuiet whether only the time since the last fault counts
   * @returns those that have held for too long. Each is returned once
   */
  tooLong<T extends { readonly key: string; readonly cluster: Cluster }>(
    holding: readonly T[],
    isQuiet: boolean,
  ): readonly T[] {
    const { nowMs, disturbedMs } = this.#world
    const keys = new Set(holding.map(({ key }) => key))
    for (const key of this.#since.keys()) if (!keys.has(key)) this.#since.delete(key)
    return holding.filter(({ key, cluster }) => {
      const sinceMs = this.#since.get(key) ?? nowMs
      this.#since.set(key, sinceMs)
      const leadingMs = this.#world.leadingSinceMs(cluster)
      if (leadingMs === undefined) return false
      const countsFromMs = Math.max(sinceMs, leadingMs, isQuiet ? disturbedMs : 0)
      if (nowMs - countsFromMs <= this.#seconds * 1000) return false
      this.#since.set(key, Number.POSITIVE_INFINITY)
      return true
    })
  }
}
