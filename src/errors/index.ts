export type { ErrorCode, ErrorContexts, ErrorDefinition, RetryClass } from './codes.js'
export * from './failure.js'
export { quote } from './quote.js'
export { codes, type Registry, registry } from './registry.js'
