import * as Address from '../../cidr/nouns/address.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import type { Ledger } from './definition.js'

/** What of an IPAddress says who has which address. */
interface Holding {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string }
  readonly spec: Pick<IPAddress['spec'], 'address'>
}

/**
 * The ledger of a pool whose addresses are chosen elsewhere: which IPAddress objects there are, and who has which address. It compares addresses by value and
 * knows nothing of prefixes: a provider that hands those out brings a ledger of its own.
 */
export class AddressLedger<P extends KubeObject> implements Ledger<P> {
  #pool: P | undefined
  #problems: readonly string[] = []
  /** The address of each holder, and the holders of each address. */
  readonly #held = new Map<string, string>()
  readonly #holders = new Map<string, Set<string>>()
  readonly #objects = new Set<string>()
  #reservations = 0
  #reserved = 0

  get problems(): readonly string[] {
    return this.#problems
  }

  /** How many IPAddress objects refer to the pool, and how many more are about to be written. */
  get size(): number {
    return this.#objects.size + this.#reserved
  }

  setPool(pool: P | undefined, problems: readonly string[] = []): void {
    this.#pool = pool
    this.#problems = problems
  }

  serves(pool: P): boolean {
    const own = this.#pool
    return own?.kind === pool.kind && formatRef(refOf(own)) === formatRef(refOf(pool))
  }

  observe(address: IPAddress): void {
    const key = keyOf(address.metadata)
    this.#objects.add(key)
    this.#release(key)
    this.#hold(key, address)
  }

  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void {
    this.#objects.delete(keyOf(ref))
    this.#release(keyOf(ref))
  }

  reserve(address: IPAddress): () => boolean {
    const holder = `${keyOf(address.metadata)} ${++this.#reservations}`
    this.#hold(holder, address)
    this.#reserved++
    let isOver = false
    return () => {
      if (isOver) return false
      isOver = true
      this.#reserved--
      this.#release(holder)
      return this.#holdersOf(address).length === 0
    }
  }

  /** Which other IPAddress objects have this address, as `namespace/name`, also of those that are about to be written. */
  othersHolding(address: Holding): readonly string[] {
    const own = keyOf(address.metadata)
    const others = this.#holdersOf(address).map((holder) => holder.split(' ', 1)[0] as string)
    return [...new Set(others)].filter((holder) => holder !== own).sort()
  }

  #holdersOf(address: Holding): readonly string[] {
    const value = canonical(address)
    return value === undefined ? [] : [...(this.#holders.get(value) ?? [])]
  }

  #hold(holder: string, address: IPAddress): void {
    const value = canonical(address)
    if (value === undefined) return
    this.#held.set(holder, value)
    const holders = this.#holders.get(value)
    if (holders === undefined) this.#holders.set(value, new Set([holder]))
    else holders.add(holder)
  }

  #release(holder: string): void {
    const value = this.#held.get(holder)
    if (value === undefined) return
    this.#held.delete(holder)
    const holders = this.#holders.get(value)
    holders?.delete(holder)
    if (holders?.size === 0) this.#holders.delete(value)
  }
}

/** One text for each address; `undefined` for a text that is none: it can collide with nothing. */
function canonical(address: Holding): string | undefined {
  const parsed = Address.safeParse(address.spec.address, { zone: 'drop' })
  return parsed.ok ? Address.format(parsed.value) : undefined
}

function keyOf(ref: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${ref.namespace ?? ''}/${ref.name}`
}
