import type { KubeObject } from '../../../crd/meta/object.js'
import { IPPool, readRows } from '../../../crd/whereabouts/index.js'
import { patchObject } from '../../../plan/index.js'
import { UPGRADE_ANNOTATION, type UpgradePhase, upgradePhase } from '../../whereabouts/tasks/objects.js'
import { type RowDifference, reportOf } from './compare.js'
import type { DifferentRows, PhaseOutcome, SameRows, UpgradeNotReady, WrongPhase } from './outcome.js'
import type { UpgradeOddity } from './report.js'

/** How a task ends. */
export interface Ended<O> {
  readonly kind: 'done'
  readonly outcome: O
}

/**
 * Annotation of a pool with a phase: which taking of the Lease its start had. Another taking means
 * that another writer may have had the Lease meanwhile.
 */
const LEASE_ANNOTATION = 'ipam-kit.dev/upgrade-lease'

/** Annotation of a pool with a phase: the version that `cutOver` has found and replaced. */
const FENCE_ANNOTATION = 'ipam-kit.dev/upgrade-fence'

/** Which taking of the Lease the start of the pool had. */
export function leaseMarkOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[LEASE_ANNOTATION]
}

/**
 * Gives the pool a phase, or removes its phase, for its version.
 *
 * @param mark which taking of the Lease it is. Left out: the one that the pool remembers
 */
export function phasePatch(
  object: KubeObject,
  phase: UpgradePhase | undefined,
  mark?: string,
): ReturnType<typeof patchObject> {
  const why = phase === undefined ? 'the upgrade of the pool has ended' : `the phase of the pool is ${phase}`
  const lease = phase === undefined ? null : mark
  const annotations = {
    [UPGRADE_ANNOTATION]: phase ?? null,
    ...(lease !== undefined && { [LEASE_ANNOTATION]: lease }),
    ...(phase === undefined && { [FENCE_ANNOTATION]: null }),
  }
  return patchObject(object, { metadata: { annotations } }, why)
}

/** Gives the pool another version: requests for earlier ones are refused. */
export function fencePatch(object: KubeObject): ReturnType<typeof patchObject> {
  const annotations = { [FENCE_ANNOTATION]: object.metadata.resourceVersion }
  return patchObject(object, { metadata: { annotations } }, 'a late request of a roll-back is refused')
}

/** The pool is in the phase that the task brings it to. */
export function inPhase(object: KubeObject): Ended<Extract<PhaseOutcome, { kind: 'phase' }>> {
  const { name, resourceVersion: version = '' } = object.metadata
  const phase = upgradePhase(object) as UpgradePhase | undefined
  const read = IPPool.safeParse(object)
  const rows = read.ok ? readRows(read.value).rows.length : 0
  const message = phase === undefined ? `IPPool ${name} has no phase` : `IPPool ${name} is in the phase ${phase}`
  return { kind: 'done', outcome: { kind: 'phase', message, phase, rows, version } }
}

export function wrongPhase(object: KubeObject, task: string): Ended<WrongPhase> {
  const phase = upgradePhase(object)
  const { name, annotations } = object.metadata
  const value = annotations?.[UPGRADE_ANNOTATION]
  const message =
    value === undefined
      ? `${task} needs a phase, and IPPool ${name} has none`
      : `${task} is not for the phase ${JSON.stringify(value)} of IPPool ${name}`
  return { kind: 'done', outcome: { kind: 'wrongPhase', message, ...(phase !== undefined && { phase }) } }
}

export function notReady(message: string, oddities: readonly UpgradeOddity[] = []): Ended<UpgradeNotReady> {
  return { kind: 'done', outcome: { kind: 'notReady', message, oddities } }
}

/** Whether both sides are the same at the version of the pool. */
export function statement(
  object: KubeObject,
  rows: readonly unknown[],
  differences: readonly RowDifference[],
): SameRows | DifferentRows {
  const { name, resourceVersion: version = '' } = object.metadata
  const phase = upgradePhase(object)
  const of = { rows: rows.length, version, ...(phase !== undefined && { phase }) }
  if (differences.length === 0) {
    return { kind: 'same', message: `IPPool ${name} and the blocks have the same ${rows.length} rows`, ...of }
  }
  const message = `IPPool ${name} and the blocks differ in ${differences.length} addresses`
  return { kind: 'different', message, ...of, differences: differences.map(reportOf) }
}
