import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { type PoolRow, rowKey } from '../../../crd/whereabouts/index.js'
import { chooseAddress } from '../choose/choose-address.js'
import { type RowOwner, rowsToReuse, type Stickiness } from '../choose/owner.js'
import { allocatableRange, rangeSpace } from '../choose/space.js'
import type { AskedAddress, WhereaboutsConfig } from '../config/types.js'
import type { Assignment } from './assignment.js'
import { type ClaimReading, isHeldBy, readRowClaim } from './holder.js'
import { type PoolReading, phaseProblem, type TaskObjects } from './objects.js'
import type { OtherSide } from './other-side.js'
import type { AddOutcome } from './outcome.js'
import { later, type Place } from './places.js'
import type { InterfaceRequest } from './request.js'

type Address = Address.Address

export interface AssignInput {
  readonly request: InterfaceRequest
  readonly owner: RowOwner
  readonly sticky: Stickiness
  readonly objects: TaskObjects
  /** The addresses that other Pods have reserved, as far as they are known. */
  readonly foreign: readonly Address[]
  /** Where a pool with a phase has its rows too. */
  readonly other?: Pick<OtherSide, 'taken' | 'own'> | undefined
  readonly claim: ClaimReading | undefined
}

export type Assigned =
  | { readonly kind: 'assigned'; readonly assignments: readonly Assignment[] }
  | Extract<AddOutcome, { kind: 'exhausted' | 'refused' | 'taken' | 'poolNotReady' }>

/**
 * The addresses of an interface: for each range a row that it has, the address that is asked for,
 * or the lowest free one. Two ranges never get one address. O(rows).
 */
export function assign(places: readonly Place[], input: AssignInput): Assigned {
  const assignments: Assignment[] = []
  const asked = [...input.request.config.asked]
  for (const place of places) {
    const pool = input.objects.pool(place.pool)
    const problem = poolProblem(place, pool, input.other !== undefined)
    if (problem !== undefined) return { kind: 'poolNotReady', message: problem }
    const used = assignments.map(({ address }) => address)
    const index = asked.findIndex(({ address }) => Prefix.contains(place.range.prefix, address))
    const wanted = index < 0 ? undefined : asked.splice(index, 1)[0]
    const made = new Chooser(place, pool, input, used).assign(wanted)
    if (made.kind !== 'made') return made
    assignments.push(made.assignment)
  }
  const [left] = asked
  if (left === undefined) return { kind: 'assigned', assignments }
  const message = `${left.path}: no range is left for ${Address.format(left.address)}`
  return { kind: 'refused', message }
}

function poolProblem(
  { pool: { name }, range, poolRange }: Place,
  pool: PoolReading,
  hasOther: boolean,
): string | undefined {
  if (pool.kind === 'absent') return undefined
  if (pool.kind === 'unreadable') return `IPPool ${name}: ${pool.problem}`
  const phase = phaseProblem(pool, { hasOther })
  if (phase !== undefined) return phase
  const { prefix } = range
  const isSame = Prefix.equals(Prefix.masked(pool.range), Prefix.masked(prefix))
  return isSame ? undefined : `IPPool ${name} has the range ${Prefix.format(pool.range)}, not ${poolRange}`
}

type Made =
  | { readonly kind: 'made'; readonly assignment: Assignment }
  | Extract<AddOutcome, { kind: 'exhausted' | 'refused' | 'taken' | 'poolNotReady' }>

class Chooser {
  readonly #place: Place
  readonly #pool: Exclude<PoolReading, { kind: 'unreadable' }>
  readonly #input: AssignInput
  readonly #used: readonly Address[]

  constructor(place: Place, pool: PoolReading, input: AssignInput, used: readonly Address[]) {
    this.#place = place
    this.#pool = pool as Exclude<PoolReading, { kind: 'unreadable' }>
    this.#input = input
    this.#used = used
  }

  assign(asked: AskedAddress | undefined): Made {
    const row = this.#ownRow(asked) ?? this.#replaceable(asked, this.#onBlocks())
    const { pool } = this.#place
    const gateway = asked?.gateway
    if (row !== undefined) return this.#made(row, gateway)
    if (this.#pool.kind === 'pool' && this.#pool.isTerminating) {
      return { kind: 'poolNotReady', message: `IPPool ${pool.name} is being deleted` }
    }
    const made = this.#choose(asked?.address ?? this.#claimed(), gateway)
    const other = made.kind === 'exhausted' || made.kind === 'taken' ? this.#replaceable(asked) : undefined
    return other === undefined ? made : this.#made(other, gateway)
  }

  #made(row: PoolRow, gateway: Address | undefined): Made {
    const { address, key } = row
    return { kind: 'made', assignment: { place: this.#place, pool: this.#place.pool, address, key, row, gateway } }
  }

  /** The row that the interface has already, or that its claim holds. */
  #ownRow(asked: AskedAddress | undefined): PoolRow | undefined {
    if (this.#pool.kind !== 'pool') return undefined
    const { owner, sticky, claim } = this.#input
    const { rows, phase } = this.#pool
    const onBlocks = this.#onBlocks()
    const held =
      claim === undefined ? [] : rows.filter((row) => isHeldBy(row, claim) && !isOfOtherInterface(row, owner))
    // the row of an earlier Pod of the name stays with it
    const mayGet = ({ address }: PoolRow) =>
      !has(this.#input.other?.taken, address) && (onBlocks.length === 0 || has(onBlocks, address))
    const isUsable = (row: PoolRow) => this.#isUsable(row, asked) && (row.id === owner.id || mayGet(row))
    // two ADDs at a time may have left two rows: the one that the claim names first stays
    const named = (claim?.addresses ?? []).flatMap((address) =>
      held.filter((row) => Address.equals(row.address, address)),
    )
    const first = named.find(isUsable)
    // the row that the claim names may have been written since the pool was read
    if (first !== undefined || (asked === undefined && this.#claimed() !== undefined)) return first
    // blocks know whether the earlier container is one of the same Pod
    const own = [...rowsToReuse(rows, owner, phase === undefined ? sticky : 'pod'), ...held].filter(isUsable)
    return own.find(({ address }) => this.#isGiven(address)) ?? own[0]
  }

  /** The addresses of the range that the interface has in blocks. */
  #onBlocks(): readonly Address[] {
    const { own = [] } = this.#input.other ?? {}
    return own.filter((address) => Prefix.contains(this.#place.range.prefix, address) && !this.#isUsed(address))
  }

  /**
   * A row of another holder in a pool for which the blocks are the truth. It has no meaning if its
   * address is free there. With `of` one of these addresses.
   */
  #replaceable(asked: AskedAddress | undefined, of?: readonly Address[]): PoolRow | undefined {
    if (this.#pool.kind !== 'pool' || this.#pool.phase !== 'blocks' || of?.length === 0) return undefined
    const { other, request } = this.#input
    const kept = new Set([...(other?.taken ?? []), ...keptBackOf(request.config)].map(Address.key))
    return this.#pool.rows.find(
      (row) =>
        (of === undefined || has(of, row.address)) &&
        !kept.has(Address.key(row.address)) &&
        this.#isUsable(row, asked) &&
        this.#isGiven(row.address) &&
        readRowClaim(row) === undefined,
    )
  }

  /** A row of the edges of the range, or beyond them, is no address of an interface. */
  #isUsable({ address }: PoolRow, asked: AskedAddress | undefined): boolean {
    if (asked !== undefined && !Address.equals(asked.address, address)) return false
    const usable = allocatableRange({ prefix: this.#place.range.prefix })
    if (usable === undefined || this.#isUsed(address)) return false
    return Address.compare(usable.first, address) <= 0 && Address.compare(address, usable.last) <= 0
  }

  #isUsed(address: Address): boolean {
    return has(this.#used, address)
  }

  #isGiven(address: Address): boolean {
    const space = rangeSpace(this.#place.range)
    return space.kind === 'space' && RangeSet.contains(space.addresses, address)
  }

  /** An address of the claim that has no row: it is written again. */
  #claimed(): Address | undefined {
    return this.#input.claim?.addresses.find(
      (address) => Prefix.contains(this.#place.range.prefix, address) && !this.#isUsed(address),
    )
  }

  #choose(wanted: Address | undefined, gateway: Address | undefined): Made {
    const { range, isEmpty, pool, poolRange } = this.#place
    const { config } = this.#input.request
    const rows = this.#pool.kind === 'pool' ? this.#pool.taken : []
    const base = this.#pool.kind === 'pool' ? this.#pool.range : range.prefix
    const { foreign, other } = this.#input
    const taken = [...rows, ...this.#used, ...foreign, ...(other?.taken ?? [])]
    // a row below the address that the pool is written with would have the key of another address
    const bounds = allocatableRange(range)
    const start = bounds === undefined ? range.start : later(bounds.first, base.address)
    const keptBack = keptBackOf(config)
    const isFree = (address: Address) => this.#isGiven(address) && !has([...taken, ...keptBack], address)
    const asked = wanted ?? other?.own.find(isFree)
    const choice = chooseAddress({ ...range, start }, { taken, keptBack, asked })
    if (isEmpty) return { kind: 'exhausted', message: `no address of the range is in the slice ${poolRange}` }
    if (choice.kind === 'exhausted' || choice.kind === 'taken') return choice
    if (choice.kind !== 'chosen') return { kind: 'refused', message: choice.message }
    const key = rowKey(base, choice.address)
    if (!key.ok) return { kind: asked === undefined ? 'exhausted' : 'refused', message: key.failure.message }
    return { kind: 'made', assignment: { place: this.#place, pool, address: choice.address, key: key.value, gateway } }
  }
}

function has(addresses: readonly Address[] = [], address: Address): boolean {
  return addresses.some((one) => Address.equals(one, address))
}

/** Whether another interface of the container uses a row: a holder can be that of several. */
function isOfOtherInterface(row: PoolRow, { id, podref, ifname }: RowOwner): boolean {
  return row.id === id && row.podref === podref && !!row.ifname && row.ifname !== ifname
}

/** Gateways and static addresses are in use without a row. */
function keptBackOf({ gateway, addresses }: WhereaboutsConfig): readonly Address[] {
  return [gateway, ...addresses.flatMap((one) => [one.prefix.address, one.gateway])].filter(
    (address) => address !== undefined,
  )
}
