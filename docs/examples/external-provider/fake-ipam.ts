// An IPAM product in memory, shaped like Infoblox's: networks, and host records in them, each with
// one address and the marker of its creator.
import { Address, Prefix } from 'ipam-kit/cidr'
import { type AddressRecord, type Api, ApiError } from './your-cloud.js'

export interface HostRecord extends AddressRecord {
  readonly name: string
}

export type NewRecord = Pick<HostRecord, 'network' | 'marker' | 'name'>

/** What goes wrong with the next call. */
export type Trouble =
  /** It does not arrive. */
  | 'down'
  /** It is done, and nobody learns of it. */
  | 'lost-answer'

export class FakeIpam implements Api {
  readonly #networks = new Map<string, Prefix>()
  /** By id. */
  readonly #records = new Map<string, HostRecord>()
  #ids = 0
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

  /** The record of a marker, created if there is none yet. */
  allocate(request: NewRecord): Promise<HostRecord> {
    return this.#call(`allocate ${request.marker}`, () => this.#recordOf(request.marker) ?? this.#add(request))
  }

  /** A new record, at the lowest free address of the network, without its first and last. */
  create(request: NewRecord): Promise<HostRecord> {
    return this.#call(`create ${request.marker}`, () => this.#add(request))
  }

  /** Removes the record of a marker. @returns whether there was one */
  release(marker: string): Promise<boolean> {
    return this.#call(`release ${marker}`, () => this.removeByHand(marker))
  }

  /** All records of a network. */
  list(network: string): Promise<readonly HostRecord[]> {
    return this.#call(`list ${network}`, () => {
      this.#networkOf(network)
      return this.records.filter((record) => record.network === network)
    })
  }

  hasNetwork(network: string): Promise<boolean> {
    return this.#call(`find ${network}`, () => this.#networks.has(network))
  }

  get(id: string): Promise<HostRecord | undefined> {
    return this.#call(`get ${id}`, () => this.#records.get(id))
  }

  /** Changes a record of this version. */
  update(id: string, version: number, change: Partial<HostRecord>): Promise<HostRecord> {
    return this.#call(`update ${id}`, () => {
      const record = this.#versionOf(id, version)
      return this.#set({ ...record, ...change, version: version + 1 })
    })
  }

  /** Removes a record of this version. */
  remove(id: string, version: number): Promise<void> {
    return this.#call(`remove ${id}`, () => {
      this.#versionOf(id, version)
      this.#records.delete(id)
    })
  }

  /** What an administrator does in the product itself. @returns whether there was a record */
  removeByHand(marker: string): boolean {
    const record = this.#recordOf(marker)
    return record !== undefined && this.#records.delete(record.id)
  }

  addByHand(network: string, address: string, marker = ''): HostRecord {
    return this.#set({ id: `${++this.#ids}`, marker, name: 'by-hand', network, address, version: 1, server: '' })
  }

  #recordOf(marker: string): HostRecord | undefined {
    return this.records.find((record) => record.marker === marker)
  }

  #add(request: NewRecord): HostRecord {
    const address = this.#lowestFree(request.network)
    return this.#set({ ...request, id: `${++this.#ids}`, address, version: 1, server: '' })
  }

  #versionOf(id: string, version: number): HostRecord {
    const record = this.#records.get(id)
    if (record?.version === version) return record
    throw new ApiError('changed', `there is no record ${id} of version ${version}`)
  }

  #set(record: HostRecord): HostRecord {
    this.#records.set(record.id, record)
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

  #networkOf(cidr: string): Prefix {
    const network = this.#networks.get(cidr)
    if (network === undefined) throw new ApiError('no-such-network', `there is no network ${cidr}`)
    return network
  }

  #lowestFree(cidr: string): string {
    const network = this.#networkOf(cidr)
    const taken = new Set(this.records.map(({ address }) => address))
    const size = 2n ** BigInt((network.address.family === 4 ? 32 : 128) - network.length)
    for (let offset = 1n; offset < size - 1n; offset++) {
      const address = Address.format(Address.add(network.address, offset))
      if (!taken.has(address)) return address
    }
    throw new ApiError('network-full', `no free address in ${cidr}`)
  }
}
