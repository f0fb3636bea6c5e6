import { type KindInfo, type KubeObject, kindKey, type ObjectRef, objectKey, refOf } from '../../crd/meta/object.js'
import { IpamError, unwrap } from '../../errors/index.js'
import type { Change, Selection } from '../../plan/index.js'
import type { ListQuery, Store } from '../../store/index.js'
import { memoryStore } from '../../store/memory/index.js'
import { matcherOf } from '../../store/rules/selectors.js'
import type { ObjectList } from '../../store/store.js'

/** One change of what is stored. */
export interface LoggedChange {
  readonly version: number
  readonly kind: string
  readonly change: Change
  /** The object as it was before the change. */
  readonly before: KubeObject | undefined
}

/** What is stored, with everything that ever became of it, in order. */
export class Truth {
  readonly store: Store
  readonly log: LoggedChange[] = []
  readonly #kinds: readonly KindInfo[]
  /** Where in the log each kind has something, in order. */
  readonly #places = new Map<string, number[]>()
  /** What is stored, as far as the log goes. */
  readonly #objects = new Map<string, KubeObject>()
  #version = 1

  /** @param kinds what is written most comes first: there it is looked for changes first */
  constructor(kinds: readonly KindInfo[], now: () => number) {
    this.#kinds = kinds
    this.store = memoryStore({ now, kinds })
  }

  /** Takes in what was written since the last call. @returns the new entries of the log */
  async catchUp(): Promise<readonly LoggedChange[]> {
    const fresh: Omit<LoggedChange, 'before'>[] = []
    let now = this.#version
    for (const { apiVersion, kind } of this.#kinds) {
      for await (const event of this.store.watch({ apiVersion, kind }, { resourceVersion: String(this.#version) })) {
        if (event.type === 'ERROR') throw new IpamError(event.failure)
        if (event.type === 'BOOKMARK') {
          now = Number(event.resourceVersion)
          break
        }
        const { object } = event
        const change: Change =
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object }
        fresh.push({ version: Number(object.metadata.resourceVersion), kind: kindKey(object), change })
      }
      // each change has a version of its own: so these are all
      if (fresh.length === now - this.#version) break
    }
    fresh.sort((left, right) => left.version - right.version)
    this.#version = now
    return fresh.map((entry) => this.#append(entry))
  }

  /**
   * Where the log has something of a kind, from a place on; -1: nowhere. O(1) if nowhere, else
   * O(log n).
   */
  next(kind: string, from: number): number {
    const places = this.#places.get(kind)
    if (places === undefined || (places[places.length - 1] as number) < from) return -1
    let low = 0
    let high = places.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((places[middle] as number) < from) low = middle + 1
      else high = middle
    }
    return places[low] as number
  }

  /** How much of the log a list of a version has seen. */
  lengthAt(version: number): number {
    return this.log.findLastIndex((entry) => entry.version <= version) + 1
  }

  /**
   * What the watch of a selection tells of an entry of the log; `undefined`: nothing. An object
   * that leaves the selection is deleted for it.
   */
  toldTo(selection: Selection, { change, before }: LoggedChange): Change | undefined {
    const matches = matcherOf(selection)
    if (change.kind === 'present' && matches(change.object)) return change
    if (before === undefined || !matches(before)) return undefined
    return { kind: 'absent', ref: refOf(before), uid: before.metadata.uid }
  }

  #append(fresh: Omit<LoggedChange, 'before'>): LoggedChange {
    const { change } = fresh
    const key = objectKey(change.kind === 'present' ? refOf(change.object) : change.ref)
    const entry = { ...fresh, before: this.#objects.get(key) }
    if (change.kind === 'present') this.#objects.set(key, change.object)
    else this.#objects.delete(key)
    const places = this.#places.get(entry.kind)
    if (places === undefined) this.#places.set(entry.kind, [this.log.length])
    else places.push(this.log.length)
    this.log.push(entry)
    return entry
  }

  /** A list as it was after the first `length` entries of the log. */
  listAt(query: ListQuery, length: number): ObjectList {
    const objects = new Map<string, KubeObject>()
    for (const place of this.#places.get(kindKey(query)) ?? []) {
      if (place >= length) break
      const { change } = this.log[place] as LoggedChange
      const key = objectKey(change.kind === 'present' ? refOf(change.object) : change.ref)
      if (change.kind === 'present') objects.set(key, change.object)
      else objects.delete(key)
    }
    const items = [...objects.values()].filter(matcherOf(query))
    return { items, resourceVersion: String(this.log[length - 1]?.version ?? 1) }
  }

  /** The objects of a kind as they are. */
  async objects(kind: Pick<ObjectRef, 'apiVersion' | 'kind'>): Promise<readonly KubeObject[]> {
    return unwrap(await this.store.list({ apiVersion: kind.apiVersion, kind: kind.kind })).items
  }
}
