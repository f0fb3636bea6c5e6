export type { ErrorCode } from './codes.js'
export { describe, type Failure, fail, IpamError, isIpamError, ok, type Result, unwrap } from './failure.js'
export { registry } from './registry.js'
