import type { KubeObject } from 'ipam-kit/crd/meta'
import { addressIn, boundTo, claimOf, isAlive, specOf } from './kinds.js'
import type { Process } from './process.js'
import type { AddressRecord } from './project.js'
import type { ArrivedCall, CloudCall, Rule, RuleWorld, WrittenChange } from './rules.js'

/**
 * No call deletes an address in the cloud:
 *
 * - that a live claim has, unless people have named it in one cluster though a pool of another one
 *   has created it
 * - that the pool of the call has not created
 * - that the spec of the pool names
 * - that the pool retains. A deletion that was begun while the policy was Delete may be finished
 * - whose IPAddress is still to come in a move
 */
export class DeletionsRule implements Rule {
  readonly #world: RuleWorld
  readonly #promised: ReadonlyMap<string, string>
  /** The ids of addresses whose deletion was begun while the policy was Delete, and when. */
  readonly #begun = new Map<string, number>()
  /** The addresses that people have named in each cluster. */
  readonly #named = new Set<string>()
  /** The process that has written an IPAddress, whether it was the leader, and when. By uid. */
  readonly #written = new Map<string, { readonly by: Process; readonly isByLeader: boolean; readonly atMs: number }>()

  /** @param promised the claims of addresses whose IPAddress is on its way, by address */
  constructor(world: RuleWorld, promised: ReadonlyMap<string, string>) {
    this.#world = world
    this.#promised = promised
  }

  onChange({ cluster, room, before, now, by }: WrittenChange): void {
    if (room === 'pools' && now !== undefined) {
      for (const text of specOf(now).preAllocatedFloatingIPs ?? []) this.#named.add(`${cluster.name} ${text}`)
    }
    if (room !== 'addresses' || by === undefined || before !== undefined || now === undefined) return
    this.#written.set(now.metadata.uid ?? '', { by, isByLeader: by.isLeader, atMs: this.#world.nowMs })
  }

  onCall({ call, known }: CloudCall): void {
    const { seen, marker = '' } = (call.input ?? {}) as {
      readonly seen?: { readonly id: string }
      readonly marker?: string
    }
    // the mark begins a deletion
    if (seen === undefined || (call.operation !== 'deleteAddress' && !marker.endsWith('/deleting'))) return
    const { id } = seen
    if (known.some((pool) => specOf(pool).reclaimPolicy === 'Delete') && !this.#begun.has(id)) {
      this.#begun.set(id, this.#world.nowMs)
    }
  }

  onArrival(call: ArrivedCall): void {
    for (const record of call.deleted) {
      const why = this.#whyNot(call, record)
      if (why === undefined) continue
      this.#world.report(`${call.process.name} deletes ${record.text} in the cloud, ${why}`, [record.text, record.id])
    }
  }

  #whyNot({ process, pool, stored, known, madeMs }: ArrivedCall, record: AddressRecord): string | undefined {
    const { text, owner } = record
    const holder = this.#holderOf(record, process, madeMs)
    if (holder !== undefined) return `which the live claim ${holder} has`
    const promisedTo = this.#promised.get(text)
    if (promisedTo !== undefined) return `which ${promisedTo} has, which is being moved`
    if (record.isEdited) return undefined
    if (owner === undefined) return 'which people have created'
    if (owner.cluster !== process.cluster.name || owner.pool !== pool) {
      return `which pool ${owner.pool} of cluster ${owner.cluster} has created`
    }
    const creator = record.creator?.cluster
    if (creator !== process.cluster.name) return `which the pool has created in cluster ${creator}, before it moved`
    const isOfEarlier = stored !== undefined && stored.metadata.uid !== owner.uid
    if (record.isRetained && isOfEarlier) return 'which an earlier pool of this name has left on purpose'
    const isNamed = known.length > 0 && known.every((each) => specOf(each).preAllocatedFloatingIPs?.includes(text))
    if (isNamed) return 'which its spec names'
    const isRetaining = known.length > 0 && known.every((each) => specOf(each).reclaimPolicy === 'Retain')
    return isRetaining && !this.#begun.has(record.id) ? 'which its policy retains' : undefined
  }

  /** The live claim that has an address, unless nothing could prevent that. */
  #holderOf(record: AddressRecord, process: Process, madeMs: number): string | undefined {
    for (const cluster of this.#world.clusters) {
      for (const address of cluster.aliveAddresses) {
        const claim = cluster.claims.get(claimOf(address))
        if (addressIn(address) !== record.text || !isAlive(claim)) continue
        const isElsewhere = cluster !== process.cluster && record.owner?.cluster === process.cluster.name
        // people have deleted the one that the claim has got, and the cloud has given it again
        const isNewer = record.createdMs > (this.#written.get(address.metadata.uid ?? '')?.atMs ?? record.createdMs)
        if (isElsewhere && (isNewer || this.#named.has(`${cluster.name} ${record.text}`))) continue
        if (this.#isTooLate(address, claim, madeMs) || this.#isOfTwoLeaders(address, record, process)) continue
        return `${claimOf(address)} of cluster ${cluster.name}`
      }
    }
    return undefined
  }

  /** Whether an earlier leader has written an IPAddress after the call was made, and binds nothing. */
  #isTooLate(address: KubeObject, claim: KubeObject, madeMs: number): boolean {
    const written = this.#written.get(address.metadata.uid ?? '')
    return written?.isByLeader === false && written.atMs >= madeMs && boundTo(claim) !== address.metadata.name
  }

  /**
   * Whether, of two leaders by mistake, one has given an address after the other had begun to
   * delete it.
   */
  #isOfTwoLeaders(address: KubeObject, { id }: AddressRecord, process: Process): boolean {
    const written = this.#written.get(address.metadata.uid ?? '')
    const isMistake = written !== undefined && written.by !== process && !(written.by.elects && process.elects)
    return isMistake && written.atMs >= (this.#begun.get(id) ?? Number.POSITIVE_INFINITY)
  }
}
