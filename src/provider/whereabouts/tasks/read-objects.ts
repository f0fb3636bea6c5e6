import { formatRef, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import type { Change, Step } from '../../../plan/index.js'

/** The objects that one task has read and written. `null`: the object does not exist. */
export class ReadObjects {
  readonly #objects = new Map<string, KubeObject | null>()

  observe(change: Change): void {
    const isPresent = change.kind === 'present'
    this.#objects.set(formatRef(isPresent ? refOf(change.object) : change.ref), isPresent ? change.object : null)
  }

  /** Lets an object be read again. */
  forget(ref: ObjectRef): void {
    this.#objects.delete(formatRef(ref))
  }

  /** `undefined`: not read. */
  get(ref: ObjectRef): KubeObject | null | undefined {
    return this.#objects.get(formatRef(ref))
  }

  /** A step that reads those of the objects that are not read yet; `undefined`: all are. */
  read(refs: readonly ObjectRef[], why: string): Extract<Step, { kind: 'get' }> | undefined {
    const unread = new Map(refs.map((ref) => [formatRef(ref), ref]))
    for (const key of this.#objects.keys()) unread.delete(key)
    return unread.size === 0 ? undefined : { kind: 'get', refs: [...unread.values()], why }
  }

  /** All objects of a kind that were read. */
  *ofKind({ kind }: Pick<KindInfo, 'kind'>): IterableIterator<KubeObject> {
    for (const object of this.#objects.values()) if (object !== null && object.kind === kind) yield object
  }
}
