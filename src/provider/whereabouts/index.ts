/**
 * The secondary networks of whereabouts: `readWhereaboutsConfig` reads the IPAM part of a CNI
 * configuration. The tasks `add`, `del`, `check`, `gc` and `status` carry out the commands of CNI
 * on the objects of whereabouts, and `cniOutcome` makes the answers. `whereaboutsNodeSlices`
 * divides ranges among Nodes, and `whereaboutsSweep` frees addresses that no Pod has.
 *
 * @module ipam-kit/provider/whereabouts
 */

export type {
  Address4,
  Address6,
  AddressValue,
  PrefixValue,
  RangeSetValue,
  RangeValue,
} from '../../cidr/index.js'
export type { CniDns, CniError, CniIp, CniOutcome, CniResult, CniRoute } from '../../cni/index.js'
export type { JsonObject, KubeObject } from '../../crd/meta/index.js'
export type { NodeSliceAllocation, PoolRow } from '../../crd/whereabouts/index.js'
export type { Failure, Result } from '../../errors/index.js'
export type { Planner, Step, Task } from '../../plan/index.js'
export { type AddressChoice, type ChooseOptions, chooseAddress } from './choose/choose-address.js'
export { type RowOwner, rowsToRelease, rowsToReuse, type Stickiness } from './choose/owner.js'
export { allocatableRange, type Excluded, excludedAddresses, type RangeSpace, rangeSpace } from './choose/space.js'
export { type ReadConfigOptions, readWhereaboutsConfig } from './config/config.js'
export { parseNodeSliceSize } from './config/node-slice-size.js'
export type {
  AskedAddress,
  ConfigIssue,
  ConfiguredClaim,
  StaticAddress,
  WhereaboutsConfig,
  WhereaboutsRange,
} from './config/types.js'
export { type AssignedSlices, assignSlices, type SliceInput, type SliceRows } from './slices/assign.js'
export type { NodeSliceState, NodeSliceWatches, RowFacts, SliceNode, SlicePoolFacts } from './slices/context.js'
export type { DefinitionFacts, IgnoredDefinition, InvalidDefinition, SlicedDefinition } from './slices/definition.js'
export { type Division, MOST_SLICES, readSliceSize, slicesOf } from './slices/divide.js'
export type {
  DefinitionOutcome,
  NodeSliceEventReason,
  NodeSliceOutcome,
  SlicePoolOutcome,
} from './slices/outcome.js'
export { type NodeSliceOptions, type NodeSlicePlanner, whereaboutsNodeSlices } from './slices/planner.js'
export { type WhereaboutsSweepOptions, whereaboutsSweep } from './sweep/planner.js'
export type { WhereaboutsSweepOutcome } from './sweep/sweep.js'
export { type AddOptions, add } from './tasks/add.js'
export { check } from './tasks/check.js'
export {
  type CniOutcomeOptions,
  cniOutcome,
  type WhereaboutsCommand,
  type WhereaboutsResult,
} from './tasks/cni-outcome.js'
export { del } from './tasks/del.js'
export { gc } from './tasks/gc.js'
export { CLAIM_UID_ANNOTATION, type RowClaim, readRowClaim } from './tasks/holder.js'
export type {
  AddedAddress,
  AddOutcome,
  CheckOutcome,
  DelOutcome,
  StatusOutcome,
  WhereaboutsGcOutcome,
} from './tasks/outcome.js'
export type {
  Attachment,
  AttachmentRecord,
  CheckRequest,
  GcRequest,
  InterfaceRequest,
  NetworkRequest,
} from './tasks/request.js'
export { status } from './tasks/status.js'
