import { type Adapter, onlyFor } from '../answer.js'
import { capiMetal3, metal3Allocation } from './capi-metal3.js'
import { capiPoolStatus } from './capi-pool-status.js'
import { capiPoolutil } from './capi-poolutil.js'
import { nodeipamCidrset } from './nodeipam-cidrset.js'
import { nodeipamServiceIpallocator } from './nodeipam-service-ipallocator.js'
import { persistentAllocators } from './persistent-allocators.js'
import { securityCidr } from './security-cidr.js'
import { whereaboutsAllocate } from './whereabouts-allocate.js'
import { whereaboutsCalicoBlocks } from './whereabouts-calico-blocks.js'
import { whereaboutsIphelpers } from './whereabouts-iphelpers.js'
import { whereaboutsMetallbPools } from './whereabouts-metallb-pools.js'
import { whereaboutsOtherAllocators } from './whereabouts-other-allocators.js'

/** The adapters by the name of their case file, and what of it is built. A file that is not among them is not covered yet. */
export const adapters: Readonly<Record<string, Adapter>> = {
  'capi-metal3': onlyFor(metal3Allocation, capiMetal3),
  'capi-pool-status': capiPoolStatus,
  'capi-poolutil': capiPoolutil,
  'nodeipam-cidrset': nodeipamCidrset,
  'nodeipam-service-ipallocator': nodeipamServiceIpallocator,
  'persistent-allocators': persistentAllocators,
  'security-cidr': securityCidr,
  'whereabouts-allocate': whereaboutsAllocate,
  'whereabouts-calico-blocks': whereaboutsCalicoBlocks,
  'whereabouts-iphelpers': whereaboutsIphelpers,
  'whereabouts-metallb-pools': whereaboutsMetallbPools,
  'whereabouts-other-allocators': whereaboutsOtherAllocators,
}
