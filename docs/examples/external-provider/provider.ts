// A provider in three verbs, for an IPAM product outside of the cluster. Nothing here waits, reads
// or writes.
import { Address, Prefix } from 'ipam-kit/cidr'
import { AddressLedger, defineProvider, protectPool } from 'ipam-kit/provider/claims'
import * as z from 'zod'
import { InfobloxPool } from './pool.js'

/** What the product is asked, and what it answers. */
export const calls = {
  allocate: {
    input: z.object({ network: z.string(), name: z.string() }),
    answer: z.object({ address: z.string().refine((text) => Address.safeParse(text).ok, 'not an IP address') }),
  },
  release: { input: z.object({}), answer: z.object({ released: z.boolean() }) },
}

export const infoblox = () =>
  defineProvider({
    name: 'infoblox',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    calls,
    ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),

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
      const address = Address.parse(results.allocate.address)
      const { prefix, gateway } = pool.spec
      return { kind: 'address', address, prefix, gateway, why: `it was allocated in ${network}` }
    },

    release({ results }) {
      if (results.release !== undefined) return { kind: 'done' }
      return { kind: 'call', operation: 'release', input: {}, why: 'its claim no longer needs it' }
    },

    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })
