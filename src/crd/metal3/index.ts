export { admitMetal3IPAddress, admitMetal3IPClaim, admitMetal3IPPool } from './admission.js'
export { IPAddress } from './ip-address.js'
export { IPClaim } from './ip-claim.js'
export { IPPool } from './ip-pool.js'
