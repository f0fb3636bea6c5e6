export {
  admitOpenStackFloatingIPPool,
  admitOpenStackMachine,
  admitOpenStackMachineTemplate,
  admitOpenStackServer,
} from './admission.js'
export { OpenStackFloatingIPPool } from './floating-ip-pool.js'
export { OpenStackMachine, OpenStackMachineTemplate, OpenStackServer } from './machines.js'
export { ADOPT_BY_TAG_ANNOTATION, MIN_FREE_ANNOTATION, poolTag } from './names.js'
export { isFloatingIPPoolReference } from './references.js'
