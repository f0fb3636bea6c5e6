import type { KubeObject } from 'ipam-kit/crd/meta'
import { LEAK_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { addressIn, claimOfServer, isAlive, isPaused, keyOf, poolOf } from './kinds.js'
import { Lasting, type Rule, type RuleWorld } from './rules.js'

/**
 * A claim or a pool that is being deleted ends within a bounded time. A server holds its claim, so
 * does an address that people have attached, and claims hold their pool.
 */
export class EndingsRule implements Rule {
  readonly #world: RuleWorld
  readonly #lasting: Lasting

  constructor(world: RuleWorld) {
    this.#world = world
    this.#lasting = new Lasting(world, LEAK_SECONDS)
  }

  onTick(): void {
    const ending = this.#world.clusters.flatMap((cluster) =>
      [
        ...[...cluster.claims.values()].filter((claim) => this.#claimMustEnd(cluster, claim)),
        ...[...cluster.pools.values()].filter((pool) => this.#poolMustEnd(cluster, pool)),
      ].map((object) => ({ key: `${cluster.name} ${object.metadata.uid}`, cluster, object })),
    )
    for (const { cluster, object } of this.#lasting.tooLong(ending, true)) {
      const name = `${object.kind} ${keyOf(object)} of cluster ${cluster.name}`
      this.#world.report(`${name} was deleted, and has not ended within ${LEAK_SECONDS} s`, [keyOf(object)])
    }
  }

  #claimMustEnd(cluster: Cluster, claim: KubeObject): boolean {
    const pool = cluster.pools.get(poolOf(claim))
    const address = cluster.addresses.get(keyOf(claim))
    if (isAlive(claim) || isPaused(claim) || pool === undefined || isPaused(pool)) return false
    if ([...cluster.servers].some(([key, server]) => claimOfServer(key) === keyOf(claim) && isAlive(server)))
      return false
    return address === undefined || !this.#isAttached(addressIn(address))
  }

  #poolMustEnd(cluster: Cluster, pool: KubeObject): boolean {
    const users = [...cluster.claims.values(), ...cluster.addresses.values()]
    const { uid } = pool.metadata
    if (isAlive(pool) || isPaused(pool) || users.some((user) => poolOf(user) === keyOf(pool))) return false
    return this.#world.project.existing.every(({ owner, text }) => owner?.uid !== uid || !this.#isAttached(text))
  }

  #isAttached(text: string): boolean {
    const record = this.#world.project.withText(text)
    return record !== undefined && this.#world.project.isAttached(record)
  }
}
