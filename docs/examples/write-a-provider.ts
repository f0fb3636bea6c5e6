// A provider of Cluster API for an IPAM product: docs/guides/write-a-provider.md explains it, and
// shows what it prints.
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { defineModel, objectMetaSchema } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { now, uid } from 'ipam-kit/node'
import { AddressLedger, defineProvider, handleCalls, protectPool } from 'ipam-kit/provider/claims'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'

// The kind of pools: a network of the product.
const apiGroup = 'ipam.example.com'
const apiVersion = `${apiGroup}/v1alpha1`
const names = { kind: 'InfobloxPool', plural: 'infobloxpools' }
const poolSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMetaSchema,
  spec: z.looseObject({ network: z.string(), prefix: z.int(), gateway: z.string().optional() }),
})
const InfobloxPool = defineModel({
  info: { apiVersion, ...names, namespaced: true, statusSubresource: true },
  schema: poolSchema,
})

// The calls to the product: what each asks, and what is answered.
const calls = {
  allocate: {
    input: z.object({ network: z.string(), name: z.string() }),
    answer: z.object({ address: z.string().refine((text) => Address.safeParse(text).ok, 'not an IP address') }),
  },
  release: { input: z.object({}), answer: z.object({ released: z.boolean() }) },
}

// The provider: pure functions.
const infoblox = defineProvider({
  name: 'infoblox',
  pools: [InfobloxPool],
  external: { marker: 'kept' },
  calls,
  ledger: (holdings) => new AddressLedger<z.infer<typeof poolSchema>>(holdings),

  resolve({ pool: { spec } }) {
    if (Prefix.safeParse(spec.network).ok) return { kind: 'ready', offer: spec }
    return { kind: 'notReady', message: `spec.network is not a CIDR: ${spec.network}` }
  },

  ensure({ claim: { metadata }, offer: { network, prefix, gateway }, results: { allocate } }) {
    if (allocate === undefined) {
      const input = { network, name: `${metadata.namespace}.${metadata.name}` }
      return { kind: 'call', operation: 'allocate', input, why: 'the claim has no address' }
    }
    const address = Address.parse(allocate.address)
    return { kind: 'address', address, prefix, gateway, why: `it was allocated in ${network}` }
  },

  release({ results }) {
    if (results.release !== undefined) return { kind: 'done' }
    return { kind: 'call', operation: 'release', input: {}, why: 'its claim no longer needs it' }
  },

  planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
})

// The only code that talks to the product, here a list of two addresses. It records each address
// under the key of its call: a repeated call gets the same address.
const free = ['10.20.0.1', '10.20.0.2']
const records = new Map<string, string>()
const external = handleCalls(calls, {
  async allocate({ network }, { key }) {
    const address = records.get(key) ?? free.shift()
    if (address === undefined) {
      return { ok: false, failure: { message: `${network} is full`, reason: 'PoolExhausted', retryable: true } }
    }
    records.set(key, address)
    return { ok: true, value: { address } }
  },
  async release(_, { key }) {
    const address = records.get(key)
    if (address !== undefined) free.push(address)
    return { ok: true, value: { released: records.delete(key) } }
  },
})

// A pool and three claims, in memory.
// The key of a call has the uid of its claim: no other run of this program may have the same uids.
const store = memoryStore({ now, uid, kinds: [IPAddressClaim, IPAddress, InfobloxPool].map(({ info }) => info) })
const namespace = 'lab'
const spec = { network: '10.20.0.0/30', prefix: 30 }
unwrap(await store.create({ apiVersion, kind: names.kind, metadata: { namespace, name: 'blue' }, spec }))
for (const name of ['web-0', 'web-1', 'web-2']) {
  const { apiVersion, kind } = IPAddressClaim.info
  const poolRef = { apiGroup, kind: names.kind, name: 'blue' }
  unwrap(await store.create({ apiVersion, kind, metadata: { namespace, name }, spec: { poolRef } }))
}
const { outcomes } = await runUntilQuiet(store, [infoblox], { now, external })
for (const [key, { message }] of outcomes) console.log(`${key}: ${message}`)
