// An IPAM product in memory, shaped like Infoblox's: networks, and host records in them, each with
// one address and a marker of whoever made it.
import { Address, Prefix } from 'ipam-kit/cidr'

export interface HostRecord {
  /** Empty: nobody has marked it. */
  readonly marker: string
  readonly name: string
  readonly network: string
  readonly address: string
}

/** What goes wrong with the next call. */
export type Trouble =
  /** It does not arrive. */
  | 'down'
  /** It is done, and nobody learns of it. */
  | 'lost-answer'

export class ApiError extends Error {
  readonly code: 'down' | 'timeout' | 'no-such-network' | 'network-full' | 'no-such-record' | 'marked'

  constructor(code: ApiError['code'], message: string) {
    super(message)
    this.code = code
  }
}

export class FakeIpam {
  readonly #networks = new Map<string, Prefix>()
  /** By network and address. There is one record at most for each marker. */
  readonly #records = new Map<string, HostRecord>()
  readonly #troubles: Trouble[] = []
  /** How long each call takes. */
  readonly #latency: () => Promise<void>
  /** Every call that arrived, in order. */
  readonly calls: string[] = []

  constructor(latency: () => Promise<void> = async () => {}) {
    this.#latency = latency
  }

  get records(): readonly HostRecord[] {
    return [...this.#records.values()]
  }

  addNetwork(cidr: string): void {
    this.#networks.set(cidr, Prefix.parse(cidr))
  }

  /** The next calls go wrong in this way, one each. */
  inject(...troubles: readonly Trouble[]): void {
    this.#troubles.push(...troubles)
  }

  /** Nothing goes wrong any more. */
  recover(): void {
    this.#troubles.length = 0
  }

  /**
   * The record of a marker, made if there is none yet: at the lowest free address of the network,
   * without its first and last.
   */
  allocate(request: Omit<HostRecord, 'address'>): Promise<HostRecord> {
    return this.#call(`allocate ${request.marker}`, () => {
      return this.#recordOf(request.marker) ?? this.#set({ ...request, address: this.#lowestFree(request.network) })
    })
  }

  /** Removes the record of a marker. @returns whether there was one */
  release(marker: string): Promise<boolean> {
    return this.#call(`release ${marker}`, () => this.removeByHand(marker))
  }

  /** Marks the record of an address that is there already. */
  adopt({ marker, name, network, address }: HostRecord): Promise<HostRecord> {
    return this.#call(`adopt ${marker}`, () => {
      const record = this.#records.get(`${network} ${address}`)
      if (record === undefined) throw new ApiError('no-such-record', `there is no record of ${address}`)
      if (record.marker !== '' && record.marker !== marker)
        throw new ApiError('marked', `${address} is of another owner`)
      return this.#set({ marker, name, network, address })
    })
  }

  /** Takes a marker off its record, which stays. */
  unmark(marker: string): Promise<void> {
    return this.#call(`unmark ${marker}`, () => {
      const record = this.#recordOf(marker)
      if (record !== undefined) this.#set({ ...record, marker: '' })
    })
  }

  /** What an administrator does in the product itself. @returns whether there was a record */
  removeByHand(marker: string): boolean {
    const record = this.#recordOf(marker)
    return record !== undefined && this.#records.delete(`${record.network} ${record.address}`)
  }

  addByHand(network: string, address: string): void {
    this.#set({ marker: '', name: 'by-hand', network, address })
  }

  #recordOf(marker: string): HostRecord | undefined {
    return this.records.find((record) => record.marker === marker)
  }

  #set(record: HostRecord): HostRecord {
    this.#records.set(`${record.network} ${record.address}`, record)
    return record
  }

  async #call<T>(what: string, action: () => T): Promise<T> {
    await this.#latency()
    const trouble = this.#troubles.shift()
    if (trouble === 'down') throw new ApiError('down', 'connection refused')
    this.calls.push(what)
    const answer = action()
    if (trouble === 'lost-answer') throw new ApiError('timeout', 'no answer within 10 s')
    return answer
  }

  #lowestFree(cidr: string): string {
    const network = this.#networks.get(cidr)
    if (network === undefined) throw new ApiError('no-such-network', `there is no network ${cidr}`)
    const taken = new Set(this.records.map(({ address }) => address))
    const size = 2n ** BigInt((network.address.family === 4 ? 32 : 128) - network.length)
    for (let offset = 1n; offset < size - 1n; offset++) {
      const address = Address.format(Address.add(network.address, offset))
      if (!taken.has(address)) return address
    }
    throw new ApiError('network-full', `no free address in ${cidr}`)
  }
}
