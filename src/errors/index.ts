export type { ErrorCode, ErrorContexts, ErrorDefinition, RetryClass } from './codes.js'
export {
  describe,
  type Failure,
  fail,
  failure,
  IpamError,
  ipamError,
  isIpamError,
  ok,
  type Result,
  unwrap,
} from './failure.js'
export { quote } from './quote.js'
export { codes, type Registry, registry } from './registry.js'
