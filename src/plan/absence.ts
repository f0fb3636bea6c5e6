import { check } from '../errors/check.js'
import type { CachedObjects } from './cached-objects.js'
import type { AbsentEffect } from './effect.js'

/** The missing objects of a dependent: {@link Absences.look}. */
export interface AbsenceLook<K> {
  /**
   * Objects that are still missing after the grace period. Act on them, with a
   * {@link proofOfAbsence}.
   */
  readonly due: ReadonlySet<K>
  /** When to look again for the other missing objects, from 1 s. `undefined`: there are none. */
  readonly requeueAfterSeconds: number | undefined
}

/**
 * Times since which objects are missing on which other objects depend. A planner proves an absence
 * in three steps before it acts on it:
 *
 * 1. The object is missing in the cache. The watch may be late, or the list old.
 * 2. It is missing again at a later time, after the grace period.
 * 3. When that plan is carried out, an `absent` effect reads the store ({@link proofOfAbsence}).
 *    The write that follows is for the version of the dependent that was read.
 *
 * This is part of the `state` of a planner. So the second step begins anew when a process or a
 * `Controller` starts, and continues in the next `runUntilQuiet` with the same planner. A planner
 * without a grace period needs only the third step.
 */
export class Absences {
  readonly #graceMs: number
  /** By dependent. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string | number, number>>()

  constructor(graceSeconds: number) {
    check('Absences', 'graceSeconds', graceSeconds, 'number')
    this.#graceMs = graceSeconds * 1000
  }

  /**
   * Looks at a dependent. O(missing objects).
   *
   * @param missing the names of the objects that are missing for it now. Names that are no longer
   * among them are removed
   */
  look<K extends string | number>(dependent: string, missing: Iterable<K>, nowMs: number): AbsenceLook<K> {
    check('Absences.look', 'dependent', dependent, 'text')
    check('Absences.look', 'missing', missing, 'iterable')
    check('Absences.look', 'nowMs', nowMs, 'number')
    const before = this.#sinceMs.get(dependent)
    const now = new Map<K, number>()
    const due = new Set<K>()
    let firstMs = Number.POSITIVE_INFINITY
    for (const name of missing) {
      const sinceMs = before?.get(name) ?? nowMs
      const dueMs = sinceMs + this.#graceMs
      now.set(name, sinceMs)
      if (sinceMs < nowMs && dueMs <= nowMs) due.add(name)
      else firstMs = Math.min(firstMs, dueMs)
    }
    if (now.size === 0) this.#sinceMs.delete(dependent)
    else this.#sinceMs.set(dependent, now)
    const waitSeconds = Math.max(1, Math.ceil((firstMs - nowMs) / 1000))
    return { due, requeueAfterSeconds: due.size === now.size ? undefined : waitSeconds }
  }
}

/**
 * Effects that stop the plan if an object exists: the third step of {@link Absences}.
 *
 * @param known the cache of the object. If the store has confirmed the absence before, there is no
 * effect, because a uid is never used again
 */
export function proofOfAbsence(
  absent: Pick<AbsentEffect, 'ref' | 'uid' | 'uidAnnotation'>,
  why: string,
  known?: Pick<CachedObjects<unknown>, 'isProvenAbsent'>,
): readonly AbsentEffect[] {
  check('proofOfAbsence', 'absent', absent, ['open', { ref: 'object' }])
  const { ref, uid } = absent
  const isProven = uid !== undefined && known?.isProvenAbsent(ref, uid) === true
  return isProven ? [] : [{ kind: 'absent', ...absent, why }]
}
