/**
 * ServiceCIDR and IPAddress of `networking.k8s.io`, with the admission rules of both.
 *
 * @module ipam-kit/crd/networking
 */

export type { Admission, KubeObject, Model } from '../meta/index.js'
export { admitServiceCIDR, admitServiceIPAddress, type NetworkingAdmissionRequest } from './admission.js'
export { IPAddress, type IPAddressSpec, type ParentReference } from './ip-address.js'
export { ServiceCIDR, type ServiceCIDRSpec, type ServiceCIDRStatus } from './service-cidr.js'
