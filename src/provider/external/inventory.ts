import * as Address from '../../cidr/nouns/address.js'
import { type CloudAddress, markerText } from './cloud.js'
import { isCloudAddress, shown } from './well-formed.js'

/** What a list of the cloud has shown, and what is known by answers that are newer. */
export class Inventory {
  /**
   * When the list was asked for: it may lack what was created after that, and show what was
   * deleted.
   */
  readonly askedAtMs: number
  /** By canonical address. */
  readonly #listed = new Map<string, CloudAddress>()
  /** The answers of calls, by address; `undefined`: it was deleted. */
  readonly #answers: Map<string, Answer>
  /** By the part of the marker that names a claim. */
  readonly #marked = new Map<string, string>()
  /** What is in the list and is not an address. */
  readonly problems: readonly string[]

  /** @param before of which answers are kept that the new list may not show yet */
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
      else problems.push(`the cloud has listed ${shown(object)} as an address`)
    }
    for (const [address] of this) this.#mark(address, uids)
    this.problems = problems
  }

  /** An address as the cloud has it now, as far as it is known. */
  get(address: string): CloudAddress | undefined {
    const answer = this.#answers.get(address)
    return answer === undefined ? this.#listed.get(address) : answer.object
  }

  /** The address with the marker that names a claim, or a spare one. */
  markedFor(claim: string): string | undefined {
    return this.#marked.get(claim)
  }

  /** Takes the answer of a call in. `undefined`: the address was deleted. */
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
  /** How old what a list shows may be. */
  readonly lagMs: number
  /** That the pool has had. */
  readonly uids: readonly string[]
  readonly before: Inventory | undefined
}

/** What a marker names behind the uid of the pool; `undefined`: it is not one of this pool. */
export function claimOfMarker(marker: string, uids: readonly string[]): string | undefined {
  const uid = uids.find((each) => each !== '' && marker.startsWith(markerText(each, '')))
  return uid === undefined ? undefined : marker.slice(markerText(uid, '').length)
}
