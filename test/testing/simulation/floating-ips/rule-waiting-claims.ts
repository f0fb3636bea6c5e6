import type { KubeObject } from 'ipam-kit/crd/meta'
import { SERVE_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { addressIn, boundTo, isAlive, isPaused, keyOf, poolOf, specOf } from './kinds.js'
import { Lasting, type Rule, type RuleWorld } from './rules.js'

/**
 * A claim that its pool can serve becomes Bound within a bounded time. A pool can serve a claim when
 * it may create one more address, or has one that nothing uses. The count is on the safe side: every
 * address that was ever created for the pool counts towards its limit.
 */
export class WaitingClaimsRule implements Rule {
  readonly #world: RuleWorld
  readonly #lasting: Lasting

  constructor(world: RuleWorld) {
    this.#world = world
    this.#lasting = new Lasting(world, SERVE_SECONDS)
  }

  onTick(): void {
    const waiting = this.#world.clusters.flatMap((cluster) => {
      return [...cluster.pools.values()].flatMap((pool) => {
        const claims = claimsOf(cluster, keyOf(pool))
        const waits = claims.filter((claim) => boundTo(claim) === undefined && isAlive(claim) && !isPaused(claim))
        const [first] = waits
        if (first === undefined || !this.#canServe(cluster, pool)) return []
        // a pool that serves one claim after the other makes progress
        const bound = claims.filter((claim) => boundTo(claim) !== undefined).map(({ metadata }) => metadata.uid)
        const key = JSON.stringify([cluster.name, keyOf(pool), pool.metadata.generation, first.metadata.uid, bound])
        return [{ key, cluster, pool, first }]
      })
    })
    for (const { cluster, pool, first } of this.#lasting.tooLong(waiting, true)) {
      const { conditions = [] } = (first.status ?? {}) as {
        readonly conditions?: readonly { readonly message?: string }[]
      }
      const reason = conditions.map(({ message }) => message ?? '').join('; ')
      const message = `claim ${keyOf(first)} of cluster ${cluster.name} has waited for ${SERVE_SECONDS} s, and its pool can serve it: ${reason}`
      this.#world.report(message, [keyOf(first), keyOf(pool)])
    }
  }

  #canServe(cluster: Cluster, pool: KubeObject): boolean {
    if (!isAlive(pool) || isPaused(pool)) return false
    const { project } = this.#world
    const key = keyOf(pool)
    const { floatingIPNetwork, maxIPs = Number.POSITIVE_INFINITY, preAllocatedFloatingIPs = [] } = specOf(pool)
    const network = floatingIPNetwork.id
    const held = new Set(this.#world.clusters.flatMap((each) => [...each.addresses.values()].map(addressIn)))
    // people may have given an address the mark of the pool, or that of a pool that it is a copy of
    const created = project.existing.filter(({ owner, isEdited }) => owner?.pool === key || isEdited)
    const ofPool = [...cluster.addresses.values()].filter((address) => poolOf(address) === key)
    const texts = new Set([...created.map(({ text }) => text), ...ofPool.map(addressIn)])
    const networks = new Set([...texts].map((text) => project.existing.find((each) => each.text === text)?.network))
    // a pool that has addresses in another network says so, and gives nothing
    if (!project.networks.includes(network) || [...networks].some((each) => each !== network)) return false
    const namedByOthers = new Set(
      this.#world.clusters.flatMap((each) =>
        [...each.pools.values()].flatMap((other) =>
          other === pool ? [] : (specOf(other).preAllocatedFloatingIPs ?? []),
        ),
      ),
    )
    const isFree = ({ text, owner, network: its, isEdited }: (typeof project.existing)[number]) =>
      !held.has(text) && its === network && owner === undefined && !isEdited && !namedByOthers.has(text)
    const hasFree = preAllocatedFloatingIPs.some((text) => {
      const record = project.withText(text)
      return record !== undefined && isFree(record) && !project.isAttached(record)
    })
    // a paused claim, or one that is being deleted, may have a call on the way
    const others = claimsOf(cluster, key).filter(
      (claim) => boundTo(claim) === undefined && (isPaused(claim) || !isAlive(claim)),
    )
    return hasFree || (texts.size + others.length < maxIPs && project.cloud.quota > project.existing.length)
  }
}

function claimsOf(cluster: Cluster, pool: string): readonly KubeObject[] {
  return [...cluster.claims.values()]
    .filter((claim) => poolOf(claim) === pool)
    .sort((a, b) => (a.metadata.uid ?? '').localeCompare(b.metadata.uid ?? ''))
}
