/**
 * The protocol between container runtimes and network plugins (CNI), for plugins that are written
 * in TypeScript: environment and stdin become a typed request, an outcome becomes the text for
 * stdout and the exit code. Versions 0.1.0 to 1.1.0.
 *
 * @module ipam-kit/cni
 */
export type { Result, RetryClass } from '../errors/index.js'
export { answerCni, type CniAnswer, type CniOutcome } from './answer.js'
export type { CniArgs, CniPod } from './args.js'
export type { CniConfig } from './config.js'
export type { CniCommand, CniEnvironment, CniInterfaceRef } from './environment.js'
export {
  CNI_ERRORS,
  type CniError,
  type CniErrorDefinition,
  type CniErrorOptions,
  cniErrorOf,
  retryOfCniError,
} from './error.js'
export { checkCniFamilies, formatCniResult } from './format-result.js'
export type { CniJson } from './json.js'
export { readCniResult } from './read-result.js'
export {
  type CniAddRequest,
  type CniCheckRequest,
  type CniDelRequest,
  type CniGcRequest,
  type CniInput,
  type CniRequest,
  type CniRequestError,
  type CniRequestOptions,
  type CniStatusRequest,
  type CniVersionRequest,
  MAX_CNI_STDIN_BYTES,
  readCniRequest,
} from './request.js'
export type { CniDns, CniInterface, CniIp, CniResult, CniRoute } from './result.js'
export { CNI_VERSIONS, type CniVersion } from './versions.js'
