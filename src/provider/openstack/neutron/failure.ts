import * as z from 'zod'
import { plain } from '../../../errors/quote.js'
import type { ExternalFailure } from '../../../plan/index.js'
import { type CloudResponse, headerOf } from './request.js'

/** How much of a foreign text a message contains, in characters. */
const MAX_REPEATED = 200

/** Ends a call of the adapter with a failure. Never thrown out of the adapter. */
export class CallFailure extends Error {
  readonly failure: ExternalFailure

  constructor(failure: ExternalFailure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Ends a call with a failure. @throws CallFailure always */
export function failCall(message: string, rest: Omit<ExternalFailure, 'message'>): never {
  throw new CallFailure({ message, ...rest })
}

/** Removes secrets from a foreign text, plain, in JSON or URL form, and cuts it. */
export function foreignText(text: string, secrets: Iterable<string>): string {
  for (const secret of secrets) {
    if (secret === '') continue
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
      text = text.replaceAll(form, '[secret]')
    }
  }
  return plain(text.trim(), MAX_REPEATED)
}

/** An error in the answer of Neutron or Keystone. */
export interface AnsweredError {
  readonly status: number
  /** `OverQuota`; empty: it has none. */
  readonly type: string
  readonly message: string
}

const ERROR = z.union([
  z.looseObject({ NeutronError: z.looseObject({ type: z.string().catch(''), message: z.string() }) }),
  z.looseObject({ NeutronError: z.string() }),
  z.looseObject({ error: z.looseObject({ message: z.string() }) }),
])

/** The error in an answer. Not JSON: the beginning of its text. */
export function errorIn(response: CloudResponse, secrets: Iterable<string>): AnsweredError {
  const { status, text } = response
  const read = ERROR.safeParse(jsonOf(text))
  if (!read.success) return { status, type: '', message: foreignText(text, secrets) || 'an empty answer' }
  const { NeutronError: neutron, error } = read.data as {
    readonly NeutronError?: string | { readonly type: string; readonly message: string }
    readonly error?: { readonly message: string }
  }
  if (typeof neutron === 'object') {
    return { status, type: foreignText(neutron.type, secrets), message: foreignText(neutron.message, secrets) }
  }
  return { status, type: '', message: foreignText(neutron ?? error?.message ?? '', secrets) }
}

/** The value of a JSON text; `undefined` if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Whether the status means that the request had no effect. After a 408, or a status of a server or
 * of a proxy, that is not known.
 */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408
}

/** Errors of Neutron that mean that no floating IP is left, whatever the limit is. */
const EXHAUSTED: ReadonlySet<string> = new Set([
  'OverQuota',
  'IpAddressGenerationFailure',
  'ExternalIpAddressExhausted',
])

/**
 * The failure for an answer with an error, without `nothingDone`.
 *
 * @param what the purpose of the request: `create a floating IP`
 */
export function failureOf(what: string, error: AnsweredError, response: CloudResponse, nowMs: number): ExternalFailure {
  const { status, type, message } = error
  const retryAfterSeconds = retryAfterOf(response, nowMs)
  return {
    message: `cannot ${what}: ${[status, type].join(' ').trim()}: ${message}`,
    ...kindOf(error),
    ...((status === 429 || status === 503) && retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}

function kindOf({ status, type, message }: AnsweredError): Pick<ExternalFailure, 'retryable' | 'reason'> {
  const isQuota = (status === 403 || status === 409) && /quota/iu.test(`${type} ${message}`)
  if (EXHAUSTED.has(type) || isQuota) return { retryable: true, reason: 'BackendExhausted' }
  if (status === 401 || status === 403) return { retryable: true, reason: 'BackendDenied' }
  if (type === 'NetworkNotFound') return { retryable: true, reason: 'PoolNotReady' }
  // the same request is refused again until the pool changes
  return { retryable: status !== 400 }
}

/**
 * `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3), as whole seconds from 0 to one
 * hour.
 */
function retryAfterOf(response: CloudResponse, nowMs: number): number | undefined {
  const text = headerOf(response, 'retry-after')?.trim()
  if (text === undefined) return undefined
  const seconds = /^\d+$/u.test(text) ? Number(text) : Math.ceil((Date.parse(text) - nowMs) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), 3600)
}
