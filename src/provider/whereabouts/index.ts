/**
 * The secondary networks of whereabouts: `readWhereaboutsConfig` reads the IPAM part of a CNI
 * configuration, and `chooseAddress` chooses the address of an interface. `whereaboutsNodeSlices`
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
export type { KubeObject } from '../../crd/meta/index.js'
export type { NodeSliceAllocation } from '../../crd/whereabouts/index.js'
export type { Result } from '../../errors/index.js'
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
  WhereaboutsRoute,
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
export {
  type WhereaboutsSweepOptions,
  type WhereaboutsSweepOutcome,
  whereaboutsSweep,
} from './sweep/index.js'
