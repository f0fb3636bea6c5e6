export type { ErrorCode, ErrorContexts, ErrorDefinition, RetryClass } from './codes.js'
export {
  conditionReasonOf,
  describe,
  type Failure,
  fail,
  failure,
  IpamError,
  ipamError,
  isIpamError,
  ok,
  type Result,
  retryClassOf,
  unwrap,
} from './failure.js'
export { quote } from './quote.js'
export { codes, type Registry, registry } from './registry.js'
