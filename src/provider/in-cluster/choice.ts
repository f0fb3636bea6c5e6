import type { Random } from '../../allocator/index.js'
import * as Address from '../../cidr/nouns/address.js'
import type { AddressAndPrefix, Offer } from '../claims/definition.js'
import type { LedgerAnswer, PoolLedger } from './ledger.js'

/** What a claim wants to have rather than the lowest free address. */
export interface Wishes {
  /** What is kept for the claim: this or nothing. */
  readonly preallocated?: string | undefined
  /** What the claim asks for: this or nothing. */
  readonly requested?: string | undefined
  /** What it had before: the first of these that is free. */
  readonly former?: readonly AddressAndPrefix[] | undefined
  /** One of the free ones, each as likely as any other. Left out: the lowest. */
  readonly random?: Random | undefined
}

/** What a claim gets from a pool. */
export type Choice =
  | { readonly kind: 'offer'; readonly offer: Offer; readonly why: string }
  | { readonly kind: 'exhausted' }
  /** The claim cannot have what it has to have, and gets nothing else instead. */
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Chooses for a claim: what is preallocated for it, what it requests, what it had before, or the
 * next one. What it has to have it gets, or nothing. O(log n), with `random` as
 * {@link PoolLedger.next}.
 *
 * @param claim `namespace/name`
 * @param pool how people know the pool
 */
export function choose(
  ledger: PoolLedger,
  { claim, pool, wishes = {} }: { readonly claim: string; readonly pool: string; readonly wishes?: Wishes | undefined },
): Choice {
  const { preallocated, requested, former = [], random } = wishes
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
  return offered(offer, random === undefined ? 'is the lowest that is free' : 'is drawn from what is free', pool)
}

function offered(offer: Offer, why: string, pool: string): Choice {
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
 * Whether two texts mean one address, whatever they look like. A prefix is told by its base
 * address.
 */
function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => Address.safeParse(text.split('/')[0]!))
  return a?.ok && b?.ok ? Address.equals(a.value, b.value) : left === right
}
