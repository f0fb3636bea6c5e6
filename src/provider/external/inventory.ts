import * as Address from '../../cidr/nouns/address.js'
import { type CloudAddress, markerText } from './cloud.js'
import { isCloudAddress, valueText } from './well-formed.js'

/** The last list of the cloud, updated with later answers to calls. */
export class Inventory {
  /**
   * When the list was requested: addresses that were created later may be missing, and deleted ones
   * may be in it.
   */
  readonly askedAtMs: number
  /** By canonical address. */
  readonly #listed = new Map<string, CloudAddress>()
  /** The answers to calls, by address; `undefined`: it was deleted. */
  readonly #answers: Map<string, Answer>
  /** By the part of the marker that names a claim. */
  readonly #marked = new Map<string, string>()
  /** Listed items that are not addresses. */
  readonly problems: readonly string[]

  /** @param before the last inventory: answers that the new list may not show yet are kept */
  constructor(listed: readonly CloudAddress[], { askedAtMs, lagMs, uids, before }: InventoryOptions) {
    this.askedAtMs = askedAtMs
    const answers = [...(before === undefined ? [] : before.#answers)].filter(
      ([, { atMs }]) => atMs + lagMs >= askedAtMs,
    )
    this.#answers = new Map(answers)
    const problems: string[] = []
    for (const object of listed) {
      const address = isCloudAddress(object) ? Address.safeParse(object.address) : undefined
      if (address?.ok === true) this.#listed.set(Address.format(address.value), object)
      else problems.push(`the cloud has listed ${valueText(object)} as an address`)
    }
    for (const [address] of this) this.#mark(address, uids)
    this.problems = problems
  }

  /** An address in the cloud, as far as known. */
  get(address: string): CloudAddress | undefined {
    const answer = this.#answers.get(address)
    return answer === undefined ? this.#listed.get(address) : answer.object
  }

  /** The address whose marker names a claim, or a spare one. */
  markedFor(claim: string): string | undefined {
    return this.#marked.get(claim)
  }

  /** Stores the answer to a call. `undefined`: the address was deleted. */
  answered(
    address: string,
    object: CloudAddress | undefined,
    { atMs, uids }: { readonly atMs: number; readonly uids: readonly string[] },
  ): void {
    this.#answers.set(address, { object, atMs })
    this.#mark(address, uids)
  }

  *[Symbol.iterator](): Iterator<[address: string, object: CloudAddress]> {
    for (const [address, object] of this.#listed) if (!this.#answers.has(address)) yield [address, object]
    for (const [address, { object }] of this.#answers) if (object !== undefined) yield [address, object]
  }

  #mark(address: string, uids: readonly string[]): void {
    const claim = claimOfMarker(this.get(address)?.marker ?? '', uids)
    if (claim !== undefined) this.#marked.set(claim, address)
  }
}

interface Answer {
  readonly object: CloudAddress | undefined
  readonly atMs: number
}

export interface InventoryOptions {
  readonly askedAtMs: number
  /** How old the content of a list may be. */
  readonly lagMs: number
  /** The uids of the pool so far. */
  readonly uids: readonly string[]
  readonly before: Inventory | undefined
}

/** The part of a marker behind the uid of the pool; `undefined`: the marker is of another pool. */
export function claimOfMarker(marker: string, uids: readonly string[]): string | undefined {
  const uid = uids.find((each) => each !== '' && marker.startsWith(markerText(each, '')))
  return uid === undefined ? undefined : marker.slice(markerText(uid, '').length)
}
