import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'

/**
 * The claims whose `status.ips` another client has changed, with the texts before the edit: they
 * count until the status has them again. The addresses of a claim are never changed here, so that
 * each change of a list that is not empty is an edit.
 */
export class EditedClaims {
  readonly #texts = new Map<string, readonly string[]>()

  /**
   * Reads a new version of a claim.
   *
   * @param isGranted whether the addresses before the edit were those of the claim
   * @returns whether other texts than before count
   */
  see(
    before: KubeObject | undefined,
    now: KubeObject | undefined,
    isGranted: (texts: readonly string[]) => boolean,
  ): boolean {
    const uid = before?.metadata.uid
    if (uid !== undefined && uid !== now?.metadata.uid) this.#texts.delete(uid)
    if (now?.metadata.uid === undefined) return false
    const [texts, edited] = [textsOf(now), this.#texts.get(now.metadata.uid)]
    if (edited !== undefined) return same(edited, texts) && this.#texts.delete(now.metadata.uid)
    const own = before === undefined || uid !== now.metadata.uid ? [] : textsOf(before)
    if (own.length === 0 || same(own, texts) || !isGranted(own)) return false
    this.#texts.set(now.metadata.uid, own)
    return true
  }

  /** The texts before an edit; `undefined`: the status was not edited. */
  before({ metadata: { uid } }: Pick<KubeObject, 'metadata'>): readonly string[] | undefined {
    return uid === undefined ? undefined : this.#texts.get(uid)
  }

  /** The texts of a claim that count. */
  textsOf(claim: KubeObject): readonly string[] {
    return this.before(claim) ?? textsOf(claim)
  }
}

function textsOf({ status }: KubeObject): readonly string[] {
  const ips = asObject(status)?.ips
  return Array.isArray(ips) ? ips.filter((ip) => typeof ip === 'string') : []
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index])
}
