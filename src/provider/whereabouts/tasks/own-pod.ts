import type { Assignment } from './assignment.js'
import type { TaskObjects } from './objects.js'
import { podRefOf, uidsOf } from './pods.js'
import { type InterfaceRequest, ownerOf } from './request.js'
import type { Stop } from './stop.js'

/**
 * Whether the Pod of an ADD still exists. It is read if the ADD is about to take a row over from
 * another container of the Pod name: that one may be of a later Pod.
 */
export class OwnPod {
  readonly #request: InterfaceRequest
  readonly #objects: TaskObjects
  /** The containers of the rows for which the Pod was read: a later one is of a later Pod. */
  readonly #containers = new Set<string>()

  constructor(request: InterfaceRequest, objects: TaskObjects) {
    this.#request = request
    this.#objects = objects
  }

  /** `undefined`: no row is taken over, the Pod exists, or the request does not say its uid. */
  goneStep(assignments: readonly Assignment[]): Stop | undefined {
    const { podUid } = this.#request
    const { podref, id } = ownerOf(this.#request)
    const ref = podRefOf(podref)
    const others = assignments.flatMap(({ row }) => (row?.podref === podref && row.id !== id ? [row.id] : []))
    if (!podUid || ref === undefined || others.length === 0) return undefined
    const unread = others.filter((other) => !this.#containers.has(other))
    if (unread.length > 0) this.#objects.forget(ref)
    for (const other of unread) this.#containers.add(other)
    const step = this.#objects.read([ref], 'whether the Pod still exists')
    if (step !== undefined) return { step }
    const pod = this.#objects.get(ref)
    if (pod && uidsOf(pod).includes(podUid)) return undefined
    const message = `Pod ${podref} with the uid ${podUid} does not exist any more`
    return { outcome: { kind: 'noPod', message } }
  }
}
