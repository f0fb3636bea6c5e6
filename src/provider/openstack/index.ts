/**
 * Floating IPs of OpenStack: pools over Neutron, servers that get a floating IP, and the pure
 * functions under them.
 *
 * @module ipam-kit/provider/openstack
 */
export { floatingServers } from './floating-servers.js'
export { getOrCreateFloatingIP } from './get-or-create.js'
export type { CloudIdentity } from './neutron/login.js'
export { neutron } from './neutron/neutron.js'
export type { SendRequest } from './neutron/request.js'
export type { FloatingServerOutcome } from './outcome.js'
export { floatingIPPools } from './pools.js'
export { portAddresses } from './port-addresses.js'
export { choosePort } from './port-choice.js'
export { serverCloudCaller } from './server-calls.js'
export type { FloatingIP, RouterLinks, ServerCloud } from './server-cloud.js'
