import { PLAN_SECONDS, WATCH_LAG_SECONDS } from './bounds.js'
import { addressIn, boundTo, claimOf, isAlive } from './kinds.js'
import type { Rule, RuleWorld, WrittenChange } from './rules.js'

/**
 * A claim is Bound to an IPAddress that exists, and keeps it: only the end of the claim takes it
 * away. A process does not know at once that a move has removed an IPAddress by force, or that a
 * second leader has deleted it.
 */
export class BoundClaimsRule implements Rule {
  readonly #world: RuleWorld
  /** When an IPAddress was removed, and by which process, by cluster and key. */
  readonly #removed = new Map<string, Pick<WrittenChange, 'by'> & { readonly atMs: number }>()

  constructor(world: RuleWorld) {
    this.#world = world
  }

  onChange(change: WrittenChange): void {
    if (change.room === 'claims') this.#onClaim(change)
    if (change.room === 'addresses') this.#onAddress(change)
  }

  #onClaim({ cluster, key, before, now, by }: WrittenChange): void {
    const name = now && boundTo(now)
    if (by === undefined || name === undefined || (before && boundTo(before) === name)) return
    const address = `${now?.metadata.namespace}/${name}`
    const removed = this.#removed.get(`${cluster.name} ${address}`)
    const isUnseen =
      removed !== undefined &&
      removed.by !== by &&
      this.#world.nowMs - removed.atMs < (WATCH_LAG_SECONDS + PLAN_SECONDS) * 1000
    if (!cluster.addresses.has(address) && !isUnseen)
      this.#world.report(`${by.name} binds ${key} to ${name}, which does not exist`, [key])
  }

  #onAddress({ cluster, key, before, now, by }: WrittenChange): void {
    if (now === undefined) this.#removed.set(`${cluster.name} ${key}`, { by, atMs: this.#world.nowMs })
    if (by === undefined || !isAlive(before) || isAlive(now)) return
    const claim = cluster.claims.get(claimOf(before))
    const isBound = isAlive(claim) && `${claim.metadata.namespace}/${boundTo(claim)}` === key
    if (!isBound) return
    const message = `${by.name} deletes the IPAddress ${key} with ${addressIn(before)}, to which a live claim is Bound`
    this.#world.report(message, [key, addressIn(before)])
  }
}
