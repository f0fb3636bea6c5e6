export type { CloudIdentity } from './neutron/login.js'
export { type NeutronOptions, neutron } from './neutron/neutron.js'
export type { CloudRequest, CloudResponse, SendRequest } from './neutron/request.js'
export type * from './server-cloud.js'
