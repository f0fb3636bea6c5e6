import type { Address as AddressValue } from '../../cidr/nouns/address.js'
import * as Address from '../../cidr/nouns/address.js'
import type { CloudAddress } from './cloud.js'
import type { PoolIdentity } from './identity.js'
import type { ExternalPolicy } from './pool-kind.js'
import { isCloudAddress, valueText } from './well-formed.js'

/** The part of a marker behind the id of the pool, for an address that is being deleted. */
export const DELETING = 'deleting'
/** The same for an address that was created for no claim. */
export const SPARE = 'spare'

/**
 * The marker of an address: the id of its pool, and the uid of the claim that it was created for,
 * {@link SPARE} or {@link DELETING}.
 */
export function markerText(pool: string, part: string): string {
  return `${pool}/${part}`
}

/**
 * What an address in the cloud is to a pool, without those that IPAddress objects have:
 *
 * - `named`: it is in the spec, without the marker of another pool, or adopted, and has no marker.
 *   It may be given, and is never deleted
 * - `deleting`: the pool has begun to delete it
 * - `waiting`: the pool has created it for a claim that waits, and gives it to that claim
 * - `spare`: the pool has created it. It may be given to any claim, or deleted
 * - `inherited`: an earlier id of the pool has created it. A pool that was moved and one that was
 *   copied look alike, so it is neither given nor deleted before the operator says which it is
 * - `other`: none of these. It is not touched
 *
 * An attached address is of these kinds too, and is neither given nor deleted.
 */
export type Kind = 'named' | 'deleting' | 'waiting' | 'spare' | 'inherited' | 'other'

/** An address that the pool has to do with. */
export interface Item {
  /** Canonical. */
  readonly text: string
  readonly object: CloudAddress
  readonly kind: Kind
  /** Whether it has the marker of an id of the pool: also a named one counts then. */
  readonly isMarked: boolean
  /** The part of its marker behind an id of the pool; empty: it has none. */
  readonly part: string
}

/** A list of the cloud, as one pool reads it. */
export interface ListedAddresses {
  readonly value: readonly unknown[]
  readonly askedAtMs: number
}

/** The pool that a list is read for. */
export interface ItemOptions {
  /** The uid of the pool. */
  readonly id: string
  readonly identity: PoolIdentity
  /** Named addresses, with their place. */
  readonly named: ReadonlyMap<string, number>
  readonly policy: ExternalPolicy
}

/**
 * What a listed address is, if no IPAddress has it. `waiting` is told from `spare` by the claims.
 */
export function itemOf(text: string, object: CloudAddress, { id, identity, named, policy }: ItemOptions): Item {
  const { marker, tags = [], network } = object
  const own = identity.ids.find((each) => each !== '' && marker.startsWith(markerText(each, '')))
  const part = own === undefined ? '' : marker.slice(markerText(own, '').length)
  const place = named.get(text)
  const isAdopted = place !== undefined || tags.some((tag) => policy.adopt?.tags.includes(tag) === true)
  const kindOf = (): Kind => {
    if (marker === '' ? isAdopted : own !== undefined && place !== undefined && place < ADOPTED) return 'named'
    if (own === undefined || network !== identity.network) return 'other'
    if (own !== id) return 'inherited'
    return part === DELETING ? 'deleting' : 'spare'
  }
  return { text, object, kind: kindOf(), isMarked: own !== undefined && network === identity.network, part }
}

/**
 * A list of the cloud in the order in which a pool uses it. It is made once for each list, in O(n
 * log n). An address that was in use then comes back only with a later list.
 */
export class CloudView {
  readonly askedAtMs: number
  /** Listed items that are not addresses, as sentences. */
  readonly problems: readonly string[]
  readonly #items = new Map<string, Item>()
  /** Those that were not in use and may be given, in order. The first ones are in use by now. */
  readonly #free: readonly Item[]
  #first = 0
  readonly #created: Set<string>
  /** Those of them that are not spare. */
  readonly unspare: readonly string[]
  /** The addresses that were created for a claim, by its uid. */
  readonly #marked = new Map<string, string[]>()

  /** Addresses of IPAddress objects that the list does not show. */
  readonly missing: readonly string[]

  /** @param used the addresses of IPAddress objects */
  constructor(list: ListedAddresses, options: ItemOptions, used: ReadonlySet<string>) {
    this.askedAtMs = list.askedAtMs
    const problems: string[] = []
    for (const object of list.value) {
      const address = isCloudAddress(object) ? Address.safeParse(object.address) : undefined
      if (address?.ok !== true) problems.push(`the cloud has listed ${valueText(object)} as an address`)
      else this.#add(itemOf(Address.format(address.value), object as CloudAddress, options))
    }
    this.problems = problems
    this.missing = [...used].filter((text) => !this.#items.has(text))
    const values = new Map<Item, AddressValue>()
    for (const item of this.#items.values()) {
      if (item.kind !== 'other' && !used.has(item.text)) values.set(item, Address.parse(item.text))
    }
    const place = ({ text, kind }: Item) => (kind === 'named' ? (options.named.get(text) ?? LAST) : LAST + 1)
    const inOrder = (left: Item, right: Item) =>
      place(left) - place(right) || Address.compare(values.get(left)!, values.get(right)!)
    const unused = [...values.keys()].sort(inOrder)
    this.#created = new Set(unused.filter(({ isMarked }) => isMarked).map(({ text }) => text))
    this.unspare = [...this.#created].filter((text) => this.#items.get(text)?.kind !== 'spare')
    this.#free = unused.filter(({ kind }) => kind === 'named' || kind === 'spare')
    for (const { kind, part, text } of this.#free) {
      if (kind !== 'spare' || part === SPARE) continue
      const others = this.#marked.get(part)
      if (others === undefined) this.#marked.set(part, [text])
      else others.push(text)
    }
  }

  /** Of two addresses with one text, the one that the pool has more to do with counts. */
  #add(item: Item): void {
    const known = this.#items.get(item.text)
    if (known === undefined || known.kind === 'other') this.#items.set(item.text, item)
  }

  get(text: string): Item | undefined {
    return this.#items.get(text)
  }

  /** How many addresses are listed. */
  get size(): number {
    return this.#items.size
  }

  get items(): Iterable<Item> {
    return this.#items.values()
  }

  /**
   * The addresses that may be given, in order, without the first ones that are in use. O(1), once
   * those are skipped.
   *
   * @param isUsed whether an IPAddress has an address
   */
  *free(isUsed: (text: string) => boolean): Iterable<Item> {
    while (this.#first < this.#free.length && isUsed(this.#free[this.#first]!.text)) this.#first++
    for (let nth = this.#first; nth < this.#free.length; nth++) yield this.#free[nth]!
  }

  /** The addresses that the pool has created, in order, without those that were in use since. */
  get created(): ReadonlySet<string> {
    return this.#created
  }

  /** Notes that an IPAddress has an address. */
  take(text: string): void {
    this.#created.delete(text)
  }

  /** The addresses that were created for a claim, and were not in use, in order. */
  markedFor(claim: string): readonly string[] {
    return this.#marked.get(claim) ?? []
  }
}

/** The first place of addresses that are adopted from the status: behind those of the spec. */
export const ADOPTED = 2 ** 32

/** The place of addresses that are adopted by their tag: behind all that are named. */
const LAST = Number.MAX_SAFE_INTEGER - 1
