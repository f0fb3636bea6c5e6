import { type KindInfo, type ObjectRef, refOf } from '../../crd/meta/object.js'
import type { Change } from '../../plan/index.js'

/** The objects that one task was shown: what it knows of others it has from tasks before it, and may be old. */
export class Shown {
  readonly #keys = new Set<string>()

  note(change: Change): void {
    this.#keys.add(keyOf(change.kind === 'present' ? refOf(change.object) : change.ref))
  }

  has({ kind }: Pick<KindInfo, 'kind'>, name: string): boolean {
    return this.#keys.has(keyOf({ kind, name }))
  }
}

/** Tasks of blocks see kinds of one API group, which have no namespace. */
function keyOf({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}
