/**
 * The networks of whereabouts on blocks: `readBlockNetwork` reads the same configuration under the
 * IPAM type `ipam-kit`, and `poolsOf` makes its IPPools. The tasks `blockAdd`, `blockDel`,
 * `blockCheck`, `blockGc` and `blockStatus` carry out the commands of CNI. `blockNetworks` keeps
 * the IPPools of all NetworkAttachmentDefinitions. `planUpgrade`, `startUpgrade`, `copyRows`,
 * `verifyUpgrade`, `cutOver`, `rollBack` and `finishUpgrade` are for an upgrade from pools of
 * whereabouts. `dualAdd`, `dualDel`, `dualCheck`, `dualGc` and `dualStatus` carry out the commands
 * of CNI for networks of type `whereabouts` meanwhile.
 *
 * @module ipam-kit/provider/whereabouts-blocks
 */

export type { IPPool } from '../../crd/ipam-kit/index.js'
export type { Result } from '../../errors/index.js'
export type { Planner, Task } from '../../plan/index.js'
export type { KnownBlocks, Labels } from '../blocks/index.js'
export type {
  AddOptions,
  AddOutcome,
  Attachment,
  AttachmentRecord,
  CheckOutcome,
  CheckRequest,
  DelOutcome,
  GcRequest,
  InterfaceRequest,
  NetworkRequest,
  ReadConfigOptions,
  StatusOutcome,
  WhereaboutsConfig,
  WhereaboutsGcOutcome,
} from '../whereabouts/index.js'
export type { UpgradePhase } from '../whereabouts/tasks/objects.js'
export {
  BLOCK_IPAM_TYPE,
  type BlockNetwork,
  type ReadBlockNetworkOptions,
  readBlockNetwork,
} from './config/network.js'
export { type PoolsOfOptions, poolsOf } from './config/pools-of.js'
export { dualAdd } from './dual/add.js'
export { dualCheck } from './dual/check.js'
export { dualDel } from './dual/del.js'
export { dualGc } from './dual/gc.js'
export { dualStatus } from './dual/status.js'
export type {
  BlockNetworkEventReason,
  BlockNetworkOutcome,
  NetworkDefinitionOutcome,
  NetworkPoolOutcome,
} from './planner/outcome.js'
export { type BlockNetworksOptions, type BlockNetworksPlanner, blockNetworks } from './planner/planner.js'
export { blockAdd } from './tasks/add.js'
export { blockCheck } from './tasks/check.js'
export { blockDel } from './tasks/del.js'
export { blockGc } from './tasks/gc.js'
export type {
  BlockCheckRequest,
  BlockGcRequest,
  BlockInterfaceRequest,
  BlockNetworkRequest,
} from './tasks/request.js'
export { blockStatus } from './tasks/status.js'
export type { UpgradeDifference } from './upgrade/compare.js'
export { copyRows, verifyUpgrade } from './upgrade/copy-rows.js'
export { cutOver } from './upgrade/cut-over.js'
export { finishUpgrade } from './upgrade/finish-upgrade.js'
export type {
  DifferentRows,
  OtherWriter,
  PhaseOutcome,
  SameRows,
  UpgradeNotReady,
  UpgradeOutcome,
  WrongPhase,
} from './upgrade/outcome.js'
export { planUpgrade, type UpgradeInput } from './upgrade/plan-upgrade.js'
export type { UpgradeOddity, UpgradePlan, UpgradePool, UpgradeRow } from './upgrade/report.js'
export type { RollBackRequest, UpgradeRequest } from './upgrade/request.js'
export { rollBack } from './upgrade/roll-back.js'
export { startUpgrade } from './upgrade/start-upgrade.js'
