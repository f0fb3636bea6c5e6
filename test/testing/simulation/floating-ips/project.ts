import type { ExternalResult } from 'ipam-kit/plan'
import type { CloudAddress, CloudAddresses } from 'ipam-kit/provider/external'
import { type Dice, FakeCloud } from 'ipam-kit/testing'

/** The caller of a call that changes the cloud. */
export interface CloudCaller {
  readonly cluster: string
  readonly process: string
  /** Namespace and name of the pool that the call is for. */
  readonly pool: string
  /** The uid of that pool when the call was made, if the pool existed. */
  readonly uid: string | undefined
  /** Whether the process is not the leader when the call arrives, or was suspended before. */
  isLate: boolean
}

/** The pool that an address is of. */
export interface Owner {
  readonly cluster: string
  /** Namespace and name. */
  readonly pool: string
  readonly uid: string | undefined
}

/** What the world knows of an address in the cloud, whatever its marker says. */
export interface AddressRecord {
  readonly id: string
  readonly text: string
  readonly network: string
  readonly createdMs: number
  /** Undefined: people have created it. */
  readonly creator: CloudCaller | undefined
  /** The cluster and the pool that have it now: those of the creator, until a move. */
  owner: Owner | undefined
  /** People have changed its description, or have given it that of another address. */
  isEdited: boolean
  /** The pool has ended, and has left it in the cloud on purpose. */
  isRetained: boolean
  /** When people last attached, detached or edited it. */
  touchedMs: number
  isDeleted: boolean
}

/** Addresses of one network that people bring, and that calls get only after people delete them. */
export const OWN_ADDRESSES = ['203.0.113.60', '203.0.113.59', '203.0.113.58', '203.0.113.57'] as const

/** The longest time by which a list is old, in milliseconds: below the lag that the library knows. */
const OLDEST_LIST_MS = 4500

/**
 * A project of a cloud: two external networks, one inside network, and addresses. It knows which
 * call has created what, and needs no marker for that.
 */
export class Project {
  readonly cloud: FakeCloud
  readonly networks: readonly string[]
  /** Ports of people, for attachments by hand. */
  readonly ports: readonly string[]
  /** By id, those that are deleted included. */
  readonly records = new Map<string, AddressRecord>()
  readonly #inside: string
  #created = 0
  #deleted = 0

  /** @param givesFreedAtOnce whether a new address is the one that was freed last */
  constructor(now: () => number, givesFreedAtOnce: boolean) {
    this.cloud = givesFreedAtOnce ? new ReusingCloud({ now }) : new FakeCloud({ now })
    const { cloud } = this
    const add = (name: string, cidr: string, isExternal: boolean) =>
      cloud.addNetwork({ name, cidrs: [cidr], isExternal })
    this.networks = [add('public', '203.0.113.0/26', true).id, add('second', '198.51.100.0/26', true).id]
    this.#inside = add('inside', '10.0.0.0/24', false).id
    const subnets = [cloud.subnetId(this.#inside, 0)]
    for (const gatewayNetwork of this.networks) cloud.addRouter({ gatewayNetwork, subnets })
    this.ports = [1, 2, 3].map((nth) => this.addPort(`person-${nth}`))
  }

  /** A port of a server in the inside network. @returns its id */
  addPort(device: string): string {
    const address = `10.0.0.${10 + this.cloud.ports.length}`
    const fixedIPs = [{ subnet: this.cloud.subnetId(this.#inside, 0), address }]
    return this.cloud.addPort({ device, network: this.#inside, fixedIPs }).id
  }

  /** The addresses that exist. */
  get existing(): readonly AddressRecord[] {
    return [...this.records.values()].filter(({ isDeleted }) => !isDeleted)
  }

  /** The address that exists and has this text. */
  withText(text: string): AddressRecord | undefined {
    return this.existing.find((record) => record.text === text)
  }

  isAttached({ id }: AddressRecord): boolean {
    return (this.cloud.find(id)?.port ?? '') !== ''
  }

  /** Notes what was created and deleted since the last call. @param creator undefined: people */
  note(creator: CloudCaller | undefined): {
    readonly created: readonly AddressRecord[]
    readonly deleted: readonly AddressRecord[]
  } {
    const created = this.cloud.created.slice(this.#created).map(({ id, address, atMs }): AddressRecord => {
      const network = this.cloud.find(id)?.network ?? ''
      const owner = creator && { cluster: creator.cluster, pool: creator.pool, uid: creator.uid }
      const flags = { isEdited: false, isRetained: false, isDeleted: false, touchedMs: atMs }
      return { id, text: address, network, createdMs: atMs, creator, owner, ...flags }
    })
    for (const record of created) this.records.set(record.id, record)
    this.#created += created.length
    const deleted = this.cloud.deleted.slice(this.#deleted).flatMap(({ id }) => this.records.get(id) ?? [])
    this.#deleted += deleted.length
    for (const record of deleted) record.isDeleted = true
    return { created, deleted }
  }
}

/** A cloud whose next address is the one that was freed last, if that is free and in the network. */
class ReusingCloud extends FakeCloud {
  override create(...[wanted, trouble]: Parameters<FakeCloud['create']>): ReturnType<FakeCloud['create']> {
    const isFree = (text: string) => this.floatingIPs.every(({ address }) => address !== text)
    const inNetwork = (address: string) => this.isInside({ ...wanted, address } as Parameters<FakeCloud['isInside']>[0])
    const freed = this.deleted.findLast(({ address }) => isFree(address) && inNetwork(address))
    return super.create({ ...wanted, address: wanted.address ?? freed?.address ?? null }, trouble)
  }
}

/**
 * A list of addresses as a busy cloud answers it: each item as it was up to some seconds ago, in
 * any order, some of them twice. An item that has existed for longer is never left out.
 */
export async function untidyList(
  cloud: FakeCloud,
  dice: Dice,
  list: () => Promise<ExternalResult<CloudAddresses>>,
): Promise<ExternalResult<CloudAddresses>> {
  const pages: CloudAddresses[] = []
  for (const ageMs of [dice.below(OLDEST_LIST_MS), dice.below(OLDEST_LIST_MS), 0]) {
    cloud.listLagMs = ageMs
    const page = await list()
    cloud.listLagMs = 0
    if (!page.ok) return page
    pages.push(page.value)
  }
  const ids = new Set(pages.flatMap(({ addresses }) => addresses.map(({ id }) => id)))
  const items: CloudAddress[] = []
  for (const id of ids) {
    for (let times = dice.chance(0.2) ? 2 : 1; times > 0; times--) {
      const found = dice.pick(pages).addresses.find((address) => address.id === id)
      if (found !== undefined) items.splice(dice.below(items.length + 1), 0, found)
    }
  }
  return { ok: true, value: { addresses: items } }
}
