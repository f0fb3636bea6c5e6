import type { KubeObject } from '../crd/meta/object.js'
import { type EventEffect, eventAbout } from './effect.js'
import type { Plan } from './plan.js'

/** Why an Event is sent. */
export interface EventCause<R extends string = string> {
  readonly reason: R
  readonly message: string
  /**
   * What the Event is sent for, once while it lasts. Without a count, and without a list or a name
   * of others: these change while the cause stays the same. Left out: the message.
   */
  readonly cause?: string | undefined
}

/**
 * The Events that were sent and are still true: one for each key, reason and cause. A cause that
 * has ended and returns is reported again.
 */
export class SentEvents<R extends string = string> {
  readonly #sent = new Map<string, Set<string>>()
  /** By the Event of a plan: notes what it is sent for. */
  readonly #planned = new WeakMap<EventEffect, () => void>()

  /**
   * The Events for those causes of an object that were not sent yet. All other causes of the key
   * have ended.
   *
   * @param open reasons that may still be true
   */
  newEvents(
    key: string,
    object: KubeObject,
    causes: readonly EventCause<R>[],
    open: readonly R[] = [],
  ): readonly EventEffect[] {
    const { uid } = object.metadata
    const now = new Map(causes.map((cause) => [idOf(uid, cause), cause]))
    this.#retain(key, open, now)
    const sent = this.#sent.get(key)
    return [...now].flatMap(([id, { reason, message }]) => {
      if (sent?.has(id) === true) return []
      const event = eventAbout(object, { type: 'Warning', reason, message })
      this.#planned.set(event, () => this.#note(key, id))
      return [event]
    })
  }

  /** Notes that the Events of a plan are sent. */
  sendAll({ effects }: Plan): void {
    for (const effect of effects) if (effect.kind === 'event') this.#planned.get(effect)?.()
  }

  /**
   * Notes that an Event about an object is sent.
   *
   * @returns whether its cause is new
   */
  note(key: string, uid: string | undefined, cause: EventCause<R>): boolean {
    return this.#note(key, idOf(uid, cause))
  }

  /** Forgets the Events about a key, except for those of some reasons. */
  forget(key: string, open: readonly R[] = []): void {
    this.#retain(key, open)
  }

  #note(key: string, id: string): boolean {
    const sent = this.#sent.get(key) ?? new Set<string>()
    const isNew = !sent.has(id)
    this.#sent.set(key, sent.add(id))
    return isNew
  }

  /** Forgets those of a key but for some reasons, and some ids. */
  #retain(key: string, open: readonly R[], now?: ReadonlyMap<string, unknown>): void {
    const sent = this.#sent.get(key)
    for (const id of sent ?? []) {
      if (now?.has(id) !== true && !open.some((reason) => id.startsWith(`${reason} `))) sent?.delete(id)
    }
    if (sent?.size === 0) this.#sent.delete(key)
  }
}

/** A cause that concerns this object, not an earlier one of its name. */
function idOf(uid: string | undefined, { reason, message, cause = message }: EventCause): string {
  return `${reason} ${uid} ${cause}`
}
