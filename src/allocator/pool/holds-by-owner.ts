import { type Owner, ownerId } from '../request.js'
import { MultiMap } from '../util/multi-map.js'

interface OwnedHold {
  readonly owner: Owner
  readonly sequence: number
}

/** Orders two things of one kind: below 0, 0 or above 0. */
type Compare<T> = (left: T, right: T) => number

/**
 * The holds of owners: by an owner, and by a uid with all of its interfaces, of which there may be
 * thousands.
 */
export class HoldsByOwner<H extends OwnedHold> {
  /** Of owners without an interface, by uid. */
  readonly #plain = new MultiMap<string, H, H>((hold) => hold)
  /** Of owners with an interface: by both, and by the uid alone. */
  readonly #byInterface = new MultiMap<string, H, H>((hold) => hold)
  readonly #byUid = new MultiMap<string, H, H>((hold) => hold)
  readonly #comparePlaces: Compare<H>

  /** @param comparePlaces orders holds of one number, which only what is read back can have */
  constructor(comparePlaces: Compare<H>) {
    this.#comparePlaces = comparePlaces
  }

  /**
   * What an owner holds, for its interface alone, in the order in which it got it. O(holds of the
   * owner).
   */
  of(owner: Pick<Owner, 'uid' | 'interface'>): H[] {
    const isPlain = owner.interface === undefined
    return this.#inOrder(isPlain ? this.#plain.get(owner.uid) : this.#byInterface.get(ownerId(owner)))
  }

  /** What a uid holds for whichever interface, in the order in which it got it. */
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
   * Removes what a uid holds for whichever interface, and returns it, in the order in which it got
   * it.
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
    return inOrder(holds, this.#comparePlaces)
  }
}

/**
 * By their numbers, then by place and owner: what an undo has brought back comes where it was, and
 * the order of calls does not matter.
 */
export function inOrder<H extends OwnedHold>(holds: H[], comparePlaces: Compare<H>): H[] {
  if (holds.length < 2) return holds
  return holds.sort(
    (a, b) => a.sequence - b.sequence || comparePlaces(a, b) || compareTexts(ownerId(a.owner), ownerId(b.owner)),
  )
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
