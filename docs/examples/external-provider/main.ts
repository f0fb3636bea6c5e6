#!/usr/bin/env node
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
// Three claims of a network with two addresses, in an IPAM product outside: tsx
// docs/examples/external-provider/main.ts
import { unwrap } from 'ipam-kit/errors'
import { now, uid } from 'ipam-kit/node'
import { explain } from 'ipam-kit/plan'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { callerOf } from './caller.js'
import { FakeIpam } from './fake-ipam.js'
import { InfobloxPool } from './pool.js'
import { infoblox } from './provider.js'

// requests to the IPAM product are made of uids: no other run may have the same
const store = memoryStore({
  now,
  uid,
  kinds: [IPAddressClaim, IPAddress, Cluster, InfobloxPool].map((it) => it.info),
})
const ipam = new FakeIpam()
ipam.addNetwork('10.20.0.0/30')

unwrap(
  await store.create({
    ...{
      apiVersion: 'ipam.example.com/v1alpha1',
      kind: 'InfobloxPool',
      metadata: { namespace: 'default', name: 'lab' },
    },
    spec: { network: '10.20.0.0/30', prefix: 30, gateway: '10.20.0.3' },
  }),
)
for (const name of ['web-0', 'web-1', 'web-2']) {
  const poolRef = { apiGroup: 'ipam.example.com', kind: 'InfobloxPool', name: 'lab' }
  unwrap(
    await store.create({
      ...{
        apiVersion: IPAddressClaim.info.apiVersion,
        kind: 'IPAddressClaim',
        metadata: { namespace: 'default', name },
      },
      spec: { poolRef },
    }),
  )
}

const run = async (title: string) => {
  const { outcomes } = await runUntilQuiet(store, [infoblox()], { now, external: callerOf(ipam) })
  console.log(`${title}:`)
  for (const [key, outcome] of outcomes)
    console.log('  ' + explain({ outcome, effects: [] }).split('\n')[0] + ` (${key})`)
  console.log(`  outside: ${ipam.records.map(({ name, address }) => `${name} ${address}`).join(', ')}`)
}

// the answer of the first call is lost: it is asked again under the same marker, and nothing is
// given twice
ipam.inject('lost-answer')
await run('three claims')
await run('once more, when the answer has been lost')
unwrap(
  await store.delete({
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: 'IPAddressClaim',
    namespace: 'default',
    name: 'web-1',
  }),
)
await run('web-1 has gone')
