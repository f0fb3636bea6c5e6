import { assertIterable, assertNumber, assertParts, assertString } from '../errors/checks.js'
import type { CachedObjects } from './cached-objects.js'
import type { AbsentEffect } from './effect.js'

/** What was found in a look at the missing objects of a dependent. */
export interface AbsenceLook<K> {
  /**
   * Those that are missing again after the grace period: act on them, with a
   * {@link proofOfAbsence}.
   */
  readonly due: ReadonlySet<K>
  /** When to look again for the others, from 1 s; `undefined`: there are none. */
  readonly requeueAfterSeconds: number | undefined
}

/**
 * Since when objects are missing on which others depend. Before a planner acts on an absence, it is
 * proven in three steps:
 *
 * 1. the object is missing in the cache: a watch may be late, or a list old;
 * 2. it is missing again in a later plan, after the grace period;
 * 3. when that plan is carried out, an `absent` effect reads the store ({@link proofOfAbsence}).
 *    The write that follows is for the version of the dependent that was read.
 *
 * It is part of the `state` of a planner, so the second step begins anew with each start. A planner
 * without a grace period needs the third step alone.
 */
export class Absences {
  readonly #graceMs: number
  /** By dependent. */
  readonly #sinceMs = new Map<string, ReadonlyMap<string | number, number>>()

  constructor(graceSeconds: number) {
    assertNumber('Absences', 'graceSeconds', graceSeconds)
    this.#graceMs = graceSeconds * 1000
  }

  /**
   * Looks at a dependent. O(missing objects).
   *
   * @param missing what names the objects that are missing for it now. What is not among them any
   * more is forgotten
   */
  look<K extends string | number>(dependent: string, missing: Iterable<K>, nowMs: number): AbsenceLook<K> {
    assertString('Absences.look', 'dependent', dependent)
    assertIterable('Absences.look', 'missing', missing)
    assertNumber('Absences.look', 'nowMs', nowMs)
    const before = this.#sinceMs.get(dependent)
    const now = new Map<K, number>()
    const due = new Set<K>()
    let firstMs = Number.POSITIVE_INFINITY
    for (const name of missing) {
      const sinceMs = before?.get(name) ?? nowMs
      const dueMs = sinceMs + this.#graceMs
      now.set(name, sinceMs)
      if (before?.has(name) === true && dueMs <= nowMs) due.add(name)
      else firstMs = Math.min(firstMs, dueMs)
    }
    if (now.size === 0) this.#sinceMs.delete(dependent)
    else this.#sinceMs.set(dependent, now)
    const waitSeconds = Math.max(1, Math.ceil((firstMs - nowMs) / 1000))
    return { due, requeueAfterSeconds: due.size === now.size ? undefined : waitSeconds }
  }
}

/**
 * Goes on only if an object does not exist: the third step of {@link Absences}.
 *
 * @param known where the store may have said so before: then it is not asked again, as a uid is
 * never used again
 */
export function proofOfAbsence(
  absent: Pick<AbsentEffect, 'ref' | 'uid' | 'uidAnnotation'>,
  why: string,
  known?: Pick<CachedObjects<unknown>, 'isProvenAbsent'>,
): readonly AbsentEffect[] {
  assertParts('proofOfAbsence', 'absent', absent, { ref: 'object' })
  const { ref, uid } = absent
  const isProven = uid !== undefined && known?.isProvenAbsent(ref, uid) === true
  return isProven ? [] : [{ kind: 'absent', ...absent, why }]
}
