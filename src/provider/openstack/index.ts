/**
 * Floating IPs of OpenStack: pools over Neutron, servers that get a floating IP, and the pure
 * functions under them.
 *
 * @module ipam-kit/provider/openstack
 */
export {
  type FloatingServersOptions,
  type FloatingServersPlanner,
  floatingServers,
} from './floating-servers.js'
export * from './get-or-create.js'
export type { CloudIdentity } from './neutron/login.js'
export { type NeutronOptions, neutron } from './neutron/neutron.js'
export type { CloudRequest, CloudResponse, SendRequest } from './neutron/request.js'
export type { FloatingServerOutcome } from './outcome.js'
export { type FloatingIPPoolsOptions, floatingIPPoolKind, floatingIPPools } from './pools.js'
export * from './port-addresses.js'
export { type Attachment, attachment, choosePort, type PortChoice } from './port-choice.js'
export { isServerCall, type ServerOperation, serverCloudCaller } from './server-calls.js'
export type * from './server-cloud.js'
