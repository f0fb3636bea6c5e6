/**
 * ServiceCIDR and IPAddress of `networking.k8s.io`, with the admission rules of both.
 *
 * @module ipam-kit/crd/networking
 */
export { admitServiceCIDR, admitServiceIPAddress } from './admission.js'
export { IPAddress } from './ip-address.js'
export { ServiceCIDR } from './service-cidr.js'
