/**
 * VirtualMachine and VirtualMachineInstance of KubeVirt, as far as IPAM reads them: their networks
 * and interfaces.
 *
 * @module ipam-kit/crd/kubevirt
 */

export type { CrdModel, KubeObject } from '../meta/index.js'
export { isMigrationOf, MIGRATED_ANNOTATION, MIGRATION_LABEL, type MigrationPod, migrationStage } from './migration.js'
export { ADDRESSES_ANNOTATION, VM_POD_ANNOTATION } from './names.js'
export {
  VirtualMachine,
  VirtualMachineInstance,
  type VirtualMachineInstanceSpec,
  type VirtualMachineInstanceStatus,
  type VirtualMachineSpec,
  type VMInterface,
  type VMMultusNetwork,
  type VMNetwork,
} from './virtual-machine.js'
