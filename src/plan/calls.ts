import { formatRef, REF } from '../crd/meta/object.js'
import { plainJson, sameJson } from '../crd/meta/patch.js'
import { check, type Kind } from '../errors/check.js'
import type { AnyCall, ExternalEffect } from './effect.js'
import type { AnyResult, ExternalResult } from './planner.js'

/** The last result of a call. */
export interface LastResult {
  readonly answer: ExternalResult<unknown>
  readonly atMs: number
  /** The number of consecutive failures. */
  readonly failures: number
  /** The number of the result among all of the table, in the order in which they arrived. */
  readonly order: number
}

/** A call, as far as it is known. Times are in milliseconds since 1970. */
export interface KnownCall {
  readonly call: AnyCall
  /** When it was last sent. `undefined`: it was not sent yet. */
  readonly sentAtMs: number | undefined
  /**
   * After this time no effect of it can come any more. `-Infinity`: each time that it was sent, its
   * outcome is known. `Infinity`: its effect does not say how long it may take.
   */
  readonly endsAtMs: number
  /** Its last result. `undefined`: it has none, or that was dropped. */
  readonly last: LastResult | undefined
  /** The value of its last success. */
  readonly value: CallValue | undefined
  /** How long after it was sent it can have an effect, in seconds. `Infinity`: not known. */
  readonly effectSeconds: number
}

/** A call of a group, as {@link Calls.inGroup} lists it. */
export interface GroupedCall extends KnownCall {
  /** Whether a plan in progress has it. */
  readonly isInFlight: boolean
}

/** The value of a call that has succeeded, and when it was sent and answered. */
export interface CallValue {
  readonly of: unknown
  readonly sentAtMs: number
  readonly atMs: number
  /** {@link LastResult.order}. */
  readonly order: number
}

interface Entry {
  /** Frozen. */
  known: KnownCall
  group: string
  /** `endsAtMs` before it was last sent. */
  endedAtMs: number
  /** What was dropped while it was in flight. */
  drops?: Drop | undefined
}

/**
 * The part of a call that {@link Calls.drop} removes from the table.
 *
 * - `failures`: the last result, if it is a failure. Use it when the external system may accept the
 *   call now.
 * - `results`: the last result and the value. Use it when the external system may answer
 *   differently now. The table still has the time at which the call was sent.
 * - `calls`: the call. Use it when its object is deleted. A call in flight is removed when its
 *   plans have ended.
 */
export type Drop = 'failures' | 'results' | 'calls'

const NEVER_SENT = {
  ...{ sentAtMs: undefined, last: undefined, value: undefined },
  endsAtMs: Number.NEGATIVE_INFINITY,
} as const
const CALL: Kind = ['open', { operation: 'text', key: 'text', about: REF as Kind }]
const RESULT: Kind = ['open', { call: CALL, answer: ['open', { ok: 'flag' }], atMs: 'number' }]
const FAILURE: Kind = ['open', { message: 'text' }]
const DROPS: readonly (Drop | undefined)[] = [undefined, 'failures', 'results', 'calls']

/**
 * The external calls of one planner. A call is registered in the turn in which its plan returns,
 * has the time at which it was sent, and its result when there is one. What was sent stays known
 * when the spec of its object changes.
 *
 * `definePlanner` registers calls, and notes when they are sent. The planner passes the results in.
 * Every method is O(1), or O(calls of the object).
 */
export class Calls {
  /** By the object of the call, then by operation and key. */
  readonly #known = new Map<string, Map<string, Entry>>()
  /** The number of plans in progress that have the call. */
  readonly #inFlight = new Map<Entry, number>()
  /** By group. */
  readonly #groups = new Map<string, Set<Entry>>()
  readonly #groupOf: (call: AnyCall) => string
  #results = 0

  /** @param groupOf names the group of a call when it is registered. Left out: its object */
  constructor(groupOf: (call: AnyCall) => string = ({ about }) => formatRef(about)) {
    check('Calls', 'groupOf', groupOf, 'function')
    this.#groupOf = groupOf
  }

  /** The calls of the plans in progress. */
  get inFlight(): readonly KnownCall[] {
    return Array.from(this.#inFlight.keys(), ({ known }) => known)
  }

  /**
   * The calls about an object, in the order in which they were last registered.
   *
   * @param about the object, as text: `formatRef` of `ipam-kit/crd/meta` writes it
   */
  of(about: string): readonly KnownCall[] {
    check('Calls.of', 'about', about, 'text')
    return Array.from(this.#known.get(about)?.values() ?? [], ({ known }) => known)
  }

  /** The calls of a group that were sent, or are in flight, in the order of {@link of}. */
  inGroup(group: string): readonly GroupedCall[] {
    check('Calls.inGroup', 'group', group, 'text')
    return Array.from(this.#groups.get(group) ?? [], (entry) => ({
      ...entry.known,
      isInFlight: this.#inFlight.has(entry),
    })).filter(({ sentAtMs, isInFlight }) => isInFlight || sentAtMs !== undefined)
  }

  get(about: string, operation: string, key: string): KnownCall | undefined {
    check('Calls.get', 'about', about, 'text')
    check('Calls.get', 'operation', operation, 'text')
    check('Calls.get', 'key', key, 'text')
    return this.#known.get(about)?.get(`${operation} ${key}`)?.known
  }

  /**
   * Registers the call of a plan that is about to be carried out. Two plans may have one call: it
   * is in flight until both have ended, and the table has the input of the later plan.
   *
   * @returns ends the call for this plan, with or without a result of it. A second call has no
   *   effect
   */
  begin(effect: Pick<ExternalEffect, 'call' | 'effectSeconds'>): () => void {
    check<unknown>('Calls.begin', 'effect', effect, ['open', { call: CALL, effectSeconds: 'number?' }])
    const { call, effectSeconds = Number.POSITIVE_INFINITY } = effect
    const before = this.#entryOf(call)
    const known = Object.freeze({ ...NEVER_SENT, ...before?.known, call, effectSeconds })
    const group = before?.group ?? this.#groupOf(call)
    const entry: Entry = Object.assign(before ?? {}, { endedAtMs: known.endsAtMs, known, group })
    const entries = this.#groups.get(group) ?? new Set()
    entries.delete(entry)
    this.#groups.set(group, entries.add(entry))
    // a call that is registered after a drop stays known
    if (entry.drops === 'calls') entry.drops = 'results'
    const about = formatRef(call.about)
    const others = this.#known.get(about) ?? new Map<string, Entry>()
    this.#known.set(about, others)
    others.delete(idOf(call))
    others.set(idOf(call), entry)
    this.#inFlight.set(entry, (this.#inFlight.get(entry) ?? 0) + 1)
    let isOver = false
    return () => {
      if (!isOver) this.#end(entry)
      isOver = true
    }
  }

  /** Notes that a call is sent now. */
  sent(call: AnyCall, nowMs: number): void {
    check<unknown>('Calls.sent', 'call', call, CALL)
    check('Calls.sent', 'nowMs', nowMs, 'number')
    const entry = this.#entryOf(call)
    if (entry === undefined) return
    const before = entry.known.endsAtMs
    const endsAtMs = Math.max(before, nowMs + entry.known.effectSeconds * 1000)
    // of two calls in flight, a result does not tell which of them it is for
    entry.endedAtMs = (this.#inFlight.get(entry) ?? 0) > 1 ? endsAtMs : before
    entry.known = Object.freeze({ ...entry.known, sentAtMs: nowMs, endsAtMs })
  }

  /** An entry that {@link clear} has removed is not that of a call that was registered since. */
  #end(entry: Entry): void {
    const plans = this.#inFlight.get(entry)
    if (plans === undefined) return
    if (plans > 1) return void this.#inFlight.set(entry, plans - 1)
    this.#inFlight.delete(entry)
    if (entry.drops === 'calls') this.#delete(entry.known.call)
    entry.drops = undefined
  }

  /**
   * Stores the result of a call that is in flight. Its input is the registered one: the same
   * object, or equal as JSON.
   *
   * @returns false: the result is dropped. The call is not in flight, it was registered with
   *   another input after that, or {@link drop} was called
   */
  answered(result: AnyResult): boolean {
    check<unknown>('Calls.answered', 'result', result, RESULT)
    const { call, answer, atMs } = result
    if (!answer.ok) check<unknown>('Calls.answered', 'result.answer.failure', answer.failure, FAILURE)
    const entry = this.#entryOf(call)
    if (entry === undefined || !this.#inFlight.has(entry)) return false
    const { known, drops } = entry
    if (!isSame(call.input, known.call.input)) return false
    const isKnown = answer.ok || answer.failure.nothingDone === true
    const endsAtMs = isKnown ? entry.endedAtMs : known.endsAtMs
    const isStale = drops !== undefined && (drops !== 'failures' || !answer.ok)
    const order = ++this.#results
    const failures = answer.ok ? 0 : (known.last?.failures ?? 0) + 1
    const last = isStale ? known.last : Object.freeze({ answer, atMs, failures, order })
    const { sentAtMs = atMs } = known
    const isValue = answer.ok && !isStale
    const value = isValue ? Object.freeze({ of: answer.value, sentAtMs, atMs, order }) : known.value
    entry.known = Object.freeze({ ...known, endsAtMs, last, value })
    return !isStale
  }

  /**
   * Drops results of the calls about an object, or the calls. For a call in flight it also drops
   * the results that arrive later.
   *
   * @param about the object, as in {@link of}
   * @param isMeant which calls. Left out: all
   */
  drop(about: string, what: Drop, isMeant: (known: KnownCall) => boolean = () => true): void {
    check('Calls.drop', 'about', about, 'text')
    check('Calls.drop', 'what', what, ['one', { failures: 1, results: 1, calls: 1 }])
    check('Calls.drop', 'isMeant', isMeant, 'function')
    for (const entry of this.#known.get(about)?.values() ?? []) {
      const { known } = entry
      if (!isMeant(known)) continue
      const value = what === 'failures' ? known.value : undefined
      const isKept = what === 'failures' && known.last?.answer.ok === true
      entry.known = Object.freeze({ ...known, last: isKept ? known.last : undefined, value })
      if (this.#inFlight.has(entry)) {
        if (DROPS.indexOf(what) > DROPS.indexOf(entry.drops)) entry.drops = what
      } else if (what === 'calls') this.#delete(known.call)
    }
  }

  clear(): void {
    this.#known.clear()
    this.#groups.clear()
    this.#inFlight.clear()
  }

  #entryOf(call: AnyCall): Entry | undefined {
    return this.#known.get(formatRef(call.about))?.get(idOf(call))
  }

  #delete(call: AnyCall): void {
    const about = formatRef(call.about)
    const known = this.#known.get(about)
    const entry = known?.get(idOf(call))
    if (known === undefined || entry === undefined) return
    known.delete(idOf(call))
    if (known.size === 0) this.#known.delete(about)
    const entries = this.#groups.get(entry.group)
    entries?.delete(entry)
    if (entries?.size === 0) this.#groups.delete(entry.group)
  }
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || sameJson(plainJson(left), plainJson(right))
}

function idOf({ operation, key }: AnyCall): string {
  return `${operation} ${key}`
}

/** The wait after the first failure, and the longest wait. */
const FIRST_WAIT_SECONDS = 5
const MAX_WAIT_SECONDS = 300

/**
 * How long to wait before a failed call is repeated, in whole seconds; `undefined`: until something
 * changes.
 */
export function retryAfter({ answer, atMs, failures }: LastResult, nowMs: number): number | undefined {
  if (answer.ok || !answer.failure.retryable) return undefined
  const { retryAfterSeconds } = answer.failure
  // the wait may be 0, or no number at all: calls without a pause must not happen
  const isTold = retryAfterSeconds !== undefined && retryAfterSeconds > 0
  const waitSeconds = isTold
    ? retryAfterSeconds
    : Math.min(FIRST_WAIT_SECONDS * 2 ** Math.min(failures - 1, 16), MAX_WAIT_SECONDS)
  return Math.max(0, Math.ceil((atMs + waitSeconds * 1000 - nowMs) / 1000))
}
