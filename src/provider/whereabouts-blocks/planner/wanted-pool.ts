import * as Address from '../../../cidr/nouns/address.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { poolSpace } from '../../../crd/ipam-kit/space.js'
import { ipPoolOfRange, type RangePool } from '../config/range-pool.js'
import type { NetworkDefinition } from './definition.js'

export type WantedPool =
  | { readonly kind: 'pool'; readonly pool: IPPool }
  | { readonly kind: 'problem'; readonly problem: string }

/**
 * The pool that all its definitions can use: it gives what each of them gives. What one of them
 * excludes is given to none, and so are the gateways and static addresses of all. Its gateway is
 * that of the oldest definition with one; the answer of an ADD has that of its own configuration.
 *
 * @param users at least one, the oldest first
 */
export function wantedPool(name: string, users: readonly NetworkDefinition[], isNamespaced: boolean): WantedPool {
  const pools: readonly RangePool[] = users.flatMap((user) => user.pools.filter((pool) => pool.name === name))
  const [first] = pools as readonly [RangePool]
  const gateway = pools.find((pool) => pool.gateway !== undefined)?.gateway
  const gateways = pools.flatMap((pool) => pool.gateway ?? [])
  const others = gateways.filter((one) => gateway !== undefined && !Address.equals(one, gateway))
  const union = (part: 'excludes' | 'statics') =>
    pools.map((pool) => pool[part]).reduce((left, right) => RangeSet.union(left, right))
  const prefix = RangeSet.fromPrefixes([first.prefix])
  const kept = RangeSet.intersect(RangeSet.union(union('statics'), RangeSet.fromAddresses(others)), prefix)
  const namespaces = [...new Set(users.map(({ object }) => object.metadata.namespace ?? ''))]
  const merged = { ...first, excludes: union('excludes'), statics: kept, gateway }
  const pool = ipPoolOfRange(merged, isNamespaced ? namespaces : undefined)
  const read = poolSpace(pool.spec)
  return read.ok ? { kind: 'pool', pool } : { kind: 'problem', problem: read.failure.message }
}

/** Whether a pool that serves both gives less than one of them alone would. */
export function isSame(left: RangePool, right: RangePool): boolean {
  const gateways = [left.gateway, right.gateway].map((gateway) =>
    gateway === undefined ? '' : Address.format(gateway),
  )
  return (
    RangeSet.equals(left.excludes, right.excludes) &&
    RangeSet.equals(left.statics, right.statics) &&
    gateways[0] === gateways[1]
  )
}
