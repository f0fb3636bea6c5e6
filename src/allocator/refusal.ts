import * as Address from '../cidr/nouns/address.js'
import { check, type Kind } from '../errors/check.js'
import { refuseIn } from '../errors/refuse.js'
import type { AllocationOutcome, Owner } from './request.js'

const timeFault = (given: unknown) =>
  Number.isNaN(new Date(typeof given === 'number' ? given : Number.NaN).getTime())
    ? 'milliseconds since 1970'
    : undefined

const OUTCOME: Kind = [
  'by',
  'kind',
  {
    allocated: 'object',
    already: 'object',
    exhausted: ['open', { freeAtMs: ['is?', timeFault] as unknown as Kind }],
    taken: ['open', { address: 'object', by: ['open', { kind: 'text?', key: 'text?', uid: 'text' }] }],
    cooldown: ['open', { address: 'object', freeAtMs: timeFault }],
    outOfPool: ['open', { address: 'object' }],
    refused: ['open', { address: 'object' }],
  },
]

/**
 * The reason of a refused request as a sentence, for an event or a condition; `undefined` if it was
 * not refused. Names of owners are as in the requests.
 *
 * @example
 * const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/30']) })
 * explainRefusal(pool.allocate({ owner: { uid: 'a' }, want: { kind: 'address', address: Address.parse('10.0.0.9') } }))
 * // '10.0.0.9 is not in the pool'
 */
export function explainRefusal(outcome: AllocationOutcome): string | undefined {
  check<unknown>('explainRefusal', 'outcome', outcome, OUTCOME)
  switch (outcome.kind) {
    case 'allocated':
    case 'already':
      return undefined
    case 'exhausted':
      return outcome.freeAtMs === undefined
        ? 'no suitable address is free'
        : `no suitable address is free; the next cooldown ends at ${timeOf(outcome.freeAtMs)}`
    case 'taken':
      return `${Address.format(outcome.address)} is held by ${nameOf(outcome.by)}`
    case 'cooldown':
      return `${Address.format(outcome.address)} was released, and is kept from other owners until ${timeOf(outcome.freeAtMs)}`
    case 'outOfPool':
      return `${Address.format(outcome.address)} is ${WHERE[outcome.reason]}`
    case 'refused':
      return `${REASONS[outcome.reason]} ${Address.format(outcome.address)}`
    default:
      return refuseIn(
        'explainRefusal',
        'outcome.kind',
        'an outcome of AddressPool.allocate',
        (outcome as { kind: unknown }).kind,
      )
  }
}

const WHERE = {
  Outside: 'not in the pool',
  Reserved: 'not given out by the pool: excluded, reserved or the gateway',
} as const

const REASONS = {
  OwnerHoldsAnother: 'the owner holds another address:',
  Preallocated: 'another address is preallocated for the key:',
  PreallocatedForAnother: 'another key has the preallocated address',
} as const

function nameOf({ kind, key, uid }: Owner): string {
  const name = key ?? `the owner with the uid ${uid}`
  return kind === undefined ? name : `${kind} ${name}`
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
