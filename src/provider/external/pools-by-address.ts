import type { KubeObject, ObjectRef } from '../../crd/meta/object.js'
import type { AddressChange, ProviderMemory } from '../claims/definition.js'
import { canonical, type ExternalLedger } from './ledger.js'

/**
 * The pools of a provider that have an address or may use it. Two pools may name the same address
 * of a network, and one of them gives it.
 */
export class PoolsByAddress<P extends KubeObject> implements ProviderMemory<P, ExternalLedger<P>> {
  readonly #ledgers = new Map<string, Set<ExternalLedger<P>>>()

  /** The pools that have an address or may use it. */
  of(address: string): ReadonlySet<ExternalLedger<P>> {
    return this.#ledgers.get(address) ?? new Set()
  }

  add(address: string, ledger: ExternalLedger<P>): void {
    const known = this.#ledgers.get(address)
    if (known === undefined) this.#ledgers.set(address, new Set([ledger]))
    else known.add(ledger)
  }

  delete(address: string, ledger: ExternalLedger<P>): void {
    const known = this.#ledgers.get(address)
    if (known?.delete(ledger) && known.size === 0) this.#ledgers.delete(address)
  }

  /** Other pools that may use an address of a deleted pool are planned again. O(addresses) */
  observePool(_: ObjectRef, pool: P | undefined, ledger: ExternalLedger<P>): readonly string[] {
    if (pool !== undefined) return []
    const others = new Set<string>()
    for (const [address, ledgers] of this.#ledgers) {
      if (!ledgers.has(ledger)) continue
      for (const key of this.#others(address, ledger)) others.add(key)
      for (const other of ledgers) if (other !== ledger) other.returned(address)
    }
    return [...others]
  }

  /** Other pools that may use a released address are planned again. */
  observeAddress({ before, now }: AddressChange<ExternalLedger<P>>): readonly string[] {
    now?.ledger.observe(now.address)
    if (before !== undefined && before.ledger !== now?.ledger) before.ledger.forget(before.address.metadata)
    if (before === undefined || before.address.spec.address === now?.address.spec.address) return []
    const text = canonical(before.address.spec.address)
    if (text === undefined) return []
    for (const other of this.of(text)) if (other !== before.ledger) other.returned(text)
    return this.#others(text, before.ledger)
  }

  reset(): void {
    this.#ledgers.clear()
  }

  #others(address: string, ledger: ExternalLedger<P>): readonly string[] {
    const ledgers = this.#ledgers.get(address)
    if (ledgers === undefined || (ledgers.size === 1 && ledgers.has(ledger))) return []
    return [...ledgers].flatMap((other) => (other === ledger ? [] : (other.poolKey ?? [])))
  }
}
