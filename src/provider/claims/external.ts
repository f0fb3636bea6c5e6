import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import { type LastResult, retryAfter } from '../../plan/calls.js'
import type { ExternalFailure } from '../../plan/index.js'
import type { UnknownCalls } from './call-schemas.js'
import type { CallRequest, CallValues, ExternalOptions } from './definition.js'

/**
 * Annotation of an IPAddress from an external system: the marker under which the system stores it.
 */
export const MARKER_ANNOTATION = 'ipam-kit.dev/marker'

/** The last results of the calls for a claim, by operation and marker. */
export type ResultOf = (operation: string, key: string) => LastResult | undefined

/** A call to make, and its marker. */
export interface Asked {
  readonly kind: 'ask'
  readonly request: CallRequest<UnknownCalls>
  readonly key: string
}

/** The result of a verb that may call an external system. */
export type VerbResult<T> =
  | { readonly kind: 'settled'; readonly value: T; readonly hasAsked: boolean }
  | Asked
  | { readonly kind: 'failed'; readonly failure: ExternalFailure; readonly retryAfterSeconds: number | undefined }

/**
 * Calls a verb again with the result of each call that it makes, until it decides or makes a call
 * without a known result.
 *
 * @param key the marker of its calls
 * @throws IpamError `INVALID_ARGUMENT` for a verb that repeats a call whose answer it was given
 */
export function resolveCalls<T extends { readonly kind: string }>(
  key: string,
  verb: (results: CallValues<UnknownCalls>) => T,
  resultOf: ResultOf | undefined,
  nowMs: number,
): VerbResult<Exclude<T, CallRequest<UnknownCalls>>> {
  const results: { [operation: string]: unknown } = {}
  for (;;) {
    const result = verb(results)
    if (!isRequest(result)) {
      const value = result as Exclude<T, CallRequest<UnknownCalls>>
      return { kind: 'settled', value, hasAsked: Object.keys(results).length > 0 }
    }
    const { operation } = result
    if (Object.hasOwn(results, operation)) refuse('resolveCalls', 'verb', 'something that was not answered', operation)
    const last = resultOf?.(operation, key)
    if (last === undefined) return { kind: 'ask', request: result, key }
    if (!last.answer.ok) {
      const retryAfterSeconds = retryAfter(last, nowMs)
      if (retryAfterSeconds === 0) return { kind: 'ask', request: result, key }
      return { kind: 'failed', failure: last.answer.failure, retryAfterSeconds }
    }
    results[operation] = last.answer.value
  }
}

function isRequest(result: { readonly kind: string }): result is CallRequest<UnknownCalls> {
  return result.kind === 'call'
}

/**
 * The marker of a claim: the uids of pool and claim, because names are used again. An address that
 * was given under another marker, as before a move to another cluster, has it as an annotation.
 * `undefined` if the pool does not exist and no address tells. With the marker `claim` it is the
 * uid of the claim.
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
