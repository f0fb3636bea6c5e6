import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { type GroupedCall, retryAfter } from '../../plan/calls.js'
import type { ExternalFailure } from '../../plan/index.js'
import type { PoolInput, PoolPlanInput } from '../claims/definition.js'
import type { CloudAddress, CloudCalls, CloudNetwork, SeenAddress } from './cloud.js'
import type { ExternalRules } from './definition.js'
import type { PoolIdentity } from './identity.js'
import { canonical, type ExternalLedger } from './ledger.js'
import type { ExternalPolicy, FailedAddress, Shortage } from './pool-kind.js'
import { type CloudView, DELETING, type Item, itemOf, type Kind, markerText, SPARE } from './view.js'

/** What a verb is given of a pool. */
export type Input<P extends KubeObject> = PoolInput<P, ExternalLedger<P>, CloudCalls>

/** What a plan for a pool is given. */
export type PlanInput<P extends KubeObject> = PoolPlanInput<P, ExternalLedger<P>, CloudCalls>

/** Why a pool can give nothing, and what it needs first. */
export interface NotKnown {
  readonly isKnown: false
  readonly needs?: Need | undefined
  /** Left out: what is needed was not tried yet. */
  readonly shortage?: Shortage | undefined
}

type Need =
  | { readonly what: 'identity'; readonly identity: PoolIdentity; readonly isNew: boolean }
  | { readonly what: 'network' }
  | { readonly what: 'list'; readonly identity: PoolIdentity }

/** What is known of a pool, or what it needs first. */
export function stateOf<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>): PoolState<P> | NotKnown {
  const { pool, ledger, calls, nowMs } = input
  const read = rules.kind.policyOf(pool)
  const identity = ledger.identityOf(pool)
  // what has moved before the first list is older than it
  ledger.movedSince(Number.NEGATIVE_INFINITY, nowMs)
  if (!read.ok) return { isKnown: false, shortage: invalid(read.problems.join('; ')) }
  if (!identity.ok) return { isKnown: false, shortage: invalid(identity.problem) }
  ledger.fenceMs(pool, nowMs, rules)
  const { value, is } = identity
  if (is !== 'written') return { isKnown: false, needs: { what: 'identity', identity: value, isNew: is === 'new' } }
  const found = calls.of('findNetwork')
  const shortage = shortageOf('findNetwork', found?.failure)
  if (found === undefined) return { isKnown: false, needs: { what: 'network' } }
  const network = value.network ?? found.value?.id
  if (network === undefined) return { isKnown: false, needs: { what: 'network' }, shortage }
  const known = { ...value, network }
  if (value.network === undefined) return { isKnown: false, needs: { what: 'identity', identity: known, isNew: false } }
  const listed = calls.of('listAddresses')
  if (listed?.value === undefined) {
    const needs = { what: 'list', identity: known } as const
    return { isKnown: false, needs, shortage: shortageOf('listAddresses', listed?.failure) }
  }
  const list = { value: listed.value.addresses, askedAtMs: listed.askedAtMs ?? 0 }
  const facts = { id: pool.metadata.uid ?? '', identity: known, policy: read.policy, found: found.value }
  const view = ledger.viewOf(list, facts)
  return new PoolState(rules, input, { ...facts, view, shortage: shortage ?? otherNetwork(found.value, network) })
}

/** The input of every call about a pool. */
export function aboutOf({ metadata: { namespace = '', name } }: KubeObject, { access = null }: ExternalPolicy) {
  return { pool: { namespace, name }, access }
}

/** The shortage of a pool that cannot be used as it is. */
export function invalid(message: string): Shortage {
  return { kind: 'invalid', reason: 'PoolNotReady', message }
}

/** The reason that claims wait for after a failure of the cloud. */
export function shortageOf(operation: string, failure: ExternalFailure | undefined): Shortage | undefined {
  if (failure === undefined) return undefined
  const { message, reason = 'PoolNotReady' } = failure
  return { kind: 'cloud', operation, reason, message }
}

function otherNetwork(found: CloudNetwork | undefined, network: string): Shortage | undefined {
  if (found === undefined || found.id === network) return undefined
  return invalid(
    `the pool has addresses in the network ${network}: it changes to ${found.id} when it has none of them any more`,
  )
}

type Facts = {
  readonly id: string
  readonly identity: PoolIdentity & { readonly network: string }
  readonly policy: ExternalPolicy
  readonly view: CloudView
  /** Why the pool creates nothing, whatever it has. */
  readonly shortage: Shortage | undefined
  /** The network that the spec names, as the cloud has found it. */
  readonly found: CloudNetwork | undefined
}

interface Seen {
  readonly seen?: SeenAddress
}

/** A creation that may have had an effect, or may still have one. */
interface OpenCreation {
  readonly failure: ExternalFailure | undefined
}

/**
 * A pool at one moment: the last list, the IPAddress objects, and the calls and releases that the
 * list does not show. It says what each address is, and so what may be given, created and deleted.
 * Made for each plan, in O(calls and releases since the list).
 */
export class PoolState<P extends KubeObject> {
  readonly isKnown = true
  readonly facts: Facts
  /** Addresses that were released since the list, and when. */
  readonly released: ReadonlyMap<string, number>
  /** Addresses whose IPAddress has appeared since the list. */
  readonly #taken: ReadonlyMap<string, number>
  /** The effects of calls up to this time are in the list. */
  readonly shownMs: number
  /** A list that is requested at this time shows something that is not known yet. */
  readonly wantsListMs: number
  /** Whether the list shows what earlier processes have called. */
  readonly isFenced: boolean
  readonly #input: Input<P>
  /** What calls since the list have made of addresses, by id. `undefined`: it is not known. */
  readonly #changed = new Map<string, CloudAddress | 'deleted' | undefined>()
  /** The addresses that were deleted since the list, canonical. */
  readonly #deleted = new Set<string>()
  /** The addresses that were created since the list, canonical. */
  readonly #created = new Map<string, CloudAddress>()
  /** The keys of the calls that have created them. */
  readonly #keys = new Set<string>()
  #failedSpare: string | undefined
  /** The ids of addresses of which a change was refused after the list. */
  readonly #refusedIds = new Set<string>()
  /** By marker. */
  readonly #open = new Map<string, OpenCreation>()
  /** The creation that was refused for all, by marker, and whether it may be made again. */
  #refused: { readonly marker: string; readonly failure: ExternalFailure; readonly isDue: boolean } | undefined
  /**
   * The failure by which the cloud has asked for a pause, and for how long it still asks for it.
   */
  pause: { readonly failure: ExternalFailure; readonly seconds: number } | undefined

  constructor(rules: ExternalRules<P>, input: Input<P>, facts: Facts) {
    const { ledger, nowMs, pool } = input
    const { askedAtMs } = facts.view
    const lag = rules.listLagSeconds * 1000
    const fenceMs = ledger.fenceMs(pool, nowMs, rules)
    this.#input = input
    this.facts = facts
    this.shownMs = askedAtMs - lag
    this.isFenced = askedAtMs >= fenceMs
    const { taken, released } = ledger.movedSince(this.shownMs, nowMs)
    this.#taken = taken
    this.released = released
    const ends = [...this.released.values(), ...input.calls.all().map((known) => this.#note(known))]
    const first = ends.reduce((least, atMs) => Math.min(least, atMs + lag + 1), Number.POSITIVE_INFINITY)
    this.wantsListMs = this.isFenced ? first : Math.min(first, fenceMs)
  }

  /**
   * @returns when the effect of the call will be in a list, if it is not known and may be needed
   */
  #note({ call, isInFlight, last, value, endsAtMs }: GroupedCall): number {
    const answer = last?.answer
    const isOk = answer?.ok === true && !isInFlight
    const untilMs = isInFlight ? Number.POSITIVE_INFINITY : isOk ? last!.atMs : endsAtMs
    const failure = answer?.ok === false ? answer.failure : undefined
    const { marker = '', seen, address = '' } = call.input as Partial<Record<'marker' | 'address', string>> & Seen
    const isShown = untilMs <= this.shownMs
    // a refused call stays known, and has done nothing
    const isKept = !isShown || untilMs === Number.NEGATIVE_INFINITY
    if (call.operation === 'createAddress' && isKept && failure !== undefined && stopsAll(failure)) {
      const isDue = retryAfter(last!, this.#input.nowMs) === 0
      if (!isDue || this.#refused?.isDue !== false) this.#refused = { marker, failure, isDue }
    }
    // it may have changed: another leader deletes it
    if (seen !== undefined && failure !== undefined && last!.atMs > this.shownMs) this.#refusedIds.add(seen.id)
    const own = `${this.facts.id}/`
    if (call.operation === 'createAddress' && failure !== undefined && call.key.startsWith(`${own}${SPARE}-`)) {
      this.#failedSpare = call.key.slice(own.length)
    }
    if (failure?.retryAfterSeconds !== undefined) {
      // after the pause one call is made first
      const seconds = isInFlight ? 1 : (retryAfter(last!, this.#input.nowMs) ?? 0)
      if (seconds > (this.pause?.seconds ?? 0)) this.pause = { failure, seconds }
    }
    if (isShown) return Number.POSITIVE_INFINITY
    const object = isOk ? (value?.of as CloudAddress) : undefined
    const id = seen?.id ?? ''
    if (call.operation === 'markAddress') this.#changed.set(id, object)
    if (call.operation === 'deleteAddress') this.#changed.set(id, isOk ? 'deleted' : undefined)
    if (call.operation === 'deleteAddress' && isOk && this.facts.view.get(address)?.object.id === id)
      this.#deleted.add(address)
    if (call.operation === 'createAddress') {
      if (object === undefined) this.#open.set(marker, { failure })
      else this.#created.set(canonical(object.address) ?? '', object)
      if (isOk) this.#keys.add(call.key)
    }
    const isEnding = isDeleting(this.#input.pool) && call.operation === 'createAddress'
    const isMarked = object?.marker === this.marker(DELETING)
    return isOk && !isEnding && !isMarked ? Number.POSITIVE_INFINITY : untilMs
  }

  /** Whether the spec names another network. The pool gives nothing until it is empty. */
  get isMoving(): boolean {
    const { found, identity } = this.facts
    return found !== undefined && found.id !== identity.network
  }

  /** An address as the list and later calls show it. `undefined`: it is not there, or not known. */
  item(text: string): Item | undefined {
    const created = this.#created.get(text)
    const listed = created === undefined ? this.facts.view.get(text) : this.#itemOf(text, created)
    const id = listed?.object.id ?? ''
    if (!this.#changed.has(id)) return listed
    const now = this.#changed.get(id)
    return now === undefined || now === 'deleted' ? undefined : this.#itemOf(text, now)
  }

  #itemOf(text: string, object: CloudAddress): Item {
    return itemOf(text, object, { ...this.facts, named: this.#input.ledger.named })
  }

  /**
   * Whether the cloud lacks an address of an IPAddress: a list does not show it, the IPAddress is
   * not newer, and no call since then has created it.
   */
  isMissing(text: string): boolean {
    if (!this.isFenced || this.facts.view.get(text) !== undefined) return false
    return !this.#created.has(text) && !this.#taken.has(text)
  }

  /** The address that the pool has for a claim now, if any. */
  addressFor(uid: string): string | undefined {
    if (this.isMoving) return undefined
    const own = this.facts.view.markedFor(uid).find((text) => this.isFenced && this.#isFree(this.item(text)))
    if (own !== undefined) return own
    for (const { text } of this.#unused()) return text
    return undefined
  }

  /** The addresses that may be given now, in order, up to a number of them. O(these) */
  unused(most = Number.POSITIVE_INFINITY): readonly Item[] {
    const found: Item[] = []
    if (most > 0) {
      for (const item of this.#unused()) if (found.push(item) >= most) break
    }
    return found
  }

  *#unused(): Iterable<Item> {
    const { ledger } = this.#input
    const given = new Set<string>()
    for (const listed of this.facts.view.free((text) => ledger.isUsed(text))) {
      if (listed.kind === 'spare' && (!this.isFenced || this.isAwaited(listed))) continue
      if (!this.#isFree(this.item(listed.text))) continue
      given.add(listed.text)
      yield listed
    }
    for (const [text, { marker }] of this.#created) {
      const item = marker === this.marker(SPARE) && !given.has(text) ? this.item(text) : undefined
      if (item !== undefined && this.#isFree(item)) yield item
    }
  }

  /** Whether an address may be given, as far as no claim waits for it, and the pool gives any. */
  #isFree(item: Item | undefined): boolean {
    if (item === undefined || (item.kind !== 'named' && item.kind !== 'spare')) return false
    // a call that deletes it may still be on its way
    if ((item.isMarked && item.part === DELETING) || this.#refusedIds.has(item.object.id)) return false
    return this.#isIdle(item) && this.whyNot(item.text) === undefined
  }

  /** Whether an address was created for a claim that waits, and gets it. */
  isAwaited({ part }: Item): boolean {
    return !this.isMoving && this.#input.isWaiting(part)
  }

  /** Whether an address is attached, or an IPAddress of another pool has it. */
  isInUse({ text, object }: Item): boolean {
    return object.isAttached || this.#input.otherPoolAt(text) === 'holds'
  }

  /**
   * Whether a list has shown that an address is being deleted, and it is not in use. An IPAddress
   * that another leader has given it by mistake before its mark is known by then.
   */
  isDeletable(item: Item): boolean {
    return this.facts.view.get(item.text)?.object.marker === item.object.marker && !this.isInUse(item)
  }

  /** Whether no IPAddress of the pool has an address, and the list shows its last release. */
  #isIdle({ text }: Item): boolean {
    return !this.#input.ledger.isHeld(text) && !this.released.has(text)
  }

  /** Why an address cannot be given, if no IPAddress has it. */
  whyNot(text: string): FailedAddress['reason'] | undefined {
    const item = this.item(text)
    if (item === undefined) return 'NotFound'
    if (item.object.network !== this.facts.identity.network) return 'OtherNetwork'
    if (item.object.isAttached) return 'Attached'
    if (item.kind === 'other') return 'OtherPool'
    const other = this.#input.otherPoolAt(text)
    // of two pools that name an address, one has created it, or else the older one gives it
    return other === 'holds' || (other === 'names' && !item.isMarked) ? 'OtherPool' : undefined
  }

  /** The creation with a marker of which it is not known what it has done. */
  openCreation(marker: string): OpenCreation | undefined {
    return this.#open.get(marker)
  }

  /** The address that a call with a marker has created, if the list does not show that yet. */
  createdFor(marker: string): string | undefined {
    for (const [text, object] of this.#created) if (object.marker === marker) return text
    return undefined
  }

  /** Whether the list shows all that the pool has, or calls since then tell it. */
  get isSettled(): boolean {
    const isOpen = this.#open.size + this.#created.size > 0 || [...this.#changed.values()].includes(undefined)
    return this.isFenced && !isOpen && this.released.size === 0
  }

  /** Whether the pool has no address, also no named one that it has created. */
  get isEmpty(): boolean {
    if (!this.isSettled || this.isFull(1)) return false
    return Array.from(this.facts.view.items).every(({ text }) => this.item(text)?.isMarked !== true)
  }

  /** The id of the creation of a spare address that has failed, or else the first that is free. */
  get spareId(): string {
    if (this.#failedSpare !== undefined) return this.#failedSpare
    let nth = 0
    while (this.#keys.has(`${this.facts.id}/${SPARE}-${nth}`)) nth++
    return `${SPARE}-${nth}`
  }

  /**
   * Why nothing can be created now for a marker. `undefined`: it can. Without a marker also a
   * refusal counts after which the creation is about to be tried again.
   */
  shortage(marker?: string): Shortage | undefined {
    const { policy, shortage } = this.facts
    const { max = Number.POSITIVE_INFINITY } = policy
    if (shortage !== undefined) return shortage
    const refused = this.#refused
    if (this.isFull(max)) {
      // a creation that was refused and is made again counts, and tells nothing new
      if (refused !== undefined && !this.isFull(max, 0)) return shortageOf('createAddress', refused.failure)
      return exhausted(`no free address: the pool has ${max} addresses, which is its limit`)
    }
    const isOpen = marker !== undefined && (refused?.isDue === true || refused?.marker === marker)
    return shortageOf('createAddress', (isOpen ? undefined : refused?.failure) ?? this.pause?.failure)
  }

  /**
   * Whether the pool has as many addresses as it may. Each counts once: those of IPAddress objects,
   * those that the pool has created, and those that calls may create. O(calls and releases since
   * the list); O(n) if plans that are in progress decide it.
   */
  isFull(max: number, open = this.#open.size): boolean {
    const { ledger } = this.#input
    const { created } = this.facts.view
    const others = [...this.released.keys(), ...this.#created.keys()].filter((text) => !created.has(text))
    const gone = [...this.#deleted].filter((text) => created.has(text) && !this.#created.has(text)).length
    const unheld = new Set(others.filter((text) => this.#counts(text) && !ledger.isOwn(text))).size
    const most = ledger.distinct + unheld + created.size - gone + open
    const pending = ledger.holdings.objects.pending ?? 0
    if (most < max || most - pending >= max) return most >= max
    // what a plan in progress gives is pending and created
    const both = [...created].filter((text) => this.#counts(text) && ledger.isOwn(text)).length
    return most - both >= max
  }

  #counts(text: string): boolean {
    return this.#created.has(text) || (isCreated(this.facts.view.get(text)) && !this.#deleted.has(text))
  }

  /**
   * The created addresses of one kind that no IPAddress has and that the list shows as they are.
   * O(those that are listed with another marker than spare, and calls since the list); spare ones
   * one by one, in order.
   */
  *idle(kind: Kind): Iterable<Item> {
    const { created, unspare } = this.facts.view
    for (const text of kind === 'spare' ? created : new Set([...unspare, ...this.#changedTexts()])) {
      const item = created.has(text) ? this.item(text) : undefined
      if (item?.kind === kind && item.isMarked && this.#isIdle(item)) yield item
    }
  }

  #changedTexts(): readonly string[] {
    return [...this.#changed.values()].flatMap((object) =>
      object === undefined || object === 'deleted' ? [] : (canonical(object.address) ?? []),
    )
  }

  marker(part: string): string {
    return markerText(this.facts.id, part)
  }
}

/** Whether a creation was refused for a reason that holds for each claim of the pool. */
function stopsAll({ reason, retryable }: ExternalFailure): boolean {
  return !retryable || reason === 'BackendExhausted' || reason === 'BackendDenied'
}

function isCreated(item: Item | undefined): item is Item {
  return item?.isMarked === true
}

function exhausted(message: string): Shortage {
  return { kind: 'max', reason: 'PoolExhausted', message }
}
