/**
 * Floating IPs of OpenStack: pools over Neutron, servers that get a floating IP, and the pure
 * functions under them.
 *
 * @module ipam-kit/provider/openstack
 */

export type {
  Ledger,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
} from '../../allocator/index.js'
export type { PrefixValue, RangeSetValue } from '../../cidr/index.js'
export type { IPAddress, IPAddressSpec } from '../../crd/cluster-api/index.js'
export type { CrdModel, Json, KubeObject, ObjectMeta } from '../../crd/meta/index.js'
export type {
  OpenStackFloatingIPPool,
  OpenStackFloatingIPPoolSpec,
  OpenStackFloatingIPPoolStatus,
} from '../../crd/openstack/index.js'
export type { ExternalCall, ExternalResult } from '../../plan/index.js'
export type { AddressLedger, ClaimLedger, HeldFields, Provider } from '../claims/index.js'
export type { ResolvedClaim } from '../consumer/index.js'
export type {
  Cloud,
  CloudAddress,
  ExternalPolicy,
  ExternalPoolLedger,
  ExternalPoolOutcome,
  FailedAddress,
  PoolIdentity,
  Shortage,
} from '../external/index.js'
export { type FloatingServersOptions, type FloatingServersPlanner, floatingServers } from './floating-servers.js'
export { type FloatingIPStep, getOrCreateFloatingIP, type WantedFloatingIP } from './get-or-create.js'
export type { CloudIdentity } from './neutron/login.js'
export { type NeutronOptions, neutron } from './neutron/neutron.js'
export type { CloudRequest, CloudResponse, SendRequest } from './neutron/request.js'
export type { FloatingServerOutcome } from './outcome.js'
export { type FloatingIPPoolsOptions, floatingIPPools } from './pools.js'
export {
  type FixedIP,
  type PortAddresses,
  type PortAddressProblem,
  type PortFixedIPs,
  type PortSubnet,
  portAddresses,
} from './port-addresses.js'
export { choosePort, type PortChoice } from './port-choice.js'
export { serverCloudCaller } from './server-calls.js'
export type { FloatingIP, RouterLinks, ServerCloud, ServerNetwork, ServerPort } from './server-cloud.js'
