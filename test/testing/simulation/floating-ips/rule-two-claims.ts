import type { KubeObject } from 'ipam-kit/crd/meta'
import { PLAN_SECONDS, REPAIR_SECONDS, WATCH_LAG_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { addressIn, boundTo, claimOf, isAlive, keyOf } from './kinds.js'
import type { Process } from './process.js'
import { Lasting, type Rule, type RuleWorld, type WrittenChange } from './rules.js'

/**
 * No address has two live claims for longer than the repair takes, and never two that are Bound.
 * Two leaders that give one address within some seconds cannot see that: this may stay.
 */
export class TwoClaimsRule implements Rule {
  readonly #world: RuleWorld
  readonly #lasting: Lasting
  readonly #told = new Set<string>()
  /** The process that has written an IPAddress, and when, by uid. */
  readonly #written = new Map<string, { readonly by: Process; readonly atMs: number }>()

  constructor(world: RuleWorld) {
    this.#world = world
    this.#lasting = new Lasting(world, REPAIR_SECONDS)
  }

  onChange({ room, before, now, by }: WrittenChange): void {
    if (room === 'addresses' && before === undefined && now !== undefined && by !== undefined) {
      this.#written.set(now.metadata.uid ?? '', { by, atMs: this.#world.nowMs })
    }
    for (const { key, claims, address } of this.#shared()) {
      const bound = claims.filter(({ isBound }) => isBound).map(({ name }) => name)
      if (bound.length < 2 || this.#told.has(key)) continue
      this.#told.add(key)
      this.#world.report(`${address} has two Bound claims: ${bound.join(' and ')}`, [address, ...bound])
    }
  }

  onTick(): void {
    for (const { claims, address } of this.#lasting.tooLong(this.#shared(), false)) {
      const names = claims.map(({ name }) => name)
      const message = `${address} has had two claims for ${REPAIR_SECONDS} s: ${names.join(' and ')}`
      this.#world.report(message, [address, ...names])
    }
  }

  #shared() {
    return this.#world.clusters.flatMap((cluster) => {
      const byText = new Map<string, KubeObject[]>()
      for (const object of cluster.addresses.values()) {
        if (!isAlive(object) || !isAlive(cluster.claims.get(claimOf(object)))) continue
        const text = addressIn(object)
        byText.set(text, [...(byText.get(text) ?? []), object])
      }
      return [...byText].flatMap(([address, objects]) => {
        if (objects.length < 2) return []
        const claims = objects.map((object) => claimIn(cluster, object))
        // what is Bound is not taken away
        if (claims.every(({ isBound }) => isBound) && this.#wereGivenAtOnce(objects)) return []
        return [{ key: `${cluster.name} ${address}`, cluster, address, claims }]
      })
    })
  }

  /** Whether two processes have given an address, one of them before it could see the other. */
  #wereGivenAtOnce(objects: readonly KubeObject[]): boolean {
    const written = objects.flatMap(({ metadata }) => this.#written.get(metadata.uid ?? '') ?? [])
    const [first, second] = written.sort((a, b) => a.atMs - b.atMs)
    if (objects.length > 2 || first === undefined || second === undefined || first.by === second.by) return false
    return second.atMs - first.atMs < (WATCH_LAG_SECONDS + PLAN_SECONDS) * 1000
  }
}

function claimIn(cluster: Cluster, address: KubeObject): { readonly name: string; readonly isBound: boolean } {
  const name = claimOf(address)
  const claim = cluster.claims.get(name)
  return { name, isBound: claim !== undefined && `${claim.metadata.namespace}/${boundTo(claim)}` === keyOf(address) }
}
