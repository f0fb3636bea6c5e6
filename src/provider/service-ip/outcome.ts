import type { Outcome } from '../../plan/index.js'
import type { ServiceRefusal } from './choose.js'

/** The outcome of a plan for a Service, an IPAddress or a ServiceCIDR. */
export interface ServiceIPOutcome extends Outcome {
  readonly kind:
    | 'ready' // nothing is to be done
    | 'assigned' // a Service is given its addresses
    | ServiceRefusal['kind'] // a Service gets none, or not the second one, and this is why
    | 'waiting' // something is missing, and may come within the grace period
    | 'repaired' // an IPAddress is created or deleted
    | 'problem' // people have to look at it; nothing is changed
    | 'foreign' // an IPAddress of another component
    | 'notReady' // a ServiceCIDR of which Services get no addresses
    | 'terminating' // an object that is being deleted
}
