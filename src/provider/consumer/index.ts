/**
 * Claims for the machines of an infrastructure provider: which claims a machine needs, their
 * results, and the network settings that follow from them.
 *
 * @module ipam-kit/provider/consumer
 */
export { provisionedCondition, withNetworkConfiguration } from './address-source.js'
export { boundedName } from './claim-name.js'
export { clusterPool, gatewayMetricOf } from './cluster-pool.js'
export { type ConsumerDevice, claimsFor } from './desired.js'
export { type DeviceSettings, deviceConfig } from './device-config.js'
export type { Dialect } from './dialect.js'
export { capoServerOf, DEFAULT_GATEWAY_ANNOTATION, dialects, POOL_OFFSET_ANNOTATION, protectedBy } from './dialects.js'
export { dnsServersOf } from './dns-servers.js'
export { addressesOfPool, isExpectedPool, isSameOwner } from './identity.js'
export { kernelArgs } from './kernel-args.js'
export { machineProblems } from './machine-admission.js'
export { type MachineConfig, type MachineDevice, machineAddresses, machineConfig } from './machine-config.js'
export { netplan, networkConfig } from './network-config.js'
export { type ConsumerInput, type ConsumerOutcome, planClaims, releasePlan } from './plan.js'
export { reportedAddresses } from './reported-addresses.js'
export type { DesiredClaim, ResolvedClaim } from './resolution.js'
export { resolveClaim, resolveClaims } from './resolve.js'
export { consumerRules } from './table.js'
