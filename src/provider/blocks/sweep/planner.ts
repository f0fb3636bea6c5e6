import * as Address from '../../../cidr/nouns/address.js'
import { IPAddress } from '../../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { type KindInfo, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { refuse } from '../../../errors/refuse.js'
import { type Change, type Effect, type Plan, type Planner, type PlanTime, Sightings } from '../../../plan/index.js'
import { BlockBook, isBound } from '../book.js'
import { KnownBlocks, type Place } from '../known-blocks.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { PoolView } from '../pool-view.js'
import type { BlockReadings } from '../readings.js'
import { handOver, takeBack } from '../rows.js'
import { HandleSweep } from './handles.js'
import { Owners, ownerKey } from './owners.js'
import { type LeftAddress, type Verdict, verdictOn } from './verdict.js'

export interface BlocksSweepOptions {
  /**
   * The kinds of owners that are looked for. A row of an owner of another kind is never touched. With IPAddressClaim among them, rows that a claim has beside
   * the address that it was given go as well, and what it had goes on to the claim that has adopted its IPAddress.
   */
  readonly owners: readonly KindInfo[]
  /** How long an owner has to be missing before what it has is taken back, in seconds, from 0 to 86,400. Default 900. */
  readonly graceSeconds?: number | undefined
  /** Whether the handles of owners that are gone are removed too. They are then watched as well. Default false. */
  readonly handles?: boolean | undefined
  /** What others of this process have read is not read again: one {@link BlockReadings} for all of them. Left out: it reads all that it is shown. */
  readonly readings?: BlockReadings | undefined
}

/**
 * Takes back what belongs to owners that are gone: whose writer has died before it could, or that were removed by force.
 *
 * An owner is told by its uid: another one of the same name is another owner. It has to be missing twice: when it is first seen, which begins anew with each
 * start, and after the grace period; and right before the row goes the store is asked for it. A row that was given anew since has another number, and is not
 * touched. O(rows of a block) a plan.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksSweep(options: BlocksSweepOptions): Planner<OperatorOutcome> {
  const { owners, graceSeconds = 900, handles = false, readings } = options ?? {}
  if (!Array.isArray(owners) || owners.length === 0) refuse('owners', 'a list of kinds, one at least', owners)
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400)) refuse('graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  return new BlocksSweep({ owners, graceSeconds, handles, readings })
}

/** The options, with what is left out filled in. */
interface SweepRules {
  readonly owners: readonly KindInfo[]
  readonly graceSeconds: number
  readonly handles: boolean
  readonly readings: BlockReadings | undefined
}

/** A row that something is to be done about. */
interface Case {
  readonly place: Place
  readonly verdict: Exclude<Verdict, { readonly kind: 'stays' }>
}

class BlocksSweep implements Planner<OperatorOutcome> {
  readonly name = 'blocks-sweep'
  readonly watches: readonly KindInfo[]
  readonly #options: SweepRules
  readonly #sightings = new Sightings()
  readonly #owners: Owners
  readonly #handles: HandleSweep
  readonly #addresses = new Map<string, LeftAddress>()
  /** Since when owners are missing, by block and number of the row. */
  readonly #missing = new Map<string, Map<number, number>>()
  /** The unit of the row that a plan was made for last, by block. */
  readonly #turns = new Map<string, number>()
  #known: KnownBlocks

  constructor(options: SweepRules) {
    this.#options = options
    const { owners, graceSeconds, handles, readings } = options
    this.#known = new KnownBlocks({ isComplete: true, readings })
    this.#owners = new Owners(owners)
    this.#handles = new HandleSweep(graceSeconds)
    const addresses = owners.some((kind) => isClaim(kind)) ? [IPAddress.info] : []
    this.watches = [IPPool.info, IPBlock.info, ...(handles ? [IPHandle.info] : []), ...addresses, ...owners]
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (!this.#sightings.isNews(change)) return []
    if (IPPool.is(ref) || IPBlock.is(ref)) {
      this.#known.observe(change, { nowMs: 0 })
      if (IPPool.is(ref)) return []
      if (change.kind === 'absent') {
        this.#missing.delete(ref.name)
        this.#turns.delete(ref.name)
      }
      return [ref.name]
    }
    if (IPHandle.is(ref)) return [this.#handles.observe(change)]
    const uids = IPAddress.is(ref) ? this.#observeAddress(ref, change) : this.#owners.observe(ref, change)
    const blocks = new Set(uids.flatMap((uid) => this.#known.rowsOf(uid).map(({ book }) => book.name)))
    return [...blocks, ...this.#handles.keysOf(uids)]
  }

  plan(name: string, time: PlanTime): Plan<OperatorOutcome> | undefined {
    if (this.#handles.has(name)) return this.#handles.plan(name, time, this.#owners, this.#known)
    const book = this.#known.book(name)
    if (book === undefined || book === 'absent') return undefined
    if (!(book instanceof BlockBook)) return { outcome: { kind: 'broken', message: book.unreadable }, effects: [] }
    const { cases, waitMs } = this.#look(book, time)
    const again = waitMs === undefined ? {} : { requeueAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) }
    const next = this.#nextOf(book, cases)
    if (next !== undefined) {
      // one at a time: each has the version of the block as its condition
      const outcome: OperatorOutcome = { kind: 'going', message: `${cases.length} rows are not as their owners are` }
      return {
        outcome,
        effects: this.#effectsFor(next, time),
        ...(cases.length > 1 ? { requeueAfterSeconds: 0 } : again),
      }
    }
    const outcome: OperatorOutcome =
      waitMs === undefined
        ? { kind: 'ready', message: 'all owners are there' }
        : { kind: 'waiting', message: 'an owner is missing' }
    return { outcome, effects: [], ...again }
  }

  isSummary(): boolean {
    return true
  }

  reset(): void {
    this.#known = this.#known.anew()
    this.#sightings.clear()
    this.#owners.clear()
    this.#addresses.clear()
    this.#missing.clear()
    this.#turns.clear()
    this.#handles.clear()
  }

  #observeAddress(ref: ObjectRef, change: Change): readonly string[] {
    const key = ownerKey(ref)
    const before = this.#addresses.get(key)
    const read = change.kind === 'present' ? IPAddress.safeParse(change.object) : undefined
    if (read === undefined) this.#addresses.delete(key)
    else this.#addresses.set(key, read.ok && isAddress(read.value) ? read.value : 'unreadable')
    const claim = this.#owners.uidOf({ ...IPAddressClaim.info, namespace: ref.namespace, name: ref.name })
    const now = this.#addresses.get(key)
    const controllers = [before, now].flatMap((address) => {
      const owners = typeof address === 'object' ? (address.metadata.ownerReferences ?? []) : []
      return owners.filter((owner) => isClaim(owner)).map(({ uid }) => uid)
    })
    return [...controllers, ...(claim === undefined ? [] : [claim])]
  }

  /** The rows that something is to be done about now, and how long it is until the next one. */
  #look(
    book: BlockBook,
    { nowMs }: PlanTime,
  ): { readonly cases: readonly Case[]; readonly waitMs: number | undefined } {
    const before = this.#missing.get(book.name)
    const missing = new Map<number, number>()
    const cases: Case[] = []
    let waitMs: number | undefined
    for (const entry of book.entries) {
      const place = { book, entry }
      const owner = isBound(entry) ? this.#owners.refOf(entry.row) : undefined
      if (owner === undefined) continue
      const verdict = verdictOn(place, owner, this.#owners, this.#addressOf(owner))
      if (verdict.kind === 'stays') continue
      const { sequence } = entry.row
      const sinceMs = before?.get(sequence) ?? nowMs
      const leftMs = verdict.kind === 'missing' ? sinceMs + this.#options.graceSeconds * 1000 - nowMs : 0
      if (verdict.kind === 'missing') missing.set(sequence, sinceMs)
      if (verdict.kind !== 'missing' || (leftMs <= 0 && before?.has(sequence) === true)) cases.push({ place, verdict })
      else waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, Math.max(leftMs, 1))
    }
    if (missing.size === 0) this.#missing.delete(book.name)
    else this.#missing.set(book.name, missing)
    return { cases, waitMs }
  }

  /** They take turns, so that one which the store refuses keeps no other one from going. */
  #nextOf({ name }: BlockBook, cases: readonly Case[]): Case | undefined {
    const turn = this.#turns.get(name) ?? -1
    const next = cases.find(({ place }) => place.entry.unit > turn) ?? cases[0]
    if (next === undefined) this.#turns.delete(name)
    else this.#turns.set(name, next.place.entry.unit)
    return next
  }

  #effectsFor({ place, verdict }: Case, { nowMs }: PlanTime): readonly Effect[] {
    const { book, entry } = place
    const { owner } = entry.row
    if (verdict.kind === 'heir')
      return [verdict.check, handOver(place, verdict.uid, { nowMs, why: `${owner} was made anew` })]
    const pool = this.#known.pool(entry.row.pool ?? book.object.spec.pool)
    const rules = pool instanceof PoolView ? pool.object.spec : undefined
    const isStray = verdict.kind === 'stray'
    const why = isStray ? `${owner} has another address` : `its owner ${owner} is gone`
    return [...(isStray ? [verdict.check] : verdict.checks), takeBack(place, rules, { nowMs, why })]
  }

  #addressOf({ namespace, name }: ObjectRef): LeftAddress {
    return this.#addresses.get(ownerKey({ ...IPAddress.info, namespace, name }))
  }
}

function isAddress({ spec }: IPAddress): boolean {
  return Address.safeParse(spec.address, { zone: 'drop' }).ok
}

function isClaim(kind: Pick<KindInfo, 'apiVersion' | 'kind'>): boolean {
  return IPAddressClaim.is(kind)
}
