#!/usr/bin/env node
// Addresses of claims, given by two processes at once: tsx docs/examples/persistent-ip-blocks.ts
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { timers } from 'ipam-kit/node'
import type { Outcome } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { Controller, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** One process of any number: each serves every network, and none of them leads. */
function controllerOn(store: Store, identity: string): Controller {
  const persistentIPs = persistentIPsOnBlocks()
  return new Controller<Outcome>({
    store,
    planners: [persistentIPs, blocksOperator()],
    external: taskCaller({ store, tasks: persistentIPs.tasks, now: Date.now }),
    identity,
    timers,
    onProblem: (problem) => console.error(problem),
  })
}

const kinds = [Pod, IPAMClaim, NetworkAttachmentDefinition, IPDomain, IPPool, IPBlock].map(({ info }) => info)
const store = memoryStore({ now: Date.now, kinds })
const namespace = 'shop'
const { apiVersion, kind } = IPAMClaim.info
const config = JSON.stringify({
  name: 'shop_blue',
  type: 'ovn-k8s-cni-overlay',
  netAttachDefName: 'shop/blue',
  topology: 'layer2',
  subnets: '10.20.0.0/24',
  allowPersistentIPs: true,
})
const nad = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition' }
unwrap(await store.create({ ...nad, metadata: { namespace, name: 'blue' }, spec: { config } }))
for (let n = 1; n <= 40; n++) {
  const [claim, spec] = [`vm-${n}.blue`, { network: 'shop_blue', interface: '' }]
  const selection = JSON.stringify([{ name: 'blue', namespace, 'ipam-claim-reference': claim }])
  const annotations = { 'k8s.v1.cni.cncf.io/networks': selection }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name: `vm-${n}`, annotations } }
  unwrap(await store.create({ apiVersion, kind, metadata: { namespace, name: claim }, spec }))
  unwrap(await store.create({ ...pod, spec: { nodeName: 'n1', containers: [] } }))
}

const controllers = ['a', 'b'].map((identity) => controllerOn(store, identity))
const running = controllers.map((controller) => controller.run())
const claims = async () => unwrap(await store.list({ apiVersion, kind })).items.map((object) => IPAMClaim.parse(object))
const addresses = async () => (await claims()).flatMap(({ status }) => status?.ips ?? [])
while ((await addresses()).length < 40) await new Promise((resolve) => setTimeout(resolve, 10))
for (const controller of controllers) controller.stop()
await Promise.all(running)

const given = await addresses()
console.log(`${given.length} claims, ${new Set(given).size} addresses`)
const blocks = unwrap(await store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
for (const { metadata, spec } of blocks) console.log(`${metadata.name}: ${Object.keys(spec.rows).length} rows`)
