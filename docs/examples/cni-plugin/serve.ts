import type { Readable } from 'node:stream'
import {
  answerCni,
  type CniAnswer,
  type CniEnvironment,
  type CniOutcome,
  type CniRequest,
  type CniRequestOptions,
  cniErrorOf,
  readCniRequest,
} from 'ipam-kit/cni'
import { readStdin, type StdinLimits } from './stdin.js'

/** One call of a plugin. */
export interface PluginCall {
  readonly env: CniEnvironment
  readonly stdin: Readable
  readonly limits: StdinLimits
  readonly options?: CniRequestOptions
}

/** What a plugin does with a request. It can throw: the answer is then an error. */
export type Plugin = (request: CniRequest) => Promise<CniOutcome>

/**
 * Reads the request, runs the plugin, and makes the one answer. Never throws. A wrong environment
 * and VERSION are answered without waiting for stdin.
 */
export async function serve(plugin: Plugin, { env, stdin, limits, options }: PluginCall): Promise<CniAnswer> {
  let request: CniRequest | undefined
  try {
    const early = readCniRequest({ env, stdin: '' }, options)
    if (early.ok) return answerCni(early.value, { kind: 'done' })
    if (early.failure.code === 'INVALID_CNI_ENVIRONMENT') return failed(undefined, early.failure)
    const bytes = await readStdin(stdin, limits)
    if ('error' in bytes) return answerCni(undefined, { kind: 'failed', error: bytes.error })
    if (!bytes.ok) return failed(undefined, bytes.failure)
    const read = readCniRequest({ env, stdin: bytes.value }, options)
    if (!read.ok) return failed(undefined, read.failure)
    request = read.value
    return answerCni(request, await plugin(request))
  } catch (error) {
    return failed(request, error)
  }
}

function failed(request: CniRequest | undefined, failure: unknown): CniAnswer {
  return answerCni(request, { kind: 'failed', error: cniErrorOf(failure, { command: request?.command }) })
}
