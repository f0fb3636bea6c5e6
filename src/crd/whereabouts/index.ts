/**
 * IPPool, OverlappingRangeIPReservation and NodeSlicePool of whereabouts, with the names of its
 * objects and the keys of its rows.
 *
 * @module ipam-kit/crd/whereabouts
 */

export type { AddressValue, PrefixValue, Result } from '../../cidr/index.js'
export type { CrdModel, JsonObject, KubeObject, MergePatch } from '../meta/index.js'
export { type IPAllocation, IPPool, type IPPoolSpec } from './ip-pool.js'
export { WHEREABOUTS_GROUP } from './names.js'
export {
  type NodeSliceAllocation,
  NodeSlicePool,
  type NodeSlicePoolSpec,
  type NodeSlicePoolStatus,
} from './node-slice-pool.js'
export {
  leaseName,
  type NameResult,
  type NodeSliceNameParts,
  nodeSliceName,
  normalizeRange,
  type PoolNameParts,
  poolName,
  poolNamePrefix,
  type ReservationNameParts,
  type ReservationReading,
  readReservationName,
  reservationName,
  reservationReadings,
} from './object-names.js'
export { OverlappingRangeIPReservation, type OverlappingRangeIPReservationSpec } from './reservation.js'
export {
  isKeyOf,
  type PodName,
  type PoolRow,
  type PoolRows,
  type RowOddity,
  readPodref,
  readRows,
  rowKey,
  rowPatch,
} from './rows.js'
