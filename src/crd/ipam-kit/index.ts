export { admitIPDomain, admitIPPool, type IPDomainAdmissionRequest, type IPPoolAdmissionRequest } from './admission.js'
export { admitIPBlock, type IPBlockAdmissionRequest } from './block-admission.js'
export { blockName, parseBlockName } from './block-name.js'
export { type FamilyGrid, type FamilyGridWish, gridOf, gridProblem } from './grid.js'
export { admitIPHandle, type IPHandleAdmissionRequest } from './handle-admission.js'
export { IPBlock, type IPBlockRow, type IPBlockSpec } from './ip-block.js'
export { IPDomain, type IPDomainSpec, type IPDomainStatus } from './ip-domain.js'
export { handleName, IPHandle, type IPHandleSpec } from './ip-handle.js'
export * from './ip-pool.js'
export {
  API_VERSION,
  BLOCKS_FINALIZER,
  DEFAULT_BLOCK_SIZES,
  DEFAULT_DOMAIN,
  GROUP,
  MAX_BLOCK_SIZE,
  MAX_HANDLE_BLOCKS,
  MAX_HANDLE_INTERFACES,
  MAX_NAME_LENGTH,
  MAX_STATUS_RANGES,
  ROWS_FINALIZER,
} from './names.js'
export { type PoolGrids, type PoolSpace, type PoolSubnet, poolSpace, subnetOf } from './space.js'
