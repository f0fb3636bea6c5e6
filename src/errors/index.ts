/**
 * Error codes with their contexts, and the two ways to report one: `IpamError`, which is thrown,
 * and `Result`, which is returned. Recognise an error by its `code`: `instanceof` fails between
 * two copies of the package.
 *
 * @module ipam-kit/errors
 */
export type { ErrorCode, ErrorContexts, ErrorDefinition, RetryClass } from './codes.js'
export * from './failure.js'
export { quote } from './quote.js'
export { codes, type Registry, registry } from './registry.js'
