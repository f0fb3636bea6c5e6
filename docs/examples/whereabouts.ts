#!/usr/bin/env node
import { Pod } from 'ipam-kit/crd/core'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
// An interface of a Pod gets an address of a whereabouts network: tsx docs/examples/whereabouts.ts
import { unwrap } from 'ipam-kit/errors'
import { add, del, readWhereaboutsConfig, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

const kinds = [Pod.info, IPPool.info, OverlappingRangeIPReservation.info]
const store = memoryStore({ now: Date.now, kinds })
const config = unwrap(
  readWhereaboutsConfig({
    cniVersion: '1.0.0',
    name: 'storage',
    type: 'macvlan',
    ipam: { type: 'whereabouts', range: '10.10.0.0/24', gateway: '10.10.0.1', exclude: ['10.10.0.2/32'] },
  }),
)
const interfaceOf = (podName: string) => {
  return { config, podNamespace: 'shop', podName, containerId: `container-of-${podName}`, ifname: 'net1' }
}
for (const podName of ['web-0', 'web-1']) {
  const result = await runTask(add(interfaceOf(podName)), store, { now: Date.now })
  console.log(result.kind === 'done' ? result.outcome.message : result.failure)
}
const result = await runTask(del(interfaceOf('web-0')), store, { now: Date.now })
console.log(result.kind === 'done' ? result.outcome.message : result.failure)

// web-1 does not exist, and had no DEL
const sweep = whereaboutsSweep({ claims: false })
await runUntilQuiet(store, [sweep], { now: Date.now, onEvent: ({ message }) => console.log(message) })
