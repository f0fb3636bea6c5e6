import type { FakeFloatingIP } from './objects.js'

/** How far back lists can lag, in milliseconds. */
export const MAX_LAG_MS = 60_000

/** The floating IPs of a fake cloud, now and as they were up to 60 s ago. */
export class FloatingIPJournal {
  /** In the order of their creation, which is the order of their ids. */
  readonly #current = new Map<string, FakeFloatingIP>()
  /** What was before each change, oldest change first. */
  #changes: { readonly atMs: number; readonly id: string; readonly before: FakeFloatingIP | undefined }[] = []
  /**
   * How many floating IPs have each address (more than one after a defect of the cloud), and how
   * many each project has.
   */
  readonly #addresses = new Map<string, number>()
  readonly #projects = new Map<string, number>()

  get(id: string): FakeFloatingIP | undefined {
    return this.#current.get(id)
  }

  countOf(project: string): number {
    return this.#projects.get(project) ?? 0
  }

  hasAddress(address: string): boolean {
    return this.#addresses.has(address)
  }

  all(): readonly FakeFloatingIP[] {
    return [...this.#current.values()]
  }

  set(id: string, next: FakeFloatingIP | undefined, nowMs: number): void {
    const before = this.#current.get(id)
    this.#changes.push({ atMs: nowMs, id, before })
    if (this.#changes[0]!.atMs < nowMs - 2 * MAX_LAG_MS) {
      this.#changes = this.#changes.filter(({ atMs }) => atMs >= nowMs - MAX_LAG_MS)
    }
    if (before !== undefined) this.#count(before, -1)
    if (next !== undefined) this.#count(next, 1)
    if (next === undefined) this.#current.delete(id)
    else this.#current.set(id, next)
  }

  /** The floating IPs as they were then, by id. O(n), and O(changes since then). */
  asOf(atMs: number): readonly FakeFloatingIP[] {
    const then = new Map<string, FakeFloatingIP | undefined>(this.#current)
    for (let i = this.#changes.length - 1; i >= 0 && this.#changes[i]!.atMs > atMs; i--) {
      const { id, before } = this.#changes[i]!
      then.set(id, before)
    }
    const known = [...then.values()].filter((floatingIP) => floatingIP !== undefined)
    return known.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  #count({ address, project }: FakeFloatingIP, by: 1 | -1): void {
    add(this.#addresses, address, by)
    add(this.#projects, project, by)
  }
}

function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
