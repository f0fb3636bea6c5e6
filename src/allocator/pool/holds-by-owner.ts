import { type Owner, ownerId } from '../request.js'
import { MultiMap } from '../util/multi-map.js'

interface OwnedHold {
  readonly owner: Owner
  readonly sequence: number
}

/** Orders two things of one kind: below 0, 0 or above 0. */
type Compare<T> = (left: T, right: T) => number

/**
 * Holds by owner, and by uid for all interfaces of an owner, of which there may be thousands.
 */
export class HoldsByOwner<H extends OwnedHold> {
  /** Of owners without an interface, by uid. */
  readonly #plain = new MultiMap<string, H, H>((hold) => hold)
  /** Of owners with an interface: by both, and by the uid alone. */
  readonly #byInterface = new MultiMap<string, H, H>((hold) => hold)
  readonly #byUid = new MultiMap<string, H, H>((hold) => hold)
  readonly #compareExtents: Compare<H>

  /**
   * @param compareExtents orders holds with the same sequence, which only read-back holds can have
   */
  constructor(compareExtents: Compare<H>) {
    this.#compareExtents = compareExtents
  }

  /**
   * The holds of an owner for its interface, in the order in which it got them. O(holds of the
   * owner).
   */
  of(owner: Pick<Owner, 'uid' | 'interface'>): H[] {
    const isPlain = owner.interface === undefined
    return this.#inOrder(isPlain ? this.#plain.get(owner.uid) : this.#byInterface.get(ownerId(owner)))
  }

  /** The holds of a uid for all interfaces, in the order in which it got them. */
  ofUid(uid: string): H[] {
    return this.#inOrder([...this.#plain.get(uid), ...this.#byUid.get(uid)])
  }

  hasAny(owner: Pick<Owner, 'uid' | 'interface'>): boolean {
    return owner.interface === undefined ? this.#plain.hasAny(owner.uid) : this.#byInterface.hasAny(ownerId(owner))
  }

  /** @param isOnly whether the owner holds nothing else: one look-up less */
  add(hold: H, isOnly = false): void {
    const { owner } = hold
    if (owner.interface !== undefined) {
      this.#byInterface.add(ownerId(owner), hold)
      this.#byUid.add(owner.uid, hold)
    } else if (isOnly) this.#plain.addFirst(owner.uid, hold)
    else this.#plain.add(owner.uid, hold)
  }

  /** Removes a hold, if it is there. */
  delete(hold: H): void {
    const { owner } = hold
    if (owner.interface === undefined) {
      this.#plain.delete(owner.uid, hold)
      return
    }
    this.#byInterface.delete(ownerId(owner), hold)
    this.#byUid.delete(owner.uid, hold)
  }

  /**
   * Removes and returns the holds of a uid for all interfaces, in the order in which it got them.
   */
  deleteAll(uid: string): H[] {
    const plain = this.#plain.deleteAll(uid)
    if (!this.#byUid.hasAny(uid)) return this.#inOrder(plain)
    const ofInterfaces = this.#byUid.deleteAll(uid)
    for (const hold of ofInterfaces) this.#byInterface.delete(ownerId(hold.owner), hold)
    return this.#inOrder([...plain, ...ofInterfaces])
  }

  /** Every hold, in no order to rely on. */
  *values(): IterableIterator<H> {
    yield* this.#plain.values()
    yield* this.#byUid.values()
  }

  #inOrder(holds: H[]): H[] {
    return inOrder(holds, this.#compareExtents)
  }
}

/**
 * By sequence, then by extent and owner. So an undo restores the former order, and the order of
 * calls does not matter.
 */
export function inOrder<H extends OwnedHold>(holds: H[], compareExtents: Compare<H>): H[] {
  if (holds.length < 2) return holds
  return holds.sort(
    (a, b) => a.sequence - b.sequence || compareExtents(a, b) || compareTexts(ownerId(a.owner), ownerId(b.owner)),
  )
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
