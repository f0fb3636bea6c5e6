import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { type KindInfo, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import type { Change } from '../../../plan/index.js'
import type { KnownBlocks } from './known-blocks.js'

/** Who is not shown changes of pools reads one again that it knows from longer ago. */
const MOST_POOL_AGE_MS = 30_000

/**
 * The objects that one task was shown: what it knows of others it has from tasks before it, and may
 * be old.
 */
export class ObservedObjects {
  readonly #keys = new Set<string>()

  note(change: Change): void {
    this.#keys.add(keyOf(change.kind === 'present' ? refOf(change.object) : change.ref))
  }

  has({ kind }: Pick<KindInfo, 'kind'>, name: string): boolean {
    return this.#keys.has(keyOf({ kind, name }))
  }
}

/** Whether a pool is not known to a task, or only as it was a while ago. */
export function isOldPool(name: string, known: KnownBlocks, observed: ObservedObjects, nowMs: number): boolean {
  if (known.pool(name) === undefined) return true
  if (known.isComplete || observed.has(IPPool.info, name)) return false
  return known.poolAgeMs(name, nowMs) > MOST_POOL_AGE_MS
}

/** Tasks of blocks see kinds of one API group, which have no namespace. */
function keyOf({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}
