import { type KindInfo, type KubeObject, kindKey, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { unwrap } from '../../errors/index.js'
import type { Change } from '../../plan/index.js'
import type { ObjectList, Store } from '../../store/index.js'
import { memoryStore } from '../../store/memory/index.js'

/** One change of what is stored. */
export interface LoggedChange {
  readonly version: number
  readonly kind: string
  readonly change: Change
}

/** What is stored, with everything that ever became of it, in order. */
export class Truth {
  readonly store: Store
  readonly log: LoggedChange[] = []
  readonly #kinds: readonly KindInfo[]
  #version = 1

  constructor(kinds: readonly KindInfo[], now: () => number) {
    this.#kinds = kinds
    this.store = memoryStore({ now, kinds })
  }

  /** Takes in what was written since the last call. @returns the new entries of the log */
  async catchUp(): Promise<readonly LoggedChange[]> {
    const first = this.#kinds[0]!
    const now = Number(unwrap(await this.store.list({ ...first, namespace: undefined })).resourceVersion)
    if (now === this.#version) return []
    const fresh: LoggedChange[] = []
    for (const { apiVersion, kind } of this.#kinds) {
      for await (const event of this.store.watch({ apiVersion, kind }, { resourceVersion: String(this.#version) })) {
        if (!('object' in event)) break
        const { object } = event
        const change: Change =
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object }
        fresh.push({ version: Number(object.metadata.resourceVersion), kind: kindKey(object), change })
      }
    }
    fresh.sort((left, right) => left.version - right.version)
    this.log.push(...fresh)
    this.#version = now
    return fresh
  }

  /** The objects of a kind as they were after the first `length` entries of the log. */
  listAt(kind: Pick<ObjectRef, 'apiVersion' | 'kind'>, length: number): ObjectList {
    const objects = new Map<string, KubeObject>()
    let version = 1
    for (const { change, kind: changed, version: at } of this.log.slice(0, length)) {
      version = at
      if (changed !== kindKey(kind)) continue
      const key = placeOf(change.kind === 'present' ? refOf(change.object) : change.ref)
      if (change.kind === 'present') objects.set(key, change.object)
      else objects.delete(key)
    }
    return { items: [...objects.values()], resourceVersion: String(version) }
  }

  /** The objects of a kind as they are. */
  async objects(kind: Pick<ObjectRef, 'apiVersion' | 'kind'>): Promise<readonly KubeObject[]> {
    return unwrap(await this.store.list({ apiVersion: kind.apiVersion, kind: kind.kind })).items
  }
}

function placeOf({ namespace = '', name }: ObjectRef): string {
  return `${namespace}/${name}`
}
