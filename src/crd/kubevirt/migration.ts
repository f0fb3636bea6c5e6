import { check, type KindOf } from '../../errors/check.js'
import type { KubeObject } from '../meta/object.js'

/** Label of a Pod: the uid of the VirtualMachineInstance that it runs. */
const INSTANCE_UID_LABEL = 'kubevirt.io/created-by'
/** Label of a Pod: the live migration that it is the target of. It stays after the migration. */
export const MIGRATION_LABEL = 'kubevirt.io/migrationJobUID'
/** Annotation of a Pod: since when the virtual machine runs in the target of a live migration. */
export const MIGRATED_ANNOTATION = 'kubevirt.io/migration-target-ready-timestamp'

/** The metadata of a Pod that live migrations depend on. */
export interface MigrationPod {
  readonly metadata: Pick<KubeObject['metadata'], 'labels' | 'annotations'>
}

const POD: KindOf<MigrationPod> = ['open', { metadata: ['open', { labels: 'object?', annotations: 'object?' }] }]

/**
 * The part of a Pod in live migrations of its virtual machine. `none`: it is no target of one.
 * `target`: the machine still runs in the source. `migrated`: the machine runs in this Pod, also
 * after the migration has ended. KubeVirt marks both.
 *
 * @example
 * const labels = { 'kubevirt.io/migrationJobUID': 'm1' }
 * migrationStage({ metadata: { labels } }) // 'target'
 */
export function migrationStage(pod: MigrationPod): 'none' | 'target' | 'migrated' {
  check('migrationStage', 'pod', pod, POD)
  const { labels, annotations } = pod.metadata
  if (labels?.[MIGRATION_LABEL] === undefined) return 'none'
  return (annotations?.[MIGRATED_ANNOTATION] ?? '') === '' ? 'target' : 'migrated'
}

/**
 * Whether a Pod is, or was, the target of a live migration of the virtual machine of another Pod.
 *
 * @example
 * const labels = { 'kubevirt.io/created-by': 'vmi1' }
 * const target = { metadata: { labels: { ...labels, 'kubevirt.io/migrationJobUID': 'm1' } } }
 * isMigrationOf(target, { metadata: { labels } }) // true
 */
export function isMigrationOf(target: MigrationPod, source: MigrationPod): boolean {
  check('isMigrationOf', 'source', source, POD)
  const instance = source.metadata.labels?.[INSTANCE_UID_LABEL]
  const isSame = instance !== undefined && instance === target.metadata.labels?.[INSTANCE_UID_LABEL]
  return migrationStage(target) !== 'none' && isSame
}
