import type { VirtualMachine, VirtualMachineInstance } from '../../../crd/kubevirt/index.js'
import { isDeleting, META } from '../../../crd/meta/object.js'
import { check, type Kind } from '../../../errors/check.js'

const OBJECTS = [
  'open',
  {
    machine: ['open?', { metadata: META as Kind }],
    instance: ['open?', { metadata: META as Kind, status: ['open?', { activePods: 'object?' }] }],
  },
] as const

/** A virtual machine and its instance, which have one name. Left out: it does not exist. */
export interface VMObjects {
  readonly machine?: VirtualMachine | undefined
  readonly instance?: VirtualMachineInstance | undefined
}

/**
 * What a virtual machine needs of its claims. `running`: its instance uses them. `stopped`: they
 * stay as they are. `ended`: they are released.
 */
export type VMPhase = 'running' | 'stopped' | 'ended'

/**
 * What a virtual machine needs of its claims, as upstream decides it.
 *
 * | VirtualMachine | VirtualMachineInstance | phase |
 * |---|---|---|
 * | exists | exists | `running` |
 * | exists | does not exist | `stopped` |
 * | is being deleted | exists | `running` |
 * | is being deleted | does not exist | `ended` |
 * | does not exist | exists | `running` |
 * | does not exist | is being deleted, with active Pods | `running` |
 * | does not exist | is being deleted, without active Pods | `ended` |
 * | does not exist | does not exist | `ended` |
 *
 * @example
 * vmPhase({}) // 'ended'
 */
export function vmPhase(objects: VMObjects): VMPhase {
  check<unknown>('vmPhase', 'objects', objects, OBJECTS)
  const { machine, instance } = objects
  if (instance === undefined) return machine === undefined || isDeleting(machine) ? 'ended' : 'stopped'
  if (machine !== undefined || !isDeleting(instance)) return 'running'
  return Object.keys(instance.status?.activePods ?? {}).length > 0 ? 'running' : 'ended'
}
