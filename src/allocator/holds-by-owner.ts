import { MultiMap } from './multi-map.js'
import { type Owner, ownerId } from './request.js'

interface OwnedHold {
  readonly owner: Owner
  readonly sequence: number
}

/** The holds of owners: by an owner, and by a uid with all of its interfaces, of which there may be thousands. */
export class HoldsByOwner<H extends OwnedHold> {
  /** Of owners without an interface, by uid. */
  readonly #plain = new MultiMap<string, H, H>((hold) => hold)
  /** Of owners with an interface: by both, and by the uid alone. */
  readonly #byInterface = new MultiMap<string, H, H>((hold) => hold)
  readonly #byUid = new MultiMap<string, H, H>((hold) => hold)

  /** What an owner holds, for its interface alone, in the order in which it got it. O(holds of the owner). */
  of(owner: Pick<Owner, 'uid' | 'interface'>): H[] {
    return inOrder(owner.interface === undefined ? this.#plain.get(owner.uid) : this.#byInterface.get(ownerId(owner)))
  }

  /** What a uid holds for whichever interface, in the order in which it got it. */
  ofUid(uid: string): H[] {
    return inOrder([...this.#plain.get(uid), ...this.#byUid.get(uid)])
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

  /** Removes what a uid holds for whichever interface, and returns it, in the order in which it got it. */
  deleteAll(uid: string): H[] {
    const plain = this.#plain.deleteAll(uid)
    if (!this.#byUid.hasAny(uid)) return inOrder(plain)
    const ofInterfaces = this.#byUid.deleteAll(uid)
    for (const hold of ofInterfaces) this.#byInterface.delete(ownerId(hold.owner), hold)
    return inOrder([...plain, ...ofInterfaces])
  }

  /** Every hold, in no order to rely on. */
  *values(): IterableIterator<H> {
    yield* this.#plain.values()
    yield* this.#byUid.values()
  }
}

/** By their numbers: what an undo has brought back comes where it was. */
export function inOrder<H extends Pick<OwnedHold, 'sequence'>>(holds: H[]): H[] {
  return holds.length > 1 ? holds.sort((a, b) => a.sequence - b.sequence) : holds
}
