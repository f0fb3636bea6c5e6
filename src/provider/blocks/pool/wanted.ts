/** The claims that wait for an address that is in use, by address. O(1) for each address or key. */
export class WantedAddresses {
  readonly #byAddress = new Map<string, Set<string>>()
  readonly #addresses = new Map<string, string>()

  /** Records that a claim waits for an address, and for no other. */
  note(key: string, address: string): void {
    this.forget(key)
    this.#addresses.set(key, address)
    const keys = this.#byAddress.get(address)
    if (keys === undefined) this.#byAddress.set(address, new Set([key]))
    else keys.add(key)
  }

  /** Records that a claim no longer waits. */
  forget(key: string): void {
    const address = this.#addresses.get(key)
    if (address === undefined) return
    this.#addresses.delete(key)
    const keys = this.#byAddress.get(address) as Set<string>
    keys.delete(key)
    if (keys.size === 0) this.#byAddress.delete(address)
  }

  /** @returns the claims that waited for an address; they are removed */
  take(address: string): readonly string[] {
    const keys = [...(this.#byAddress.get(address) ?? [])]
    for (const key of keys) this.forget(key)
    return keys
  }

  get isEmpty(): boolean {
    return this.#addresses.size === 0
  }

  clear(): void {
    this.#byAddress.clear()
    this.#addresses.clear()
  }
}
