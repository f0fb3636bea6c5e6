import type { KubeObject } from '../../crd/meta/object.js'
import type { Preconditions } from '../store.js'

/** More than the writes of one plan that can be in flight. */
const MOST = 4096

/**
 * Remembers which object has which version, from the last writes. A version belongs to one object
 * for ever, so a write on such a version does not need the uid as a second condition.
 */
export class RecentWrites {
  readonly #uids = new Map<string, string>()

  /** @param shown names the object */
  note(shown: string, { apiVersion, metadata: { uid, resourceVersion } }: KubeObject): void {
    if (uid === undefined || resourceVersion === undefined) return
    this.#uids.set(`${resourceVersion} ${apiVersion} ${shown}`, uid)
    if (this.#uids.size <= MOST) return
    for (const oldest of this.#uids.keys()) {
      this.#uids.delete(oldest)
      return
    }
  }

  /**
   * Whether that version belongs to the object with that uid. `false`: it does not, or that is
   * unknown.
   */
  isOf(shown: string, apiVersion: string, { uid, resourceVersion }: Preconditions): boolean {
    return uid !== undefined && this.#uids.get(`${resourceVersion} ${apiVersion} ${shown}`) === uid
  }
}
