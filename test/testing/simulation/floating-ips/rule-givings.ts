import { addressIn, claimOf, keyOf, poolOf, specOf } from './kinds.js'
import type { Rule, RuleWorld, WrittenChange } from './rules.js'

/**
 * An address that a pool gives is one that it has created in this cluster, or one that its spec
 * names: what it has created before a move, a copy of the pool may have created too. In a move,
 * an address whose IPAddress is still to come is given to no other claim, unless the spec names it.
 */
export class GivingsRule implements Rule {
  readonly #world: RuleWorld
  readonly #promised: ReadonlyMap<string, string>

  /** @param promised the claims of addresses whose IPAddress is on its way, by address */
  constructor(world: RuleWorld, promised: ReadonlyMap<string, string>) {
    this.#world = world
    this.#promised = promised
  }

  onChange({ cluster, room, key, before, now, by }: WrittenChange): void {
    if (room !== 'addresses' || by === undefined || before !== undefined || now === undefined) return
    // the write of an earlier leader binds nothing, and is repaired
    if (by.elects && !by.isLeader) return
    const text = addressIn(now)
    const claim = claimOf(now)
    const record = this.#world.project.withText(text)
    const pool = poolOf(now)
    const stored = cluster.pools.get(pool)
    const isNamed = [...by.knownPools(pool), ...(stored ? [stored] : [])].some((version) =>
      specOf(version).preAllocatedFloatingIPs?.includes(text),
    )
    const promisedTo = this.#promised.get(text)
    if (promisedTo !== undefined && promisedTo !== claim && !isNamed) {
      this.#world.report(`${text} is given to ${claim}, but ${promisedTo} has it and is being moved`, [text, key])
    }
    if (record === undefined || record.isEdited || isNamed) return
    const { owner, creator } = record
    if (owner === undefined) {
      this.#world.report(`${text} is given to ${claim}, but people have created it`, [text, key])
    } else if (owner.cluster !== cluster.name || owner.pool !== pool) {
      const message = `${text} is given to ${claim} in cluster ${cluster.name}, but pool ${owner.pool} of cluster ${owner.cluster} has created it`
      this.#world.report(message, [text, keyOf(now)])
    } else if (creator !== undefined && creator.cluster !== cluster.name) {
      const message = `${text} is given to ${claim}, but was created in cluster ${creator.cluster}, before the pool moved`
      this.#world.report(message, [text, keyOf(now)])
    }
  }
}
