/**
 * Error codes with their contexts, and the two ways to report one: `IpamError`, which is thrown,
 * and `Result`, which is returned. Recognise an error by its `code`: `instanceof` fails between
 * two copies of the package.
 *
 * @module ipam-kit/errors
 */
export type {
  ErrorCode,
  ErrorContexts,
  ErrorDefinition,
  MalformedText,
  RetryClass,
} from './codes.js'
export {
  type Failure,
  IpamError,
  isIpamError,
  ok,
  type Result,
  type Unwrapped,
  unwrap,
} from './failure.js'
export { fail, type Registry, registry } from './registry.js'
