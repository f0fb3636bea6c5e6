/** A priority queue of objects by time, the earliest first. Adding and removing are O(log n). */
export class Deadlines<T extends object> {
  /** A binary heap. What was removed stays in it until it comes to the top. */
  readonly #heap: { readonly thing: T; readonly atMs: number }[] = []
  readonly #current = new Map<T, number>()

  get size(): number {
    return this.#current.size
  }

  add(thing: T, atMs: number): void {
    this.#current.set(thing, atMs)
    const heap = this.#heap
    let at = heap.length
    heap.push({ thing, atMs })
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.atMs <= atMs) break
      this.#swap(at, parent)
      at = parent
    }
  }

  remove(thing: T): void {
    this.#current.delete(thing)
    // removed entries are a majority: rebuild the heap without them
    if (this.#heap.length > 2 * this.#current.size + 64) this.#rebuild()
  }

  has(thing: T): boolean {
    return this.#current.has(thing)
  }

  /** The earliest time, or `undefined`. */
  earliestMs(): number | undefined {
    return this.#top()?.atMs
  }

  /** What has the earliest time, or `undefined`. */
  earliest(): T | undefined {
    return this.#top()?.thing
  }

  /** Takes out the earliest one that is due, or returns `undefined`. */
  due(nowMs: number): T | undefined {
    const top = this.#top()
    if (top === undefined || top.atMs > nowMs) return undefined
    this.#pop()
    this.#current.delete(top.thing)
    return top.thing
  }

  #top() {
    for (;;) {
      const top = this.#heap[0]
      if (top === undefined || this.#current.get(top.thing) === top.atMs) return top
      this.#pop()
    }
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    heap[0] = last
    let at = 0
    for (;;) {
      let earliest = at
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && heap[child]!.atMs < heap[earliest]!.atMs) earliest = child
      }
      if (earliest === at) return
      this.#swap(at, earliest)
      at = earliest
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap
    const kept = heap[a]!
    heap[a] = heap[b]!
    heap[b] = kept
  }

  #rebuild(): void {
    const things = [...this.#current]
    this.#heap.length = 0
    for (const [thing, atMs] of things) this.add(thing, atMs)
  }
}
