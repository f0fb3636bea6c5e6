#!/usr/bin/env node
// In-cluster pools, served by three processes at once: tsx docs/examples/in-cluster-blocks.ts
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, poolModels } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { timers } from 'ipam-kit/node'
import type { Outcome } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, taskCaller } from 'ipam-kit/run'
import { create, read, readAll, type Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** One process of any number: each serves every pool, and none of them leads. */
function controllerOn(store: Store, identity: string): Controller {
  const inCluster = inClusterBlocks()
  const sweep = blocksSweep({ owners: [IPAddressClaim.info] })
  return new Controller<Outcome>({
    store,
    planners: [inCluster, blocksOperator(), sweep],
    external: taskCaller({ store, tasks: inCluster.tasks, now: Date.now }),
    identity,
    timers,
    onProblem: (problem) => console.error(problem),
  })
}

const kinds = [IPAddressClaim, IPAddress, Cluster, ...poolModels, IPDomain, IPPool, IPBlock]
const store = memoryStore({ now: Date.now, kinds })
const namespace = 'default'
const lab = { namespace, name: 'lab' }
const spec = { addresses: ['10.0.0.0/24'], prefix: 24, gateway: '10.0.0.1' }
unwrap(await create(store, InClusterIPPool, { metadata: lab, spec }))
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }
for (let n = 1; n <= 60; n++) {
  unwrap(await create(store, IPAddressClaim, { metadata: { namespace, name: `web-${n}` }, spec: { poolRef } }))
}

const controllers = ['a', 'b', 'c'].map((identity) => controllerOn(store, identity))
const running = controllers.map((controller) => controller.run())
const pool = async () => unwrap(await read(store, InClusterIPPool, lab))
while ((await pool()).status?.ipAddresses?.used !== 60) await new Promise((resolve) => setTimeout(resolve, 10))
for (const controller of controllers) controller.stop()
await Promise.all(running)

const addresses = unwrap(await readAll(store, IPAddress)).map(({ spec }) => spec.address)
console.log(`${addresses.length} claims, ${new Set(addresses).size} addresses`)
console.log(`pool lab: ${JSON.stringify((await pool()).status?.ipAddresses)}`)
