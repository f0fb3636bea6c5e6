import assert from 'node:assert/strict'
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'

/** What owners have, by the rows of all blocks: the addresses of each, one of each family. */
export type Given = ReadonlyMap<string, readonly string[]>

/** Reads all rows. No address may be there twice, and no owner may have two of one family. */
export async function given(store: Store): Promise<Given> {
  const owners = new Map<string, string>()
  const addresses = new Map<string, string[]>()
  for (const { metadata, spec } of await blocks(store)) {
    const prefix = Prefix.parse(spec.cidr)
    for (const [unit, row] of Object.entries(spec.rows)) {
      assert.equal(row.state ?? row.count, undefined, `${metadata.name} ${unit}`)
      const address = Address.add(Prefix.first(prefix), Number(unit))
      assert(Prefix.contains(prefix, address), `${metadata.name} ${unit}`)
      const text = Address.format(address)
      assert.equal(owners.get(text), undefined, `${text} is given twice, also to ${row.uid}`)
      owners.set(text, row.uid)
      const own = addresses.get(row.uid) ?? []
      assert(!own.some((other) => isV6(other) === isV6(text)), `${row.uid} has ${own} and ${text}`)
      addresses.set(row.uid, [...own, text].sort())
    }
  }
  return addresses
}

export async function blocks(store: Store): Promise<readonly IPBlock[]> {
  const { apiVersion, kind } = IPBlock.info
  return unwrap(await store.list({ apiVersion, kind })).items.map((object) => IPBlock.parse(object))
}

/** How many a pool says that it has given, and how many are free, of each family. */
export async function counts(store: Store, name: string): Promise<Counts> {
  const { apiVersion, kind } = IPPool.info
  const { status } = IPPool.parse(unwrap(await store.get({ apiVersion, kind, name })))
  const of = (family: 'ipv4' | 'ipv6') => [status?.[family]?.allocated, status?.[family]?.free]
  return { ipv4: of('ipv4'), ipv6: of('ipv6') }
}

interface Counts {
  readonly ipv4: readonly (string | undefined)[]
  readonly ipv6: readonly (string | undefined)[]
}

export function isV6(text: string): boolean {
  return text.includes(':')
}
