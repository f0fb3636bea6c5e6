// A provider whose pools have addresses of their own in the IPAM product: some were there before,
// some the pool has created.
import { isDeepStrictEqual } from 'node:util'
import { Address } from 'ipam-kit/cidr'
import {
  type CloudFacts,
  type ExternalPoolKind,
  type ExternalPoolsDefinition,
  externalPools,
} from 'ipam-kit/provider/external'
import { FloatingPool } from './pool.js'

/**
 * A record has its marker from the call that creates it; the product chooses the address; its lists
 * can be searched for markers.
 */
export const FACTS: CloudFacts = { marker: 'atomic', choosesAddress: false, listsByMarker: true }

/** @param options `identity`: another one for each start of a process */
export const floating = (options: Pick<ExternalPoolsDefinition<FloatingPool>, 'identity' | 'callSeconds'>) =>
  externalPools({ name: 'floating', kind, facts: FACTS, ...options })

const kind: ExternalPoolKind<FloatingPool> = {
  model: FloatingPool,
  poolFinalizer: 'ipam.example.com/floating-pool',

  policyOf({ spec: { network, prefix, gateway, existing = [], spare: minFree = 0, max, reclaim = 'Delete' } }) {
    const wrong = existing.filter((text) => !Address.safeParse(text).ok)
    if (wrong.length > 0) return { ok: false, problems: wrong.map((text) => `spec.existing: no address: ${text}`) }
    const preallocated = existing.map((text) => Address.parse(text))
    return { ok: true, policy: { network, prefix, gateway, preallocated, minFree, max, reclaim } }
  },

  statusPatch({ status }, { claimed, available, failed, shortage, isKnown }) {
    const unusable = failed.map(({ address, reason }) => `${address}: ${reason}`)
    const lists = isKnown ? { available: [...available], unusable } : {}
    const wanted = { ...status, claimed: [...claimed], ...lists, problem: shortage?.message ?? '' }
    return isDeepStrictEqual(status, wanted) ? undefined : { status: wanted }
  },
}
