import { type KindInfo, type KubeObject, type ObjectRef, REF } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { check, isObject, type KindOf } from '../../errors/check.js'
import { STORE_IO } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import { cut } from '../../errors/quote.js'
import { refuseIn, shown } from '../../errors/refuse.js'
import type { EventEffect } from '../../plan/index.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { EventBudget } from './event-budget.js'

/** The kind of the objects that `kubectl describe` shows under an object. */
export const EVENT: KindInfo = {
  apiVersion: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  statusSubresource: false,
}

export interface EventRecorderOptions {
  readonly store: Pick<Store, 'create' | 'patch'>
  /** The name of the program, as the source of its Events. */
  readonly component: string
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /** A unique text of letters, digits and `-`: it becomes a part of a name. */
  readonly uid: () => string
  /** Receives each Event that could not be written, for the log. */
  readonly onProblem: (failure: StoreFailure, about: ObjectRef) => void
}

const OPTIONS: KindOf<EventRecorderOptions> = {
  store: ['open', { create: 'function', patch: 'function' }],
  component: (name) => (typeof name === 'string' && name !== '' ? undefined : 'a text that is not empty'),
  now: 'function',
  uid: 'function',
  onProblem: 'function',
}

const EFFECT: KindOf<EventEffect> = [
  'open',
  { about: REF, uid: 'text?', type: ['one', { Normal: 1, Warning: 1 }], reason: 'text', message: 'text' },
]

/** An Event of the core API group, with the fields that are written here. */
interface KubeEvent extends KubeObject {
  readonly involvedObject: ObjectRef & { readonly uid: string | undefined }
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly source: { readonly component: string }
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly count: number
}

/** An event, and the Event object that counts it. */
interface Recorded {
  readonly key: string
  readonly object: string
  readonly event: EventEffect
  readonly firstMs: number
  lastMs: number
  count: number
  /** Left out: no object was created yet, or it was deleted. */
  ref: ObjectRef | undefined
  /** The count of the last write. */
  written: number
  /** Resolves when it waits for no write any more; left out: it does not wait for one. */
  waiting: Promise<void> | undefined
  end: () => void
}

/** The limit of an API server, in characters. */
const MAX_MESSAGE = 1024
const MAX_REASON = 128
const MAX_NAME = 200
/** The number of events that are distinguished. The least recently recorded are removed first. */
const MAX_RECORDED = 4096
/** How many events wait to be written, as in client-go, and how many are written at a time. */
const MAX_WAITING = 1000
const WRITERS = 4

/**
 * Writes the events of planners as Events of Kubernetes, so that `kubectl describe` shows them
 * under their object. Pass {@link record} as `onEvent` of a `Controller`.
 *
 * - An event with the same object, type, reason and message as an earlier one raises the count of
 *   its Event. Events that arrive during a write are counted by the next write.
 * - An object gets 25 writes of Events at once and one more every 5 minutes, as in client-go.
 *   Further events are counted by the next write of the same event, or dropped.
 * - Up to 4 Events are written at a time, and up to 1,000 wait for that. More are dropped, which is
 *   reported once until no Event waits.
 * - Up to 4,096 events and as many objects are remembered.
 * - It needs the permissions to create and to patch `events`.
 *
 * An Event is never the only record of anything. Nothing waits for it. An Event that could not be
 * written is reported to `onProblem` and not tried again. An exception of the store is reported as
 * `STORE_IO`.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #recorded = new Map<string, Recorded>()
  readonly #budget: EventBudget
  readonly #queue: Recorded[] = []
  #writing = 0
  /** Whether it was reported that events are dropped, since the last time that none waited. */
  #isDropping = false

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: EventRecorderOptions) {
    check('EventRecorder', 'options', options, OPTIONS)
    this.#options = options
    this.#budget = new EventBudget(MAX_RECORDED)
  }

  /**
   * Writes an event, or counts it. O(1).
   *
   * @returns resolves when it is written or dropped. Never rejects
   * @throws IpamError `INVALID_ARGUMENT`, at once
   */
  readonly record = (event: EventEffect): Promise<void> => {
    check('EventRecorder.record', 'event', event, EFFECT)
    try {
      return this.#count(event)
    } catch (error) {
      this.#tell(ioFailure(errorText(error)), event.about)
      return Promise.resolve()
    }
  }

  #count(event: EventEffect): Promise<void> {
    const nowMs = this.#nowMs()
    const { about, uid, type, reason, message } = event
    const object = JSON.stringify([about.apiVersion, about.kind, about.namespace, about.name, uid])
    const key = JSON.stringify([object, type, reason, message])
    const recorded = this.#recorded.get(key) ?? newRecord(key, object, event, nowMs)
    recorded.count++
    recorded.lastMs = nowMs
    const isWritten = recorded.waiting !== undefined || this.#enqueue(recorded, nowMs)
    if (isWritten || recorded.count > 1) this.#remember(recorded)
    this.#pump()
    return recorded.waiting ?? Promise.resolve()
  }

  /** @returns whether it is going to be written */
  #enqueue(recorded: Recorded, nowMs: number): boolean {
    // one that was being written has left its place to others: it may wait once more
    if (this.#queue.length >= MAX_WAITING && recorded.waiting === undefined) {
      if (!this.#isDropping) {
        this.#tell(ioFailure(`${MAX_WAITING} Events wait to be written: more are dropped`), recorded.event.about)
      }
      this.#isDropping = true
      return false
    }
    if (!this.#budget.take(recorded.object, nowMs)) return false
    recorded.waiting ??= new Promise((resolve) => {
      recorded.end = resolve
    })
    this.#queue.push(recorded)
    return true
  }

  /** The last recorded event is at the end. An event that waits for its write is not forgotten. */
  #remember(recorded: Recorded): void {
    this.#recorded.delete(recorded.key)
    this.#recorded.set(recorded.key, recorded)
    if (this.#recorded.size <= MAX_RECORDED) return
    for (const [key, { waiting }] of this.#recorded) {
      if (waiting === undefined) return void this.#recorded.delete(key)
    }
  }

  #pump(): void {
    while (this.#writing < WRITERS) {
      const recorded = this.#queue.shift()
      if (recorded === undefined) {
        this.#isDropping = false
        return
      }
      this.#writing++
      void this.#writeNext(recorded)
    }
  }

  async #writeNext(recorded: Recorded): Promise<void> {
    let isAgain = false
    try {
      const failure = await this.#write(recorded)
      if (failure === undefined) isAgain = recorded.written < recorded.count && this.#enqueue(recorded, this.#nowMs())
      else this.#failed(recorded, failure)
    } catch (error) {
      this.#failed(recorded, ioFailure(errorText(error)))
    }
    this.#writing--
    if (!isAgain) {
      recorded.waiting = undefined
      recorded.end()
    }
    this.#pump()
  }

  async #write(recorded: Recorded): Promise<StoreFailure | undefined> {
    const { store } = this.#options
    const { count, lastMs } = recorded
    if (recorded.ref !== undefined) {
      const failure = failureOf(await store.patch(recorded.ref, { count, lastTimestamp: timeText(lastMs) }))
      if (failure === undefined) recorded.written = count
      if (failure?.code !== 'STORE_NOT_FOUND') return failure
      // a server removes Events after a while, by default after an hour
      recorded.ref = undefined
    }
    const object = this.#eventOf(recorded)
    const failure = failureOf(await store.create(object))
    if (failure !== undefined) return failure
    const { namespace, name } = object.metadata
    recorded.ref = { apiVersion: EVENT.apiVersion, kind: EVENT.kind, namespace, name }
    recorded.written = count
    return undefined
  }

  #failed({ key, event }: Recorded, failure: StoreFailure): void {
    this.#recorded.delete(key)
    this.#tell(failure, event.about)
  }

  /** If the callback of the host throws, nothing is left to report it to. */
  #tell(failure: StoreFailure, about: ObjectRef): void {
    try {
      const told: unknown = this.#options.onProblem(failure, about)
      Promise.resolve(told).catch(() => {})
    } catch {}
  }

  /** @throws IpamError `INVALID_ARGUMENT` */
  #nowMs(): number {
    const nowMs = this.#options.now()
    if (Number.isNaN(new Date(nowMs).getTime())) refuseIn('EventRecorder', 'now()', 'milliseconds since 1970', nowMs)
    return nowMs
  }

  #eventOf({ event, firstMs, lastMs, count }: Recorded): KubeEvent {
    const { about, uid, type, reason, message } = event
    return {
      apiVersion: EVENT.apiVersion,
      kind: EVENT.kind,
      // Events about cluster-scoped objects are in this namespace
      metadata: { namespace: about.namespace ?? 'default', name: `${nameStart(about.name)}${this.#options.uid()}` },
      involvedObject: { ...about, uid },
      type,
      reason: cut(reason, MAX_REASON),
      message: cut(message, MAX_MESSAGE),
      source: { component: this.#options.component },
      firstTimestamp: timeText(firstMs),
      lastTimestamp: timeText(lastMs),
      count,
    }
  }
}

/** A time in the format of Kubernetes: to the second. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

function newRecord(key: string, object: string, event: EventEffect, nowMs: number): Recorded {
  const times = { firstMs: nowMs, lastMs: nowMs, count: 0, written: 0 }
  return { key, object, event, ...times, ref: undefined, waiting: undefined, end: () => {} }
}

/** Why a write has failed; an answer that is no result is a failure as well. */
function failureOf(answer: unknown): StoreFailure | undefined {
  const { ok, failure } = Object(answer) as { readonly [member: string]: unknown }
  if (ok === true) return undefined
  return ok === false && isObject(failure)
    ? (failure as StoreFailure)
    : ioFailure(`the store answered ${shown(answer)}`)
}

function ioFailure(problem: string): StoreFailure {
  return failure(STORE_IO, { operation: 'write of an Event', problem })
}

/**
 * The name of an object as the beginning of another name, which has letters, digits, `-` and `.`
 * only: each part between dots begins and ends with a letter or a digit.
 */
function nameStart(name: string): string {
  const parts = name
    .slice(0, MAX_NAME)
    .toLowerCase()
    .replace(/[^a-z0-9.]/g, '-')
    .split('.')
  const kept = parts.map((part) => part.replace(/^-+|-+$/g, '')).filter((part) => part !== '')
  return kept.map((part) => `${part}.`).join('')
}
