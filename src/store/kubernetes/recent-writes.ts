import type { KubeObject } from '../../crd/meta/object.js'
import type { Preconditions } from '../store.js'

/** As many as may be on their way between the writes of one plan. */
const MOST = 4096

/**
 * Which object the last writes have made which version of. A version belongs to one object for
 * ever: a write on a version does not need the uid as a second condition.
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
   * Whether that version is one of the object with that uid. `false`: it is not, or it is not
   * known.
   */
  isOf(shown: string, apiVersion: string, { uid, resourceVersion }: Preconditions): boolean {
    return uid !== undefined && this.#uids.get(`${resourceVersion} ${apiVersion} ${shown}`) === uid
  }
}
