/**
 * OpenStackFloatingIPPool of cluster-api-provider-openstack, and the fields of its server and
 * machine kinds that name a pool.
 *
 * @module ipam-kit/crd/openstack
 */

export type { Admission, Admit, CrdModel, KubeObject } from '../meta/index.js'
export {
  admitOpenStackFloatingIPPool,
  admitOpenStackMachine,
  admitOpenStackMachineTemplate,
  admitOpenStackServer,
  type ImmutabilityOptions,
  type OpenStackAdmissionRequest,
  type PoolRequest as OpenStackPoolAdmissionRequest,
} from './admission.js'
export {
  type NetworkFilter,
  type NetworkParameter,
  OpenStackFloatingIPPool,
  type OpenStackFloatingIPPoolSpec,
  type OpenStackFloatingIPPoolStatus,
} from './floating-ip-pool.js'
export {
  type FloatingIPSpec,
  OpenStackMachine,
  OpenStackMachineTemplate,
  OpenStackServer,
  type OpenStackServerStatus,
} from './machines.js'
export { ADOPT_BY_TAG_ANNOTATION, MIN_FREE_ANNOTATION, poolTag } from './names.js'
export { type FloatingIPPoolReference, type IdentityReference, isFloatingIPPoolReference } from './references.js'
