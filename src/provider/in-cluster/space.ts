import type { LedgerSpec } from '../../allocator/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { type InClusterPool, isPrefixPool } from '../../crd/in-cluster/pools.js'
import { prefixOf, readAddressSpace, readPrefixSpace } from '../../crd/in-cluster/space.js'
import type { AddressAndPrefix } from '../claims/definition.js'

type Prefix = Prefix.Prefix

/** The space of a pool; `undefined` if it has none. `problems` says why, or what it has not. */
export interface ReadSpec {
  readonly spec: LedgerSpec | undefined
  readonly problems: readonly string[]
}

/**
 * The space that the right entries of a pool make. A pool of which it is unknown what it must not
 * give has none.
 */
export function ledgerSpecOf(pool: InClusterPool): ReadSpec {
  const { space, problems, isUnsafe } = isPrefixPool(pool) ? readPrefixSpace(pool.spec) : readAddressSpace(pool.spec)
  if (space === undefined || isUnsafe) return { spec: undefined, problems }
  return {
    spec: { space: space.available, length: 'childLength' in space ? space.childLength : undefined },
    problems,
  }
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
