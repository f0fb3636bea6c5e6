import type { KubeObject, ObjectRef } from '../../../crd/meta/object.js'
import { IPPool } from '../../../crd/whereabouts/index.js'
import { check, type Kind } from '../../../errors/check.js'
import { type Change, type Effect, patchObject, type Step, type Task } from '../../../plan/index.js'
import { isPaused, UPGRADE_ANNOTATION } from '../../whereabouts/tasks/objects.js'
import { DEFAULT_NAMESPACE } from '../../whereabouts/tasks/request.js'

/** The pool of whereabouts that gives no more addresses. */
export interface PauseRequest {
  /** Its name. */
  readonly pool: string
  /** The namespace of the objects of whereabouts. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
}

const REQUEST: Kind = ['open', { pool: 'text', namespace: 'text?' }]

/** The end of `pausePool`. */
export type PauseOutcome =
  /** The `add` of this library gets no address of the pool. */
  | { readonly kind: 'paused'; readonly message: string; readonly version: string }
  | { readonly kind: 'noPool'; readonly message: string }

/**
 * The task that pauses a pool of whereabouts: it sets the annotation `ipam-kit.dev/upgrade`. From
 * then on an `add` of this library answers `poolNotReady`, also one that has begun: it writes its
 * row for the version of the pool. Releases continue.
 *
 * A plugin of upstream does not know the annotation. Remove it from all Nodes before.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function pausePool(request: PauseRequest): Task<PauseOutcome> {
  check<unknown>('pausePool', 'request', request, REQUEST)
  const { apiVersion, kind } = IPPool.info
  return new PauseTask({ apiVersion, kind, namespace: request.namespace || DEFAULT_NAMESPACE, name: request.pool })
}

class PauseTask implements Task<PauseOutcome> {
  readonly #ref: ObjectRef
  #object: KubeObject | null | undefined

  constructor(ref: ObjectRef) {
    this.#ref = ref
  }

  observe(change: Change): void {
    this.#object = change.kind === 'present' ? change.object : null
  }

  next(): Step<PauseOutcome> {
    const { name } = this.#ref
    if (this.#object === undefined) return { kind: 'get', refs: [this.#ref], why: 'whether it is paused' }
    if (this.#object === null) {
      return { kind: 'done', outcome: { kind: 'noPool', message: `there is no IPPool ${name} of whereabouts` } }
    }
    const { resourceVersion: version = '' } = this.#object.metadata
    if (isPaused(this.#object)) {
      return { kind: 'done', outcome: { kind: 'paused', message: `IPPool ${name} gives no addresses`, version } }
    }
    const effect = annotationPatch(this.#object, 'paused', 'no ADD gets an address during the upgrade')
    return { kind: 'write', plan: { outcome: { kind: 'writes', message: `pause ${name}` }, effects: [effect] } }
  }
}

/** Sets the annotation, or removes it, for the version of the pool. */
export function annotationPatch(object: KubeObject, value: string | null, why: string): Effect {
  return patchObject(object, { metadata: { annotations: { [UPGRADE_ANNOTATION]: value } } }, why)
}
