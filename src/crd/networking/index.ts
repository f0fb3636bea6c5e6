/**
 * ServiceCIDR and IPAddress of `networking.k8s.io`, with the admission rules of both.
 *
 * @module ipam-kit/crd/networking
 */
export { admitIPAddress, admitServiceCIDR, type NetworkingAdmissionRequest, serviceCIDRErrors } from './admission.js'
export { IPAddress, type IPAddressSpec, type ParentReference } from './ip-address.js'
export {
  API_VERSION,
  GROUP,
  IP_FAMILY_LABEL,
  MANAGED_BY_LABEL,
  READY,
  SERVICE_ALLOCATOR,
  SERVICE_CIDR_FINALIZER,
  TERMINATING,
  V1BETA1,
} from './names.js'
export { ServiceCIDR, type ServiceCIDRSpec, type ServiceCIDRStatus } from './service-cidr.js'
