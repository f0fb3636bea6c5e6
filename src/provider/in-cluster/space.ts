import type { LedgerSpec } from '../../allocator/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { type InClusterPool, isPrefixPool } from '../../crd/in-cluster/pools.js'
import { addressSpace, prefixOf, prefixSpace } from '../../crd/in-cluster/space.js'
import type { AddressAndPrefix } from '../claims/definition.js'

type Prefix = Prefix.Prefix

type SpecResult =
  | { readonly ok: true; readonly value: LedgerSpec }
  | { readonly ok: false; readonly problems: readonly string[] }

/** The space of a pool, or why it has none. */
export function ledgerSpecOf(pool: InClusterPool): SpecResult {
  const space = isPrefixPool(pool) ? prefixSpace(pool.spec) : addressSpace(pool.spec)
  if (!space.ok) return { ok: false, problems: space.failure.context.problems }
  const { value } = space
  return { ok: true, value: { space: value.available, length: 'childLength' in value ? value.childLength : undefined } }
}

/**
 * `10.0.0.16`, and of a pool of prefixes also `10.0.0.16/28`; `undefined` for a text that is not an
 * address, or not a prefix of that length.
 */
export function extentOfText(text: string, length: number | undefined): Prefix | undefined {
  const read = length !== undefined && text.includes('/') ? Prefix.safeParse(text) : Address.safeParse(text)
  if (!read.ok) return undefined
  const { value } = read
  const address = 'address' in value ? value.address : value
  const bits = Address.bitsOf(address.family)
  const prefix = Prefix.of(address, Math.min(length ?? bits, bits))
  if (length !== undefined && (length > bits || ('address' in value && value.length !== length))) return undefined
  return Prefix.masked(prefix) === prefix ? prefix : undefined
}

/**
 * The prefix that an object of a prefix pool holds. Without a usable length (missing, or 0, which
 * an older API makes of a missing one), at least the prefix of the pool around its address.
 */
export function heldPrefix(spec: AddressAndPrefix, childLength: number): Prefix | undefined {
  const prefix = prefixOf(spec)
  if (prefix !== undefined && prefix.length > 0) return prefix
  const address = Address.safeParse(spec.address, { zone: 'drop' })
  return address.ok && childLength <= Address.bitsOf(address.value.family)
    ? Prefix.masked(Prefix.of(address.value, childLength))
    : undefined
}
