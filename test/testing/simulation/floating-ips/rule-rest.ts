import { LEAST_LIST_SECONDS, LIST_SECONDS, REST_SECONDS, WAITING_LIST_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { boundTo, isAlive, poolOf } from './kinds.js'
import { isReadCall } from './process-calls.js'
import type { ArrivedCall, CloudCall, Rule, RuleWorld } from './rules.js'

/** How much earlier than promised a list may be, in milliseconds: clocks of pools have seconds. */
const TOLERANCE_MS = 1500

/**
 * At rest nothing is written, no call changes the cloud, and a pool is listed as often as the guide
 * says: at most once in 30 s, once in 60 s while claims wait, once in `listSeconds` otherwise.
 */
export class RestRule implements Rule {
  readonly #world: RuleWorld
  #isAtRest = false
  /** What was written, and which calls have changed the cloud, by the object that it is about. */
  readonly #changes = new Map<string, { readonly words: readonly string[]; readonly texts: string[] }>()
  /** When each pool was listed, by process and pool. */
  readonly #lists = new Map<string, { readonly cluster: Cluster; readonly pool: string; readonly timesMs: number[] }>()

  constructor(world: RuleWorld) {
    this.#world = world
  }

  /** From now on everything is at rest. */
  begin(): void {
    this.#isAtRest = true
  }

  /** The end of the rest. */
  end(): void {
    for (const { words, texts } of this.#changes.values()) {
      const [first = ''] = texts
      this.#world.report(`${texts.length} times at rest, in ${REST_SECONDS} s: ${first.slice(0, 600)}`, words)
    }
    for (const [key, { cluster, pool, timesMs }] of this.#lists) {
      const gaps = timesMs.slice(1).map((atMs, nth) => atMs - (timesMs[nth] as number))
      const least = gaps.findIndex((gap) => gap < LEAST_LIST_SECONDS * 1000 - TOLERANCE_MS)
      if (least !== -1) {
        this.#world.report(`${key}: listed again after ${(gaps[least] as number) / 1000} s`, [pool])
        continue
      }
      const seconds = this.#secondsOf(cluster, pool)
      const most = Math.ceil(REST_SECONDS / seconds) + 1
      if (timesMs.length <= most) continue
      this.#world.report(`${key}: listed ${timesMs.length} times in ${REST_SECONDS} s, not once in ${seconds} s`, [
        pool,
      ])
    }
  }

  /** A write of a process. @param text what is written */
  onWrite(process: string, text: string, words: readonly string[]): void {
    if (this.#isAtRest) this.#note(`${process} writes: ${text}`, words)
  }

  onCall({ process, call, pool }: CloudCall): void {
    if (!this.#isAtRest || call.operation !== 'listAddresses') return
    const key = `${process.name} ${pool}`
    const known = this.#lists.get(key) ?? { cluster: process.cluster, pool, timesMs: [] }
    this.#lists.set(key, known)
    known.timesMs.push(this.#world.nowMs)
  }

  onArrival({ process, call, label, pool, answer }: ArrivedCall): void {
    if (this.#isAtRest && answer.ok && !isReadCall(call)) this.#note(`${process.name} calls ${label}`, [pool])
  }

  #note(text: string, words: readonly string[]): void {
    const key = words.join(' ')
    const known = this.#changes.get(key) ?? { words, texts: [] }
    this.#changes.set(key, known)
    known.texts.push(text)
  }

  /** How often a pool is listed at most, in seconds from one list to the next. */
  #secondsOf(cluster: Cluster, key: string): number {
    const pool = cluster.pools.get(key)
    const claims = [...cluster.claims.values()].filter((claim) => poolOf(claim) === key)
    const addresses = [...cluster.addresses.values()].filter((address) => poolOf(address) === key)
    // what is to be released may be attached
    if (!isAlive(pool) || [...claims, ...addresses].some((each) => !isAlive(each))) return LEAST_LIST_SECONDS
    return claims.some((claim) => boundTo(claim) === undefined) ? WAITING_LIST_SECONDS : LIST_SECONDS
  }
}
