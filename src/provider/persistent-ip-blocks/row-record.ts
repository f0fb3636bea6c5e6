import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { blockName, isName } from '../../crd/ipam-kit/block-name.js'
import { gridOf } from '../../crd/ipam-kit/grid.js'
import type { IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import { type Calls, type LastResult, retryAfter } from '../../plan/calls.js'
import type { Absences, Effect, Holdings } from '../../plan/index.js'
import { addressOf } from '../blocks/block/allocation.js'
import { unitOf } from '../blocks/block/grid.js'
import { isBound, ParsedBlock } from '../blocks/block/parsed-block.js'
import { passOn } from '../blocks/block/rows.js'
import { type BlockCall, type BlockOutcome, DENIALS } from '../blocks/tasks/calls.js'
import type { KnownBlocks, PlacedRow } from '../blocks/tasks/known-blocks.js'
import type { AddressRecord, AddressUser, OpenRecord, RecordStep } from '../persistent-ip/serving/address-record.js'
import { hostOf, KEYS } from '../persistent-ip/serving/holds.js'
import { familiesOf, networkSpace } from '../persistent-ip/serving/space.js'
import type { ServingCache } from '../persistent-ip/serving/watches.js'
import { domainOfNetwork } from './network-pool.js'
import { CLAIM_KIND, interfaceName, livingOwner, ownerEnded, ownerOf } from './row-owners.js'

/** What the record reads. */
export interface RowSources {
  readonly known: KnownBlocks
  readonly calls: Calls
  readonly cache: ServingCache
  readonly holdings: Holdings
  /** Rows that are not needed, by the number of the row. */
  readonly absences: Absences
  readonly nowMs: number
}

/** A call that was answered is not made again before this time, in seconds. */
const PAUSE_SECONDS = 1
/** The same after an answer that the user cannot have the addresses. */
const DENIED_SECONDS = 30

/**
 * The rows of blocks are the record. An address without a row has the holders that objects say.
 *
 * - An address of a claim or a Pod without a row gets one by `adopt`, before anything is written.
 * - A user without addresses gets rows of each family by `allocate`, or none.
 * - A row whose owner has ended stays while a Pod has its address. A claim takes it over.
 */
export function rowRecord(sources: RowSources): OpenRecord {
  return (user) => new RowRecord(user, sources)
}

/** The name of the block of an address; `undefined`: the network has a name that is too long. */
export function blockOf(network: string, address: Address.Address): string | undefined {
  const domain = domainOfNetwork(network)
  const { blockPrefixLength } = gridOf(address.family)
  return isName(domain) ? blockName(domain, Prefix.masked(Prefix.of(address, blockPrefixLength))) : undefined
}

class RowRecord implements AddressRecord {
  readonly #user: AddressUser
  readonly #sources: RowSources
  readonly #domain: string
  /** The rows of the user in the network. */
  readonly #rows: readonly PlacedRow[]
  /** The sets in which the user has no row. */
  readonly #missing: RangeSet.RangeSet[] = []

  constructor(user: AddressUser, sources: RowSources) {
    this.#user = user
    this.#sources = sources
    this.#domain = domainOfNetwork(user.network.name)
    const uid = user.object.metadata.uid ?? ''
    this.#rows = sources.known
      .rowsOf(uid)
      .filter(({ parsed, entry }) => parsed.object.spec.domain === this.#domain && this.#isMine(entry.row))
  }

  isTaken(address: Address.Address): boolean {
    const row = this.#rowAt(address)?.entry.row
    const { network, own, isLater = () => false } = this.#user
    const holders = this.#sources.holdings.ledger(network.name).holders(hostOf(address))
    const others = holders.map(({ holder }) => holder.key).filter((key) => !own.has(key) && !isLater(key))
    const isOthers = others.length > 0
    if (row === undefined || this.#isNamesake(row)) return isOthers || this.#isDenied(address)
    // a status, which a tenant can edit, counts less than the row; the address of a Pod is in use
    if (this.#isOwn(row)) return others.some((key) => KEYS.read(key)?.kind === 'Pod')
    return this.#isLiving(row) || isOthers || holders.length === 0
  }

  next(within: RangeSet.RangeSet): Address.Address | undefined {
    const found = this.#rows.map(addressIn).find((address) => RangeSet.contains(within, address))
    if (found === undefined) this.#missing.push(within)
    return found
  }

  before(addresses: readonly Prefix.Prefix[]): RecordStep | undefined {
    if (!isName(this.#domain)) {
      const message = `the network ${this.#user.network.name} has a name that is too long for blocks`
      return { message, effects: [], isExhausted: false }
    }
    const space = networkSpace(this.#user.network).addresses
    const given = addresses.map(({ address }) => address).filter((address) => RangeSet.contains(space, address))
    const missing = given.filter((address) => !this.#isRecorded(address))
    const useless = this.#useless(given, missing)
    const wait = this.#waitFor(useless)
    if (useless !== undefined) return wait ?? this.#release(useless)
    if (this.#missing.length > 0) return this.#allocate()
    if (missing.length === 0) return undefined
    const others = missing.flatMap((address) => this.#rowAt(address) ?? [])
    const other = others.find(({ entry }) => !this.#isNamesake(entry.row))
    return other === undefined ? this.#adopt(given) : this.#takeOver(other)
  }

  /**
   * A row in the way of those that are needed: of a plan that was not carried out, or one that was
   * given before the network has changed. Beside addresses that the object has the sweep decides.
   */
  #useless(given: readonly Address.Address[], missing: readonly Address.Address[]): PlacedRow | undefined {
    const families = this.#missing.flatMap((within) => RangeSet.first(within)?.family ?? [])
    const inWay = this.#rows.find((place) => families.includes(addressIn(place).family))
    if (inWay !== undefined || missing.length === 0 || this.#user.has.length > 0) return inWay
    return this.#rows.find((place) => !isAmong(addressIn(place), given))
  }

  /** Another process may be about to write an address of the row to the object. */
  #waitFor(useless: PlacedRow | undefined): RecordStep | undefined {
    const { absences, nowMs } = this.#sources
    const sequences = useless === undefined ? [] : [useless.entry.row.sequence]
    const name = formatRef(refOf(this.#user.object))
    const dependent = [name, this.#user.interface ?? '', this.#domain].join(' ')
    const { requeueAfterSeconds } = absences.look(dependent, sequences, nowMs)
    if (requeueAfterSeconds === undefined) return undefined
    return { message: `a row of ${name} is not needed any more`, effects: [], requeueAfterSeconds, isExhausted: false }
  }

  #allocate(): RecordStep {
    if (this.#missing.some((within) => RangeSet.isEmpty(within))) {
      const message = `the network ${this.#user.network.name} has no address of a family`
      return { message, effects: [], isExhausted: true }
    }
    return this.#request('allocate', { families: familiesOf(this.#user.network) })
  }

  #adopt(addresses: readonly Address.Address[]): RecordStep {
    const families = familiesOf(this.#user.network).filter((family) => addresses.some((one) => one.family === family))
    return this.#request('adopt', { families, addresses, outOfRange: 'refuse' })
  }

  #request(
    operation: 'allocate' | 'adopt',
    wanted: {
      readonly families: readonly (4 | 6)[]
      readonly addresses?: readonly Address.Address[]
      readonly outOfRange?: 'refuse'
    },
  ): RecordStep {
    const { object, interface: key } = this.#user
    const own = key === undefined ? {} : { interface: interfaceName(key) }
    const request = { owner: ownerOf(object), ...own, pools: [this.#domain], ...wanted }
    const input: BlockCall = { task: 'allocate', pool: this.#domain, request }
    return this.#call(operation, this.#marker(wanted.addresses ?? []), input, 'rows for the addresses')
  }

  #release(place: PlacedRow): RecordStep {
    const { uid, sequence } = place.entry.row
    const request = { owner: { uid }, address: addressIn(place), sequence, pools: [this.#domain] }
    const input: BlockCall = { task: 'release', pool: this.#domain, request }
    return this.#call('release', `${uid} ${sequence}`, input, 'the row is not needed')
  }

  /** The row of a Pod of this claim, or of an owner that has ended. */
  #takeOver(place: PlacedRow): RecordStep {
    const { row } = place.entry
    const { object, interface: key } = this.#user
    const { uid, name: owner, kind } = ownerOf(object)
    const checks = this.#isLiving(row) ? [] : ownerEnded(row, this.#sources.cache)
    const why = `the row of ${row.owner} passes to ${owner}`
    const to = { uid, owner, kind, interface: key && interfaceName(key) }
    const write = passOn(place, to, { nowMs: this.#sources.nowMs, why })
    return { message: why, effects: [...checks, write], isExhausted: false }
  }

  #call(operation: string, key: string, input: BlockCall, why: string): RecordStep {
    const { calls, nowMs } = this.#sources
    const about = refOf(this.#user.object)
    const last = calls.get(formatRef(about), operation, key)?.last
    const waitSeconds = last === undefined ? undefined : waitOf(last, nowMs)
    if (last !== undefined && waitSeconds !== undefined && waitSeconds > 0) {
      const { answer } = last
      const isExhausted = !answer.ok && answer.failure.reason === 'PoolExhausted'
      const message = answer.ok ? (answer.value as BlockOutcome).message : answer.failure.message
      return { message, effects: [], requeueAfterSeconds: waitSeconds, isExhausted }
    }
    const call: Effect = { kind: 'external', call: { operation, key, about, input: input as never }, why }
    return { message: why, effects: [call], isExhausted: false }
  }

  #marker(addresses: readonly Address.Address[]): string {
    return [this.#user.object.metadata.uid, this.#user.interface ?? '', ...addresses.map(Address.format)].join(' ')
  }

  /** Whether the store has confirmed lately that the user cannot have a row for what it has. */
  #isDenied(address: Address.Address): boolean {
    const { object, has } = this.#user
    const all = has.map((one) => one.address)
    const last = this.#sources.calls.get(formatRef(refOf(object)), 'adopt', this.#marker(all))?.last
    return isAmong(address, all) && last?.answer.ok === true && isDenial(last.answer.value)
  }

  /** The row that has an address, whatever owner it is of. */
  #rowAt(address: Address.Address): PlacedRow | undefined {
    const parsed = this.#sources.known.block(blockOf(this.#user.network.name, address) ?? '')
    if (!(parsed instanceof ParsedBlock)) return undefined
    const entry = parsed.at(unitOf(parsed.prefix, parsed.object.spec.allocationPrefixLength, address))
    return entry === undefined || !isBound(entry) ? undefined : { parsed, entry }
  }

  /** Whether an address of the user needs no other row. A Pod may have that of its claim. */
  #isRecorded(address: Address.Address): boolean {
    const row = this.#rowAt(address)?.entry.row
    if (row === undefined) return false
    return this.#user.interface === undefined ? this.#isMine(row) : this.#isOwn(row) || !this.#isLiving(row)
  }

  #isMine({ uid, interface: name }: IPBlockRow): boolean {
    const { object, interface: key } = this.#user
    return uid === object.metadata.uid && (key === undefined || interfaceName(key) === name)
  }

  #isOwn(row: IPBlockRow): boolean {
    if (row.uid === this.#user.object.metadata.uid) return this.#isMine(row)
    const key = KEYS.format(row.kind === CLAIM_KIND ? 'IPAMClaim' : 'Pod', row.owner)
    return this.#user.own.has(key) && this.#isLiving(row)
  }

  /** Whether it is the row of an earlier object of the name, which `adopt` takes over. */
  #isNamesake({ uid, owner, kind, interface: name }: IPBlockRow): boolean {
    const { object, interface: key } = this.#user
    const own = ownerOf(object)
    const isSame = owner === own.name && kind === own.kind && name === (key && interfaceName(key))
    return isSame && uid !== own.uid
  }

  #isLiving(row: IPBlockRow): boolean {
    return livingOwner(row, this.#sources.cache) !== undefined
  }
}

/** The address of a row. */
export function addressIn({ parsed, entry }: PlacedRow): Address.Address {
  return addressOf(parsed, entry)
}

function isAmong(address: Address.Address, all: readonly Address.Address[]): boolean {
  return all.some((one) => Address.equals(one, address))
}

/** Whether a task has found that its owner cannot have the addresses. */
function isDenial(outcome: unknown): boolean {
  return DENIALS[(outcome as BlockOutcome).kind] !== undefined
}

/** How long not to make a call again, in seconds. */
function waitOf(last: LastResult, nowMs: number): number | undefined {
  if (!last.answer.ok) return retryAfter(last, nowMs)
  const seconds = isDenial(last.answer.value) ? DENIED_SECONDS : PAUSE_SECONDS
  return Math.ceil((last.atMs + seconds * 1000 - nowMs) / 1000)
}
