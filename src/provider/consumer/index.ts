/**
 * Claims for the machines of an infrastructure provider: which claims a machine needs, their
 * results, and the network settings that follow from them.
 *
 * @module ipam-kit/provider/consumer
 */

export type { ConditionUpdate } from '../../claim/index.js'
export type {
  IPAddress,
  IPAddressClaim,
  IPAddressClaimSpec,
  IPAddressClaimStatus,
  IPAddressSpec,
  IPPoolReference,
} from '../../crd/cluster-api/index.js'
export type { InClusterIPPool, InClusterIPPoolSpec, InClusterPoolStatus } from '../../crd/in-cluster/index.js'
export type { CrdModel, KubeObject } from '../../crd/meta/index.js'
export type { Plan } from '../../plan/index.js'
export {
  type AddressSources,
  type ProvisioningState,
  provisionedCondition,
  withNetworkConfiguration,
} from './address-source.js'
export type { Aggregate } from './aggregate.js'
export { boundedName } from './claim-name.js'
export { type ClusterPoolSpec, clusterPool, gatewayMetricOf } from './cluster-pool.js'
export { type ClaimsForOptions, type ConsumerDevice, claimsFor, type PoolRequest } from './desired.js'
export {
  type DeviceConfig,
  type DeviceConfigOptions,
  type DeviceProblem,
  type DeviceProblemCode,
  type DeviceSettings,
  type DeviceSpec,
  deviceConfig,
  type Route,
} from './device-config.js'
export type { ClaimPlace, Dialect, OwnerLabels } from './dialect.js'
export {
  capoServerOf,
  DEFAULT_GATEWAY_ANNOTATION,
  type DialectName,
  dialects,
  EARLIER_UID_ANNOTATION,
  type Naming,
  POOL_OFFSET_ANNOTATION,
  protectedBy,
} from './dialects.js'
export { type DnsServers, dnsServersOf, type Metal3PoolDns, type Metal3Range } from './dns-servers.js'
export { addressesOfPool, isExpectedPool, isSameOwner, type OwnerIdentity } from './identity.js'
export { type KernelDevice, kernelArgs } from './kernel-args.js'
export {
  type MachineChange,
  type MachineProblem,
  type MachineSpec as CheckedMachineSpec,
  machineProblems,
} from './machine-admission.js'
export {
  type DeviceAddresses,
  type MachineConfig,
  type MachineDevice,
  type MachineWaits,
  type MacProblem,
  machineAddresses,
  machineConfig,
  type SettingsByMac,
} from './machine-config.js'
export {
  type DeviceText,
  type DhcpOverrides,
  type Netplan,
  type NetplanDevice,
  type NetplanEthernet,
  netplan,
  networkConfig,
  type RouteText,
} from './network-config.js'
export {
  type ConsumerInput,
  type ConsumerOutcome,
  type PlanClaimsOptions,
  planClaims,
  type ReleaseOptions as ReleasePlanOptions,
  releasePlan,
} from './plan.js'
export { type FamilyAddresses, type ReportedAddresses, reportedAddresses } from './reported-addresses.js'
export type {
  ClaimCounts,
  ClaimOwner,
  ClaimSummary,
  ConflictReason,
  DesiredClaim,
  Resolution,
  ResolvedClaim,
} from './resolution.js'
export { resolveClaim, resolveClaims } from './resolve.js'
export { type ConsumerAction, type ConsumerEvent, type ConsumerRule, consumerRules } from './table.js'
