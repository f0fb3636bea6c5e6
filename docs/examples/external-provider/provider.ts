// A provider in three verbs, for an IPAM product outside of the cluster. Nothing here waits, reads
// or writes.
import { Address, Prefix } from 'ipam-kit/cidr'
import type { Json } from 'ipam-kit/crd/meta'
import { AddressLedger, defineProvider, protectPool } from 'ipam-kit/provider/claims'
import { InfobloxPool } from './pool.js'

export const infoblox = () =>
  defineProvider({
    name: 'infoblox',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    ledger: () => new AddressLedger<InfobloxPool>(),

    resolve({ pool }) {
      const network = Prefix.safeParse(pool.spec.network)
      if (!network.ok) return { kind: 'notReady', message: `spec.network is no CIDR: ${pool.spec.network}` }
      return { kind: 'ready', offer: pool.spec.network }
    },

    ensure({ claim, pool, offer: network, results }) {
      if (results.allocate === undefined) {
        const input = { network, name: `${claim.metadata.namespace}.${claim.metadata.name}` }
        return { kind: 'call', operation: 'allocate', input, why: 'the claim has no address' }
      }
      const address = Address.safeParse(textIn(results.allocate, 'address'))
      if (!address.ok) return { kind: 'wait', reason: 'AllocationFailed', message: 'the answer has no address in it' }
      const { prefix, gateway } = pool.spec
      return { kind: 'address', address: address.value, prefix, gateway, why: `it was allocated in ${network}` }
    },

    release({ results }) {
      if (results.release !== undefined) return { kind: 'done' }
      return { kind: 'call', operation: 'release', input: {}, why: 'its claim no longer needs it' }
    },

    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })

function textIn(json: Json, field: string): string {
  const value = typeof json === 'object' && json !== null ? (json as { readonly [key: string]: unknown })[field] : ''
  return typeof value === 'string' ? value : ''
}
