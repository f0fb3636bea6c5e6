/** Values that become due at a time, by name. While nothing is due, a look costs O(1). */
export class DueTimes<T> {
  readonly #times = new Map<string, { readonly value: T; readonly atMs: number }>()
  /** No entry is due before this time. */
  #firstMs = Number.POSITIVE_INFINITY
  /** Whether an entry is due exactly then. */
  #isExact = true

  /** O(1). */
  set(name: string, atMs: number, value: T): void {
    this.delete(name)
    this.#times.set(name, { value, atMs })
    if (atMs > this.#firstMs) return
    this.#firstMs = atMs
    this.#isExact = true
  }

  /** O(1). */
  delete(name: string): void {
    const time = this.#times.get(name)
    if (time === undefined) return
    this.#times.delete(name)
    if (time.atMs === this.#firstMs) this.#isExact = false
  }

  /** Removes and returns the due entries. O(1) while nothing is due, else O(n). */
  takeDue(nowMs: number): readonly T[] {
    if (nowMs < this.#firstMs) return []
    const due: T[] = []
    for (const [name, { value, atMs }] of this.#times) {
      if (atMs > nowMs) continue
      this.#times.delete(name)
      due.push(value)
    }
    this.#isExact = false
    return due
  }

  /**
   * When the next entry is due; `undefined`: never. O(1), or O(n) after the first entry was
   * removed.
   */
  get firstMs(): number | undefined {
    if (!this.#isExact) {
      this.#firstMs = Number.POSITIVE_INFINITY
      for (const { atMs } of this.#times.values()) if (atMs < this.#firstMs) this.#firstMs = atMs
      this.#isExact = true
    }
    return this.#firstMs === Number.POSITIVE_INFINITY ? undefined : this.#firstMs
  }
}
