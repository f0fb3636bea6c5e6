export { admitServiceCIDR, admitServiceIPAddress } from './admission.js'
export { IPAddress } from './ip-address.js'
export { ServiceCIDR } from './service-cidr.js'
