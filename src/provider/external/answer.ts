import { plain } from '../../errors/quote.js'
import type { CallResult, ExternalFailure } from '../../plan/index.js'
import { canonical } from './ledger.js'
import { isCloudAddress, isCloudNetwork, isRecord, valueText } from './well-formed.js'

/** Why the answer to a call that creates or marks an address cannot be used. */
function problemOfAddress(
  value: unknown,
  asked: { readonly network?: string; readonly marker: string },
): string | undefined {
  const address = isCloudAddress(value) ? canonical(value.address) : undefined
  if (!isCloudAddress(value) || address === undefined) {
    return `the cloud has answered ${valueText(value)}, which is not an address`
  }
  if (asked.network !== undefined && value.network !== asked.network) {
    return `the cloud has created ${address} in the network ${value.network.slice(0, 80)}, and not in ${asked.network}`
  }
  if (value.marker === asked.marker) return undefined
  return `the cloud has not kept the marker ${asked.marker} of ${address}: it has ${valueText(value.marker)}`
}

/** How much of the message of a failure is kept, in characters. */
const MAX_MESSAGE = 1000
/** A network that does not exist yet is looked up again after this time, in seconds. */
const NETWORK_SECONDS = 300
/** The longest wait that a cloud can impose on a call, in seconds. */
const MAX_WAIT_SECONDS = 3600

const REASONS: readonly unknown[] = [
  'PoolExhausted',
  'PoolNotReady',
  'AllocationFailed',
  'BackendExhausted',
  'BackendDenied',
] satisfies readonly ExternalFailure['reason'][]

/**
 * A result whose answer follows the rules of `Cloud`. Another answer becomes a failure of a call
 * that may have had an effect. Invalid members of a failure are dropped.
 */
export function checkedResult(result: CallResult<unknown, unknown>): CallResult<unknown, unknown> {
  const { call, answer } = result
  const problem = problemOf(call, answer)
  if (problem !== undefined) {
    return { ...result, answer: { ok: false, failure: { message: problem, retryable: true } } }
  }
  return answer.ok ? result : { ...result, answer: { ok: false, failure: checkedFailure(call, answer.failure) } }
}

function checkedFailure({ operation }: CallResult<unknown>['call'], failure: ExternalFailure): ExternalFailure {
  const { message, retryable, retryAfterSeconds: seconds, nothingDone, reason } = failure
  const checked: ExternalFailure = {
    message: plain(message, MAX_MESSAGE),
    retryable: retryable !== false,
    ...(typeof seconds === 'number' && seconds > 0 && { retryAfterSeconds: Math.min(seconds, MAX_WAIT_SECONDS) }),
    ...(nothingDone === true && { nothingDone }),
    ...(REASONS.includes(reason) && { reason }),
  }
  if (operation !== 'findNetwork' || checked.retryable) return checked
  // the creation of the network causes no event in the cluster
  return { ...checked, retryable: true, retryAfterSeconds: NETWORK_SECONDS }
}

function problemOf({ operation, input }: CallResult<unknown>['call'], answer: unknown): string | undefined {
  if (!isRecord(answer) || (answer.ok !== true && !isFailure(answer.failure))) {
    return `${operation} was answered with ${valueText(answer)}, which is not a result`
  }
  if (answer.ok !== true) return undefined
  const { value } = answer
  switch (operation) {
    case 'findNetwork':
      return isCloudNetwork(value) ? undefined : `the cloud has answered ${valueText(value)}, which is not a network`
    case 'listAddresses':
      return isRecord(value) && Array.isArray(value.addresses)
        ? undefined
        : `the cloud has answered ${valueText(value)}, which is not a list of addresses`
    case 'createAddress':
    case 'markAddress':
      return problemOfAddress(value, input as { readonly network?: string; readonly marker: string })
    default:
      return value === undefined ? `${operation} was answered without a value` : undefined
  }
}

function isFailure(failure: unknown): boolean {
  return isRecord(failure) && typeof failure.message === 'string'
}
