/**
 * Claims for the machines of an infrastructure provider: which claims a machine needs, what they
 * came to, and the network settings that follow from them.
 *
 * @module ipam-kit/provider/consumer
 */
export * from './address-source.js'
export { type Aggregate, aggregate } from './aggregate.js'
export { boundedName, MAX_NAME_LENGTH } from './claim-name.js'
export * from './cluster-pool.js'
export {
  type ClaimsForOptions,
  type ConsumerDevice,
  claimsFor,
  newClaim,
  type PoolRequest,
} from './desired.js'
export * from './device-config.js'
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
export * from './network-config.js'
export * from './plan.js'
export * from './reported-addresses.js'
export type {
  ClaimCounts,
  ClaimSummary,
  ConflictReason,
  DesiredClaim,
  Resolution,
  ResolvedClaim,
} from './resolution.js'
export { resolveClaim, resolveClaims } from './resolve.js'
export * from './table.js'
