import { LEAK_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { addressIn, isAlive, isPaused, specOf } from './kinds.js'
import type { AddressRecord } from './project.js'
import { Lasting, type Rule, type RuleWorld } from './rules.js'

/**
 * An address that a call has created is in a list: that of its IPAddress, or one in the status of
 * a pool. Else it is deleted soon. That holds after the end of the pool too, unless the pool
 * retains its addresses.
 */
export class LeaksRule implements Rule {
  readonly #world: RuleWorld
  readonly #lasting: Lasting

  constructor(world: RuleWorld) {
    this.#world = world
    this.#lasting = new Lasting(world, LEAK_SECONDS)
  }

  onTick(): void {
    const unlisted = this.#world.project.existing.flatMap((record) => {
      const cluster = this.#world.clusters.find(({ name }) => name === record.owner?.cluster)
      if (cluster === undefined || !this.#mustBeListed(record, cluster) || this.#isListed(record, cluster)) return []
      return [{ key: record.id, cluster, record }]
    })
    for (const { record } of this.#lasting.tooLong(unlisted, true)) {
      const { text, id, owner, creator } = record
      const message = `${text} was created for ${owner?.pool} by ${creator?.process}, and has been in no list for ${LEAK_SECONDS} s`
      this.#world.report(message, [text, id])
    }
  }

  #mustBeListed(record: AddressRecord, cluster: Cluster): boolean {
    if (record.isEdited || record.isRetained || this.#world.project.isAttached(record)) return false
    // people may name it in another cluster, whose pool then has it
    const others = this.#world.clusters.filter((other) => other !== cluster).flatMap(({ pools }) => [...pools.values()])
    if (others.some((other) => specOf(other).preAllocatedFloatingIPs?.includes(record.text))) return false
    const pool = cluster.pools.get(record.owner?.pool ?? '')
    const isOfPool = pool !== undefined && pool.metadata.uid === record.owner?.uid
    // a call that arrives after the end of its pool is known to nothing
    if (!isOfPool) return record.creator?.isLate !== true
    return isAlive(pool) && !isPaused(pool)
  }

  /** Whether an IPAddress has it, or the status of a pool names it. */
  #isListed({ text }: AddressRecord, cluster: Cluster): boolean {
    if ([...cluster.addresses.values()].some((address) => addressIn(address) === text)) return true
    const pattern = new RegExp(`(?<![\\d.])${text.replaceAll('.', '\\.')}(?![\\d.])`)
    return [...cluster.pools.values()].some(({ status }) => {
      const said = JSON.stringify(status ?? {})
      // a message names a few of those that an earlier pool has created
      return pattern.test(said) || /An earlier pool has created these[^"]*, and more/.test(said)
    })
  }
}
