export {
  type AddressSources,
  lacksAddressSource,
  type ProvisioningState,
  provisionedCondition,
  withNetworkConfiguration,
} from './address-source.js'
export { type Aggregate, aggregate } from './aggregate.js'
export { boundedName, MAX_NAME_LENGTH } from './claim-name.js'
export {
  type ClusterPoolSpec,
  clusterPool,
  clusterPoolName,
  GATEWAY_METRIC_ANNOTATION,
  gatewayMetricOf,
  LEGACY_METRIC_ANNOTATION,
} from './cluster-pool.js'
export { type ClaimsForOptions, type ConsumerDevice, claimsFor, newClaim, type PoolRequest } from './desired.js'
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
  dialectOf,
  dialects,
  type Naming,
  POOL_OFFSET_ANNOTATION,
  protectedBy,
} from './dialects.js'
export { type DnsServers, dnsServersOf, type Metal3PoolDns, type Metal3Range } from './dns-servers.js'
export { addressesOfPool, isExpectedPool, isSameOwner, type OwnerIdentity } from './identity.js'
export { type KernelDevice, kernelArgs } from './kernel-args.js'
export { type MachineChange, type MachineProblem, type MachineSpec, machineProblems } from './machine-admission.js'
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
  type ReleaseOptions,
  releasePlan,
} from './plan.js'
export {
  DEFAULT_ENTRY,
  type FamilyAddresses,
  type ReportedAddresses,
  recoveredAddresses,
  reportedAddresses,
} from './reported-addresses.js'
export type {
  ClaimCounts,
  ClaimSummary,
  ConflictReason,
  DesiredClaim,
  Resolution,
  ResolvedClaim,
} from './resolution.js'
export { resolveClaim, resolveClaims } from './resolve.js'
export {
  actionOn,
  type ConsumerAction,
  type ConsumerEvent,
  type ConsumerRule,
  type ConsumerState,
  consumerRules,
  consumerStateOf,
} from './table.js'
