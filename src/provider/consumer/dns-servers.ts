import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { POOL_REF } from '../../crd/cluster-api/kinds.js'
import { check } from '../../errors/check.js'

type Address = Address.Address

/** One entry of a pool of metal3. */
export interface Metal3Range {
  readonly start?: string | null | undefined
  readonly end?: string | null | undefined
  readonly subnet?: string | null | undefined
  readonly dnsServers?: readonly string[] | null | undefined
}

/** The fields of a metal3 pool about name servers. */
export interface Metal3PoolDns {
  readonly pools?: readonly Metal3Range[] | undefined
  readonly dnsServers?: readonly string[] | null | undefined
}

/**
 * The result of a lookup of name servers. `none`: the pool has none, or its kind has no such field.
 */
export type DnsServers =
  | { readonly kind: 'found'; readonly servers: readonly string[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly message: string }

/**
 * The name servers of an address from a metal3 pool: those of the entry that contains it, else
 * those of the pool. The IPAddress of Cluster API has no field for them. Unreadable entries are
 * skipped. A pool reference without group and kind means metal3. O(entries).
 *
 * Source: cluster-api-provider-metal3, baremetal/metal3data_manager.go.
 *
 * @example
 * const pool = { pools: [{ subnet: '10.0.0.0/24' }], dnsServers: ['10.0.0.53'] }
 * dnsServersOf({ apiGroup: 'ipam.metal3.io', kind: 'IPPool', name: 'p' }, '10.0.0.5', pool).servers // ['10.0.0.53']
 */
export function dnsServersOf(
  poolRef: { readonly apiGroup: string; readonly kind: string; readonly name: string },
  text: string,
  pool: Metal3PoolDns | undefined,
): DnsServers {
  check('dnsServersOf', 'poolRef', poolRef, POOL_REF)
  check('dnsServersOf', 'text', text, 'text')
  if (pool !== undefined) check('dnsServersOf', 'pool', pool, 'object')

  const isMetal3 = ['', 'ipam.metal3.io'].includes(poolRef.apiGroup) && ['', 'IPPool'].includes(poolRef.kind)
  if (!isMetal3) return { kind: 'none' }
  if (pool === undefined) return { kind: 'failed', message: `IPPool ${poolRef.name} not found` }
  const address = Address.safeParse(text)
  if (!address.ok) return { kind: 'failed', message: `not an IP address: ${JSON.stringify(text)}` }
  const entry = (pool.pools ?? []).find((range) => isWithin(range, address.value))
  if (entry === undefined) return { kind: 'failed', message: `${text} is in no entry of IPPool ${poolRef.name}` }
  const servers = [entry.dnsServers, pool.dnsServers].find(
    (list) => list !== undefined && list !== null && list.length > 0,
  )
  return servers ? { kind: 'found', servers } : { kind: 'none' }
}

/**
 * Whether an entry contains an address: its subnet if it has one, from its start up to its end. A
 * missing bound is open, so an entry without any contains every address.
 */
function isWithin({ start, end, subnet }: Metal3Range, address: Address): boolean {
  const [first, last] = [bound(start), bound(end)]
  const prefix = subnet ? Prefix.safeParse(subnet) : undefined
  if (first === null || last === null || prefix?.ok === false) return false
  return (
    (prefix === undefined || Prefix.contains(prefix.value, address)) &&
    (first === undefined || (first.family === address.family && Address.compare(first, address) <= 0)) &&
    (last === undefined || (last.family === address.family && Address.compare(address, last) <= 0))
  )
}

/** The address, `null` for an invalid text, or `undefined` for no text. */
function bound(text: string | null | undefined): Address | null | undefined {
  if (text === undefined || text === null || text === '') return undefined
  const address = Address.safeParse(text)
  return address.ok ? address.value : null
}
