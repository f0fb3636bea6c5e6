import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'

/** The addresses of a claim, and the network that gave them. */
export interface Given {
  readonly network: string | undefined
  readonly texts: readonly string[]
}

/**
 * The claims whose `status.ips` or `spec.network` another client has changed, with what they had
 * before the edit: it counts until they have it again. Neither is ever changed here in a claim with
 * addresses, so that each change is an edit.
 */
export class EditedClaims {
  readonly #given = new Map<string, Given>()

  /**
   * Reads a new version of a claim.
   *
   * @param isGranted whether the addresses before the edit were those of the claim
   * @returns whether something else than before counts
   */
  see(
    before: KubeObject | undefined,
    now: KubeObject | undefined,
    isGranted: (texts: readonly string[]) => boolean,
  ): boolean {
    const uid = before?.metadata.uid
    if (uid !== undefined && uid !== now?.metadata.uid) this.#given.delete(uid)
    if (now?.metadata.uid === undefined) return false
    const [given, edited] = [givenIn(now), this.#given.get(now.metadata.uid)]
    if (edited !== undefined) return same(edited, given) && this.#given.delete(now.metadata.uid)
    const own = before === undefined || uid !== now.metadata.uid ? undefined : givenIn(before)
    if (own === undefined || own.texts.length === 0 || same(own, given) || !isGranted(own.texts)) return false
    this.#given.set(now.metadata.uid, own)
    return true
  }

  /** What a claim had before an edit; `undefined`: it was not edited. */
  before({ metadata: { uid } }: Pick<KubeObject, 'metadata'>): Given | undefined {
    return uid === undefined ? undefined : this.#given.get(uid)
  }

  /** What counts of a claim. */
  givenTo(claim: KubeObject): Given {
    return this.before(claim) ?? givenIn(claim)
  }
}

function givenIn({ spec, status }: KubeObject): Given {
  const [network, ips] = [asObject(spec)?.network, asObject(status)?.ips]
  return {
    network: typeof network === 'string' ? network : undefined,
    texts: Array.isArray(ips) ? ips.filter((ip) => typeof ip === 'string') : [],
  }
}

function same(left: Given, right: Given): boolean {
  const isSame = left.network === right.network && left.texts.length === right.texts.length
  return isSame && left.texts.every((text, index) => text === right.texts[index])
}
