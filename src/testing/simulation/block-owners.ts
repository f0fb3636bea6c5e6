import type { Allocation } from '../../provider/blocks/index.js'
import type { Dice } from './dice.js'

/** One interface of an owner that wants addresses, and what it was told. */
export interface BlockOwner {
  /** Shared by the interfaces of one owner. */
  readonly identity: { uid: string }
  readonly name: string
  readonly interface: string
  readonly mac: string
  readonly pools: readonly string[]
  readonly families: readonly (4 | 6)[]
  /** How many addresses in a row. */
  readonly count: number
  readonly node: string
  wants: boolean
  /** Whether requests name its container. */
  readonly hasContainer: boolean
  /** Goes up when it is in another container: also when it has begun to give back. */
  container: number
  /** It asks once more for what it has: its container is another one. */
  isAgain: boolean
  /** What it was told that it has. */
  told: readonly Allocation[]
  isBusy: boolean
  /** It was told that there is nothing: after this number of stored changes, at this time. */
  refused: { readonly length: number; readonly atMs: number } | undefined
  /** It may have something since it was last sure that it has nothing. */
  mayHave: boolean
  isReleasing: boolean
  /** It gives back what it was told of. */
  isReturning: boolean
}

/** The owners in a simulation of blocks: with one interface, and with two. */
export class BlockOwners {
  readonly #dice: Dice
  readonly #all: BlockOwner[] = []
  readonly #ofNode = new Map<string, BlockOwner[]>()
  readonly #byUid = new Map<string, readonly BlockOwner[]>()
  #uids = 0

  constructor(dice: Dice) {
    this.#dice = dice
  }

  get all(): readonly BlockOwner[] {
    return this.#all
  }

  get uids(): Iterable<string> {
    return this.#byUid.keys()
  }

  ofNode(node: string): readonly BlockOwner[] {
    return this.#ofNode.get(node) ?? []
  }

  /** The interfaces of an owner. */
  of(uid: string): readonly BlockOwner[] {
    return this.#byUid.get(uid) ?? []
  }

  add(node: string, n: number): void {
    const identity = { uid: '' }
    const interfaces = this.#dice.chance(0.2) ? ['net1', 'net2'] : ['net1']
    const owners = interfaces.map((name, nth) => this.#interface(node, n, { identity, name, nth }))
    this.#all.push(...owners)
    this.#ofNode.set(node, [...this.ofNode(node), ...owners])
    this.#renew(owners)
  }

  /**
   * An interface has given all back. When none of the owner has anything, the next one of the name
   * is another one.
   */
  gone({ identity }: BlockOwner): void {
    const owners = this.of(identity.uid)
    if (owners.every(({ isBusy, mayHave }) => !isBusy && !mayHave)) this.#renew(owners)
  }

  #renew(owners: readonly BlockOwner[]): void {
    const uid = `owner-${++this.#uids}`
    for (const { identity } of owners) identity.uid = uid
    this.#byUid.set(uid, owners)
  }

  #interface(
    node: string,
    n: number,
    { identity, name, nth }: { readonly identity: { uid: string }; readonly name: string; readonly nth: number },
  ): BlockOwner {
    const bytes = [node.slice(-1).charCodeAt(0), n, nth].map((byte) => byte.toString(16).padStart(2, '0'))
    return {
      identity,
      name: `ns/${node.replace(' ', '-')}-${n}`,
      interface: name,
      mac: ['02', '00', '00', ...bytes].join(':'),
      pools: this.#dice.pick([['blue'], ['red'], ['blue', 'red'], ['green']]),
      families: this.#dice.pick<readonly (4 | 6)[]>([[4], [4], [6], [4, 6]]),
      count: this.#dice.pick([1, 1, 1, 1, 2, 3]),
      node,
      wants: this.#dice.chance(0.5),
      hasContainer: this.#dice.chance(0.75),
      container: 0,
      isAgain: false,
      told: [],
      isBusy: false,
      refused: undefined,
      mayHave: false,
      isReleasing: false,
      isReturning: false,
    }
  }
}
