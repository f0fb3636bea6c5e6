import type { Random } from '../../allocator/index.js'
import * as Address from '../../cidr/nouns/address.js'
import type { AddressAndPrefix, Offer } from '../claims/definition.js'
import type { LedgerAnswer, PoolLedger } from './ledger.js'

/** The addresses that a claim prefers to the lowest free one. */
export interface Preferences {
  /** The address that is kept for the claim: this or nothing. */
  readonly preallocated?: string | undefined
  /** The address that the claim requests: this or nothing. */
  readonly requested?: string | undefined
  /** Former addresses: the first one that is free. */
  readonly former?: readonly AddressAndPrefix[] | undefined
  /** Choose a random free address, with equal probability. Left out: the lowest. */
  readonly random?: Random | undefined
}

/** The result of a choice. */
export type AddressChoice =
  | { readonly kind: 'offer'; readonly offer: Offer; readonly why: string }
  | { readonly kind: 'exhausted' }
  /** The claim cannot have the address that it requires, and gets no other one. */
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Chooses an address for a claim: the preallocated one, the requested one, a former one, or the
 * next one. A required address is given, or none. O(log n), with `random` as
 * {@link PoolLedger.next}.
 *
 * @param claim `namespace/name`
 * @param pool the pool in messages
 */
export function choose(
  ledger: PoolLedger,
  {
    claim,
    pool,
    preferences = {},
  }: { readonly claim: string; readonly pool: string; readonly preferences?: Preferences | undefined },
): AddressChoice {
  const { preallocated, requested, former = [], random } = preferences
  if (preallocated !== undefined && requested !== undefined && !isSame(preallocated, requested)) {
    const message = `${preallocated} is preallocated for the claim, and it requests ${requested}`
    return { kind: 'refused', message }
  }
  const strict = preallocated ?? requested
  if (strict !== undefined) {
    const what = preallocated === undefined ? 'requested' : 'preallocated'
    const answer = ledger.answerTo(strict, claim)
    if (answer.kind === 'free') return offered(answer.offer, `is what is ${what}`, pool)
    return { kind: 'refused', message: `the ${what} ${whyNot(strict, answer, pool)}` }
  }
  for (const place of former) {
    const offer = ledger.again(place, claim)
    if (offer !== undefined) return offered(offer, 'is what the claim had before', pool)
  }
  const offer = ledger.next({ random })
  if (offer === undefined) return { kind: 'exhausted' }
  return offered(offer, random === undefined ? 'is the lowest free address' : 'is a random free address', pool)
}

function offered(offer: Offer, why: string, pool: string): AddressChoice {
  return { kind: 'offer', offer, why: `${Address.format(offer.address)} ${why} in ${pool}` }
}

function whyNot(text: string, answer: Exclude<LedgerAnswer, { kind: 'free' }>, pool: string): string {
  switch (answer.kind) {
    case 'malformed':
      return `${JSON.stringify(text.slice(0, 64))} is not what ${pool} gives: no address, or no prefix of its length`
    case 'notOfPool':
      return `${text} is not one that ${pool} gives`
    case 'taken':
      return `${text} of ${pool} is ${answer.by}`
  }
}

/**
 * Whether two texts mean the same address, in any text form. A prefix is identified by its base
 * address.
 */
function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => Address.safeParse(text.split('/')[0]!))
  return a?.ok && b?.ok ? Address.equals(a.value, b.value) : left === right
}
