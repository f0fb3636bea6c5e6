import { formatRef, type KindInfo, type KubeObject, type ObjectRef } from 'ipam-kit/crd/meta'
import { describe } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import type { Store } from 'ipam-kit/store'

/** The kind of the objects that `kubectl describe` shows under an object. */
export const EVENT: KindInfo = {
  apiVersion: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  statusSubresource: false,
}

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

/** What the server takes, in characters. */
const MAX_MESSAGE = 1024
const MAX_NAME = 200

export interface EventRecorderOptions {
  readonly store: Store
  /** Names this program. */
  readonly component: string
  readonly now: () => number
  /** Something that is never said twice, of letters and digits. */
  readonly unique: () => string
  readonly log: (text: string) => void
}

/**
 * Keeps what a planner has to say about an object as Events of Kubernetes, beside the object.
 * Nothing waits for them.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  async record({ about, uid, type, reason, message }: EventEffect): Promise<void> {
    const { store, component, now, unique, log } = this.#options
    const at = new Date(now()).toISOString().replace(/\.\d+Z$/, 'Z')
    // those of objects that are in no namespace are in this one
    const namespace = about.namespace ?? 'default'
    // each part of a name between dots ends in a letter or a digit
    const start = about.name.slice(0, MAX_NAME).replace(/[-.]+$/, '')
    const event: KubeEvent = {
      apiVersion: EVENT.apiVersion,
      kind: EVENT.kind,
      metadata: { namespace, name: `${start}.${unique()}` },
      involvedObject: { ...about, uid },
      type,
      reason,
      message: message.slice(0, MAX_MESSAGE),
      source: { component },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    }
    const answer = await store.create(event)
    if (!answer.ok) log(`no event about ${formatRef(about)}: ${describe(answer.failure)}`)
  }
}
