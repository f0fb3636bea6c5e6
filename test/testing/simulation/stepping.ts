import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import type { Outcome, Step, Task } from 'ipam-kit/plan'

/** A task with other steps, which sees other objects. */
export function stepping<O extends Outcome>(
  task: Task<O>,
  change: (step: Step<O>) => Step<O>,
  seen: (object: KubeObject) => KubeObject | undefined = (object) => object,
): Task<O> {
  return {
    next: (time) => change(task.next(time)),
    observe: (change) => {
      const object = change.kind === 'present' ? seen(change.object) : undefined
      if (object !== undefined) task.observe({ kind: 'present', object })
      else if (change.kind === 'absent') task.observe(change)
      else task.observe({ kind: 'absent', ref: refOf(change.object), confirmed: true })
    },
    listed: (query) => task.listed?.(query),
    refused: (refusal) => task.refused?.(refusal) ?? false,
  }
}
