#!/usr/bin/env node
// Claims of Cluster API on blocks, served by two processes at once: tsx
// docs/examples/blocks/claims.ts
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { timers } from 'ipam-kit/node'
import type { Outcome } from 'ipam-kit/plan'
import { blockClaims, blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { Controller, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** One process of any number: each serves every claim, and none of them leads. */
function controllerOn(store: Store, identity: string): Controller {
  const claims = blockClaims({ sweepAfterSeconds: 24 * 3600 })
  const sweep = blocksSweep({ owners: [IPAddressClaim.info] })
  return new Controller<Outcome>({
    store,
    planners: [claims, blocksOperator(), sweep],
    external: taskCaller({ store, tasks: claims.tasks, now: Date.now }),
    identity,
    timers,
    onProblem: (problem) => console.error(problem),
  })
}

const kinds = [IPAddressClaim, IPAddress, Cluster, IPDomain, IPPool, IPBlock].map(({ info }) => info)
const store = memoryStore({ now: Date.now, kinds })
const spec = { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1' }], ipv4: { blockPrefixLength: 28 } }
unwrap(await store.create({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'blue' }, spec }))
const { apiVersion } = IPAddressClaim.info
for (let n = 1; n <= 40; n++) {
  const poolRef = { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' }
  const metadata = { namespace: 'default', name: `web-${n}` }
  unwrap(await store.create({ apiVersion, kind: 'IPAddressClaim', metadata, spec: { poolRef } }))
}

const controllers = ['a', 'b'].map((identity) => controllerOn(store, identity))
const running = controllers.map((controller) => controller.run())
const rowsIn = async () => {
  const { items } = unwrap(await store.list(IPBlock.info))
  return items.flatMap((object) => Object.values(IPBlock.parse(object).spec.rows))
}
const isQuiet = async () => {
  const { items } = unwrap(await store.list({ apiVersion, kind: 'IPAddressClaim' }))
  const areBound = items.every((object) => IPAddressClaim.parse(object).status?.addressRef !== undefined)
  // where both have served a claim there are two rows: the sweep takes back the one that its
  // IPAddress does not have
  return areBound && (await rowsIn()).length === items.length
}
while (!(await isQuiet())) await new Promise((resolve) => setTimeout(resolve, 10))
for (const controller of controllers) controller.stop()
await Promise.all(running)

const addresses = unwrap(await store.list({ apiVersion, kind: 'IPAddress' })).items.map((it) => IPAddress.parse(it))
const rows = await rowsIn()
console.log(
  `${addresses.length} claims are Bound, to ${new Set(addresses.map((it) => it.spec.address)).size} addresses`,
)
console.log(`${rows.length} rows, of ${new Set(rows.map(({ uid }) => uid)).size} owners`)
