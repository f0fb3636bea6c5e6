import type { KindInfo, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import { assertObject, assertParts } from '../../errors/checks.js'
import { refuse } from '../../errors/refuse.js'
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
  readonly event: EventEffect
  readonly firstMs: number
  lastMs: number
  count: number
  /** Left out: no object was created yet, or it was deleted. */
  ref: ObjectRef | undefined
  isWriting: boolean
  /** The count of the last write. */
  written: number
}

/** The limit of an API server, in characters. */
const MAX_MESSAGE = 1024
const MAX_NAME = 200
/** The number of events that are distinguished. The least recently recorded are removed first. */
const MAX_RECORDED = 4096

/**
 * Writes the events of planners as Events of Kubernetes, so that `kubectl describe` shows them
 * under their object. Pass {@link record} as `onEvent` of a `Controller`.
 *
 * - An event with the same object, type, reason and message as an earlier one raises the count of
 *   its Event. Events that arrive during a write are counted by the next write.
 * - An object gets 25 writes of Events at once and one more every 5 minutes, as in client-go.
 *   Further events are counted by the next write of the same event, or dropped.
 * - Up to 4,096 events and as many objects are remembered.
 * - It needs the permissions to create and to patch `events`.
 *
 * An Event is never the only record of anything. Nothing waits for it. An Event that could not be
 * written is reported to `onProblem` and not tried again.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #recorded = new Map<string, Recorded>()
  readonly #budget: EventBudget

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: EventRecorderOptions) {
    assertObject('EventRecorder', 'options', options)
    const { component, store } = options
    if (typeof component !== 'string' || component === '') refuse('component', 'a text that is not empty', component)
    if (typeof store?.create !== 'function') refuse('store', 'a store', store)
    for (const part of ['now', 'uid', 'onProblem'] as const) {
      if (typeof options[part] !== 'function') refuse(part, 'a function', typeof options[part])
    }
    this.#options = options
    this.#budget = new EventBudget(MAX_RECORDED)
  }

  /**
   * Writes an event, or counts it. O(1).
   *
   * @returns resolves when it is written or dropped
   */
  readonly record = async (event: EventEffect): Promise<void> => {
    assertParts('EventRecorder.record', 'event', event, {
      about: 'object',
      type: 'text',
      reason: 'text',
      message: 'text',
    })
    assertParts('EventRecorder.record', 'event.about', event.about, { kind: 'text', name: 'text' })
    const nowMs = this.#options.now()
    const { about, uid, type, reason, message } = event
    const object = JSON.stringify([about.apiVersion, about.kind, about.namespace, about.name, uid])
    const key = JSON.stringify([object, type, reason, message])
    const known = this.#recorded.get(key)
    const recorded: Recorded = known ?? {
      event,
      firstMs: nowMs,
      lastMs: nowMs,
      count: 0,
      ref: undefined,
      isWriting: false,
      written: 0,
    }
    recorded.count++
    recorded.lastMs = nowMs
    const mayWrite = recorded.isWriting || this.#budget.take(object, nowMs)
    if (known === undefined && !mayWrite) return
    // those that were recorded last are at the end
    this.#recorded.delete(key)
    this.#recorded.set(key, recorded)
    const [oldest] = this.#recorded.keys()
    if (this.#recorded.size > MAX_RECORDED && oldest !== undefined) this.#recorded.delete(oldest)
    if (!mayWrite || recorded.isWriting) return
    recorded.isWriting = true
    try {
      do {
        if (!(await this.#write(key, recorded))) return
      } while (recorded.written < recorded.count && this.#budget.take(object, this.#options.now()))
    } finally {
      recorded.isWriting = false
    }
  }

  /** @returns whether it was written */
  async #write(key: string, recorded: Recorded): Promise<boolean> {
    const { store, onProblem } = this.#options
    const { count, lastMs } = recorded
    if (recorded.ref !== undefined) {
      const patched = await store.patch(recorded.ref, { count, lastTimestamp: timeText(lastMs) })
      if (patched.ok) {
        recorded.written = count
        return true
      }
      if (patched.failure.code !== 'STORE_NOT_FOUND') return this.#failed(key, recorded, patched.failure, onProblem)
      // a server deletes Events after a while, by default after an hour
      recorded.ref = undefined
    }
    const object = this.#eventOf(recorded)
    const created = await store.create(object)
    if (!created.ok) return this.#failed(key, recorded, created.failure, onProblem)
    const { namespace, name } = object.metadata
    recorded.ref = { apiVersion: EVENT.apiVersion, kind: EVENT.kind, namespace, name }
    recorded.written = count
    return true
  }

  #failed(key: string, recorded: Recorded, failure: StoreFailure, onProblem: EventRecorderOptions['onProblem']): false {
    this.#recorded.delete(key)
    onProblem(failure, recorded.event.about)
    return false
  }

  #eventOf({ event, firstMs, lastMs, count }: Recorded): KubeEvent {
    const { about, uid, type, reason, message } = event
    // each part of a name between dots ends in a letter or a digit
    const start = about.name.slice(0, MAX_NAME).replace(/[-.]+$/, '')
    return {
      apiVersion: EVENT.apiVersion,
      kind: EVENT.kind,
      // Events about cluster-scoped objects are in this namespace
      metadata: { namespace: about.namespace ?? 'default', name: `${start}.${this.#options.uid()}` },
      involvedObject: { ...about, uid },
      type,
      reason,
      message: message.slice(0, MAX_MESSAGE),
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
