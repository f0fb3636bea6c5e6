import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalResult } from 'ipam-kit/plan'
import { CALL_SECONDS, PLAN_SECONDS, WATCH_LAG_SECONDS } from './bounds.js'
import { addressIn, poolOf, specOf } from './kinds.js'
import type { ArrivedCall, CloudCall, Rule, RuleWorld, WrittenChange } from './rules.js'

/**
 * A leader that makes a call to create an address knows that its pool has fewer than maxIPs. What
 * counts: the addresses of claims, those that the pool has created, and the calls of this process
 * that have not arrived. Addresses of calls that arrive from a process that is no leader any more,
 * or that was suspended, may come on top.
 */
export class LimitRule implements Rule {
  readonly #world: RuleWorld
  /** The calls that create, and that have not arrived. */
  #open: CloudCall[] = []
  /** The process that has created an IPAddress, and when, by uid. */
  readonly #written = new Map<string, { readonly process: string; readonly atMs: number }>()

  constructor(world: RuleWorld) {
    this.#world = world
  }

  onChange({ room, before, now, by }: WrittenChange): void {
    if (room !== 'addresses' || before !== undefined || now === undefined) return
    this.#written.set(now.metadata.uid ?? '', { process: by?.name ?? '', atMs: this.#world.nowMs })
  }

  onCall(made: CloudCall): void {
    if (made.call.operation !== 'createAddress') return
    const { process, pool, known, stored, isByLeader } = made
    const limits = known.map((version) => specOf(version).maxIPs ?? Number.POSITIVE_INFINITY)
    if (isByLeader && limits.length > 0 && stored !== undefined) {
      const most = Math.max(...limits)
      const texts = this.#texts(made, stored)
      const open = this.#openOf(made)
      if (texts.size + open.length >= most) {
        const message = `${process.name} makes a call that creates an address for ${pool}, which has ${texts.size} and ${open.length} on the way, and may have ${most}: ${[...texts].join(', ')}`
        this.#world.report(message, [pool, ...texts])
      }
    }
    this.#open.push(made)
  }

  onArrival({ call }: ArrivedCall): void {
    this.#open = this.#open.filter((open) => open.call !== call)
  }

  onAnswer({ call }: CloudCall, answer: ExternalResult): void {
    if (!answer.ok && answer.failure.nothingDone === true) this.#open = this.#open.filter((open) => open.call !== call)
  }

  /** The calls of the same process and pool that can still arrive. */
  #openOf({ process, pool }: CloudCall): readonly CloudCall[] {
    const fromMs = this.#world.nowMs - CALL_SECONDS * 1000
    return this.#open.filter((each) => each.process === process && each.pool === pool && each.madeMs >= fromMs)
  }

  /** The addresses that count, and that the process can know. */
  #texts({ process, pool }: CloudCall, stored: KubeObject): Set<string> {
    const { nowMs, project } = this.#world
    const recentMs = nowMs - (WATCH_LAG_SECONDS + PLAN_SECONDS) * 1000
    const held = [...process.cluster.addresses.values()].filter((address) => {
      const written = this.#written.get(address.metadata.uid ?? '')
      return poolOf(address) === pool && (written?.process === process.name || (written?.atMs ?? 0) < recentMs)
    })
    const created = project.existing.filter(
      ({ creator, isEdited }) => creator?.uid === stored.metadata.uid && !creator?.isLate && !isEdited,
    )
    // what the spec names belongs to people
    const named = new Set(specOf(stored).preAllocatedFloatingIPs)
    const late = new Set(project.existing.flatMap(({ creator, text }) => (creator?.isLate ? [text] : [])))
    const texts = [...held.map(addressIn), ...created.flatMap(({ text }) => (named.has(text) ? [] : [text]))]
    return new Set(texts.filter((text) => !late.has(text)))
  }
}
