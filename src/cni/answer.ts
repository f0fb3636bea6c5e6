import { check, isObject } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import { type CniError, cniErrorOf } from './error.js'
import { formatResult } from './format-result.js'
import type { CniJson } from './json.js'
import type { CniRequest } from './request.js'
import { assertResult, type CniResult } from './result.js'
import { type CniVersion, VERSION_CHOICES } from './versions.js'

/** What a plugin did. */
export type CniOutcome =
  /** ADD has allocated and configured everything. */
  | { readonly kind: 'added'; readonly result: CniResult }
  /** Any other command has succeeded. */
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: CniError }

/** What the program writes to stdout, and its exit code. */
export interface CniAnswer {
  /** One JSON text, or nothing for DEL, CHECK, GC and STATUS that have succeeded. */
  readonly stdout: string
  readonly exitCode: 0 | 1
}

/**
 * The answer to a request. Write it once, then end the process: a second text on stdout makes the
 * answer unreadable for the runtime.
 *
 * A result that the version cannot express becomes error 7, though the addresses are allocated:
 * call `checkCniFamilies` before. VERSION is answered by `done`. O(result).
 *
 * @param request `undefined` if the request could not be read; only `failed` fits to it
 * @throws IpamError `INVALID_ARGUMENT` for an outcome that does not fit to the command
 * @example
 * const error = { code: 11, msg: 'the API server does not answer' }
 * answerCni(undefined, { kind: 'failed', error }).exitCode // 1
 */
export function answerCni(request: CniRequest | undefined, outcome: CniOutcome): CniAnswer {
  assertRequest(request)
  check('answerCni', 'outcome', outcome, [
    'by',
    'kind',
    {
      added: { kind: ['one', { added: 1 }], result: 'object' },
      done: { kind: ['one', { done: 1 }] },
      failed: { kind: ['one', { failed: 1 }], error: { code: whyNotCode, msg: 'text', details: 'text?' } },
    },
  ])
  if (outcome.kind === 'failed') return failed(request?.cniVersion, outcome.error)
  if (request === undefined || (request.command === 'ADD') !== (outcome.kind === 'added')) {
    const expected = request === undefined ? 'failed' : request.command === 'ADD' ? 'added or failed' : 'done or failed'
    refuse('answerCni', 'outcome.kind', `${expected}, for this request`, outcome.kind)
  }
  if (request.command === 'VERSION') {
    const { cniVersion, supportedVersions } = request
    return succeeded(textOf({ cniVersion, supportedVersions }))
  }
  if (outcome.kind === 'done') return succeeded('')
  assertResult('answerCni', 'outcome.result', outcome.result)
  const json = formatResult(request.cniVersion, outcome.result)
  return json.ok ? succeeded(textOf(json.value)) : failed(request.cniVersion, cniErrorOf(json.failure))
}

function succeeded(stdout: string): CniAnswer {
  return { stdout, exitCode: 0 }
}

function failed(cniVersion: CniVersion | undefined, { code, msg, details }: CniError): CniAnswer {
  // JSON leaves out members that are undefined
  return { stdout: textOf({ cniVersion, code, msg, details: details || undefined }), exitCode: 1 }
}

function textOf(json: CniJson): string {
  return `${JSON.stringify(json)}\n`
}

function whyNotCode(given: unknown): string | undefined {
  return Number.isSafeInteger(given) && (given as number) > 0 ? undefined : 'a whole number from 1'
}

const COMMANDS: readonly unknown[] = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION']

function assertRequest(request: CniRequest | undefined): void {
  if (request === undefined) return
  const isRequest = isObject(request) && COMMANDS.includes(request.command)
  if (!isRequest) refuse('answerCni', 'request', 'a request of readCniRequest', request)
  check('answerCni', 'request.cniVersion', request.cniVersion, ['one', VERSION_CHOICES])
  if (request.command !== 'VERSION') return
  check('answerCni', 'request.supportedVersions', request.supportedVersions, ['list', ['one', VERSION_CHOICES]])
}
