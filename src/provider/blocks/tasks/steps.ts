import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import type { Effect, Step, TaskTime } from '../../../plan/index.js'
import type { TaskQuery } from '../../../plan/task.js'

/** The reference to a pool. */
export function poolRef(name: string): ObjectRef {
  return { apiVersion: IPPool.info.apiVersion, kind: IPPool.info.kind, name }
}

export function blockRef(name: string): ObjectRef {
  return { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name }
}

/** A step that waits while another task of this process writes a block; `undefined`: none does. */
export function lockStep(block: string, { isLocked }: TaskTime): Extract<Step, { kind: 'lock' }> | undefined {
  const ref = blockRef(block)
  return isLocked?.(ref) === true ? { kind: 'lock', ref, why: 'another task writes it' } : undefined
}

/** A step that lists the blocks with these values in selectable fields. */
export function listStep(fields: TaskQuery['fields'], why: string): Extract<Step, { kind: 'list' }> {
  const { apiVersion, kind } = IPBlock.info
  return { kind: 'list', query: { apiVersion, kind, fields }, why }
}

/** A step with one write. */
export function writeStep(effect: Effect & { readonly why: string }): Extract<Step, { kind: 'write' }> {
  return { kind: 'write', plan: { outcome: { kind: 'writes', message: effect.why }, effects: [effect] } }
}
