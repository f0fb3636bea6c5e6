import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import type { ExternalFailure, ExternalResult } from '../../plan/index.js'
import type { CallRequest, CallValues, ExternalOptions } from './definition.js'

/** Annotation of an IPAddress that an external system has given: the marker under which that system keeps it. */
export const MARKER_ANNOTATION = 'ipam-kit/marker'

/** What was last heard of a call. */
export interface LastResult {
  readonly answer: ExternalResult<unknown>
  readonly atMs: number
  /** How often it has failed in a row. */
  readonly failures: number
}

/** What was heard of the calls for a claim, by operation and marker. */
export type ResultOf = (operation: string, key: string) => LastResult | undefined

/** The wait after a first failure, and the longest. */
const FIRST_WAIT_SECONDS = 5
const MAX_WAIT_SECONDS = 300

/** A call that is to be made, and its marker. */
export interface Asked {
  readonly kind: 'ask'
  readonly request: CallRequest<unknown>
  readonly key: string
}

/** What came of a verb that may call an external system. */
export type VerbResult<T> =
  | { readonly kind: 'settled'; readonly value: T; readonly hasAsked: boolean }
  | { readonly kind: 'ask'; readonly request: CallRequest<unknown> }
  | { readonly kind: 'failed'; readonly failure: ExternalFailure; readonly retryAfterSeconds: number | undefined }

/**
 * Asks a verb, and again with each answer that was heard, until it has decided or wants to know something that was not answered.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a verb that asks for what it was just told
 */
export function resolveCalls<T extends { readonly kind: string }>(
  verb: (results: CallValues<unknown>) => T | CallRequest<unknown>,
  resultOf: (operation: string) => LastResult | undefined,
  nowMs: number,
): VerbResult<T> {
  const results: { [operation: string]: unknown } = {}
  for (;;) {
    const result = verb(results)
    if (!isRequest(result)) return { kind: 'settled', value: result, hasAsked: Object.keys(results).length > 0 }
    const { operation } = result
    if (Object.hasOwn(results, operation)) {
      const expected = 'something that was not answered'
      refuse('verb', expected, operation)
    }
    const last = resultOf(operation)
    if (last === undefined) return { kind: 'ask', request: result }
    if (!last.answer.ok) {
      const { failure } = last.answer
      const leftSeconds = failure.retryable ? secondsLeft(last, failure, nowMs) : undefined
      return leftSeconds === 0
        ? { kind: 'ask', request: result }
        : { kind: 'failed', failure, retryAfterSeconds: leftSeconds }
    }
    results[operation] = last.answer.value
  }
}

function isRequest(result: { readonly kind: string }): result is CallRequest<unknown> {
  return result.kind === 'call'
}

/** How long to wait before a call that has failed is tried again, in whole seconds. */
export function secondsLeft(
  { atMs, failures }: LastResult,
  { retryAfterSeconds }: ExternalFailure,
  nowMs: number,
): number {
  // a header that is no number, or 0: it must not be asked without a pause
  const isTold = retryAfterSeconds !== undefined && retryAfterSeconds > 0
  const waitSeconds = isTold
    ? retryAfterSeconds
    : Math.min(FIRST_WAIT_SECONDS * 2 ** Math.min(failures - 1, 16), MAX_WAIT_SECONDS)
  return Math.max(0, Math.ceil((atMs + waitSeconds * 1000 - nowMs) / 1000))
}

/**
 * The marker of a claim: uids of pool and claim, because names come again. That of an address that was given under another one, as before a move to
 * another cluster, is written on it. `undefined` where the pool is gone and no address tells. With the marker `claim` it is the uid of the claim.
 */
export function markerOf(
  external: ExternalOptions | undefined,
  claim: IPAddressClaim,
  { pool, address }: { readonly pool: KubeObject | undefined; readonly address?: IPAddress | undefined },
): string | undefined {
  if (external?.marker === 'claim') return claim.metadata.uid
  const written = address?.metadata.annotations?.[MARKER_ANNOTATION]
  if (written) return written
  return pool?.metadata.uid === undefined ? undefined : `${pool.metadata.uid}/${claim.metadata.uid}`
}
