import type { CallResult } from '../../plan/index.js'
import type { CloudAddress } from './cloud.js'
import { canonical } from './ledger.js'
import { isCloudAddress, isCloudNetwork, isRecord, shown } from './well-formed.js'

/** What was created, or why the answer of the cloud cannot be used. */
export type Created =
  | { readonly ok: true; readonly address: string; readonly object: CloudAddress }
  | { readonly ok: false; readonly problem: string }

/** Reads the answer to a call that creates an address of a network. */
export function readCreated(value: unknown, network: string): Created {
  const address = isCloudAddress(value) ? canonical(value.address) : undefined
  if (!isCloudAddress(value) || address === undefined) {
    return { ok: false, problem: `the cloud says that it has created ${shown(value)}, which is not an address` }
  }
  if (value.network !== network) {
    const problem = `the cloud has created ${address} in the network ${value.network.slice(0, 80)}, and not in ${network}`
    return { ok: false, problem }
  }
  return { ok: true, address, object: value }
}

/**
 * A result whose answer keeps the rules of `Cloud`: one that breaks them is a failure that says so,
 * of a call that may have done something.
 */
export function checkedResult(result: CallResult<unknown, unknown>): CallResult<unknown, unknown> {
  const { call, answer } = result
  const problem = problemOf(call, answer)
  if (problem === undefined) return result
  return { ...result, answer: { ok: false, failure: { message: problem, retryable: true } } }
}

function problemOf({ operation, input }: CallResult<unknown>['call'], answer: unknown): string | undefined {
  if (!isRecord(answer) || (answer.ok !== true && !isRecord(answer.failure))) {
    return `${operation} was answered with ${shown(answer)}, which is not a result`
  }
  if (answer.ok !== true) return undefined
  const { value } = answer
  switch (operation) {
    case 'findNetwork':
      return isCloudNetwork(value) ? undefined : `the cloud has answered ${shown(value)}, which is not a network`
    case 'listAddresses':
      return isRecord(value) && Array.isArray(value.addresses)
        ? undefined
        : `the cloud has answered ${shown(value)}, which is not a list of addresses`
    case 'createAddress': {
      const created = readCreated(value, (input as { readonly network: string }).network)
      return created.ok ? undefined : created.problem
    }
    default:
      return value === undefined ? `${operation} was answered without a value` : undefined
  }
}
