import { IPAddress } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'

/** Who has which address, as a watch tells of it: whoever gets one that another has is noted. */
export class Ledger {
  readonly #holders = new Map<string, Set<string>>()
  readonly twice: string[] = []
  given = 0

  /** How many addresses are given. */
  get size(): number {
    return this.#holders.size
  }

  note(type: string, object: KubeObject): void {
    const { spec, metadata } = IPAddress.parse(object)
    const { kind, name } = spec.poolRef
    const address = `${kind}/${name} ${spec.address}/${spec.prefix}`
    const holders = this.#holders.get(address) ?? new Set()
    if (type === 'DELETED') {
      holders.delete(metadata.uid!)
      if (holders.size === 0) this.#holders.delete(address)
      return
    }
    if (type === 'ADDED') this.given++
    holders.add(metadata.uid!)
    this.#holders.set(address, holders)
    if (holders.size > 1) this.twice.push(`${address}: also for ${metadata.name}`)
  }
}
