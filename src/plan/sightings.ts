import { objectKey, refOf } from '../crd/meta/object.js'
import { isOlderVersion } from './object-cache.js'
import type { Change } from './planner.js'

/** How many objects are remembered after they were seen gone. */
const MAX_GONE = 10_000

/**
 * What was seen of objects, to tell news from echoes.
 *
 * A host shows the answers of its own writes at once, and so runs ahead of its watches: each of those writes comes again later, older than
 * what is known by then. Taken for news, the late end of an object frees the address of the one that has its name now.
 *
 * - an object that was seen gone does not come back: its uid is never used again. That a uid is not under some other name says nothing of it
 * - of one object, and of two of one name, the newer version counts. Versions are compared where both are whole numbers, as they are in
 *   Kubernetes; others are taken as they come
 * - the end of an object is no news of another one with its name. An end without a uid is believed until the object is seen again
 *
 * The last 10,000 objects that went are remembered. After the database below was restored to an earlier state, versions and uids begin to lie:
 * `clear()` (or `reset()` of the planner), and list again.
 */
export class Sightings {
  readonly #known = new Map<string, { readonly uid: string | undefined; readonly version: string | undefined }>()
  readonly #gone = new Set<string>()

  /** Takes a change in. False if it is an echo, and tells nothing that is not known better. */
  isNews(change: Change): boolean {
    return change.kind === 'present' ? this.#isNewsOfPresence(change) : this.#isNewsOfAbsence(change)
  }

  clear(): void {
    this.#known.clear()
    this.#gone.clear()
  }

  #isNewsOfPresence({ object }: Extract<Change, { kind: 'present' }>): boolean {
    const { uid, resourceVersion: version } = object.metadata
    const key = objectKey(refOf(object))
    if (uid !== undefined && this.#gone.has(`${key} ${uid}`)) return false
    const known = this.#known.get(key)
    if (known !== undefined && isOlderVersion(version, known.version)) return false
    if (uid !== undefined && known?.uid !== undefined && known.uid !== uid) this.#bury(key, known.uid)
    this.#known.set(key, { uid: uid ?? known?.uid, version })
    return true
  }

  #isNewsOfAbsence({ ref, uid }: Extract<Change, { kind: 'absent' }>): boolean {
    // whose end it is is not certain: it is believed, and taken back when the object is seen again
    if (uid === undefined) return true
    const key = objectKey(ref)
    this.#bury(key, uid)
    const known = this.#known.get(key)
    if (known?.uid !== undefined && known.uid !== uid) return false
    this.#known.delete(key)
    return true
  }

  #bury(key: string, uid: string): void {
    this.#gone.add(`${key} ${uid}`)
    if (this.#gone.size <= MAX_GONE) return
    for (const oldest of this.#gone) {
      this.#gone.delete(oldest)
      return
    }
  }
}
