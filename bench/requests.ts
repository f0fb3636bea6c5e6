import { IPPool as BlockPool, IPBlock, IPDomain } from 'ipam-kit/crd/ipam-kit'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { now, sleep } from 'ipam-kit/node'
import { blocksOperator, blocksWatch } from 'ipam-kit/provider/blocks'
import { add, readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { blockAdd, poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { ApiServerModel } from '../test/store/kubernetes-model.js'
import { machineRequests, type Step } from './persistent-requests.js'

/** Requests to an API server: a count, which does not depend on the moment. */
export interface Requests {
  readonly what: string
  readonly requests: number
}

/** An ADD on the objects of whereabouts and on blocks, and starts of a virtual machine. */
export async function countRequests(): Promise<readonly Requests[]> {
  return [await ofWhereabouts(), ...(await ofBlocks()), ...(await ofMachines())]
}

async function ofMachines(): Promise<readonly Requests[]> {
  const starts: readonly Step[] = ['first start', 'next start']
  const [own, blocks] = [await machineRequests('objects'), await machineRequests('blocks')]
  return starts.flatMap((step) => [
    { what: `persistent IPs: requests of the ${step} of a machine`, requests: own.get(step)!.length },
    { what: `persistent IPs on blocks: requests of the ${step} of a machine`, requests: blocks.get(step)!.length },
  ])
}

/** The second ADD of a range: the first one creates the pool. */
async function ofWhereabouts(): Promise<Requests> {
  const kinds = [IPPool.info, OverlappingRangeIPReservation.info]
  const server = new ApiServerModel(kinds)
  const store = kubernetesStore(server, { kinds, sleep })
  const ipam = { type: 'whereabouts', range: '10.0.0.0/24' }
  const config = unwrap(readWhereaboutsConfig({ cniVersion: '1.0.0', name: 'lab', type: 'macvlan', ipam }))
  for (const name of ['first', 'second']) {
    server.requests.length = 0
    const request = { config, containerId: name, ifname: 'net1', podNamespace: 'default', podName: name }
    const result = await runTask(add(request), store, { now })
    if (result.kind !== 'done' || result.outcome.kind !== 'allocated')
      throw new Error(`the ADD of the benchmark failed`)
  }
  return { what: 'whereabouts: requests per ADD, one range and no claim', requests: server.requests.length }
}

/** The second ADD of a range, by a process without a cache and by one with a watch. */
async function ofBlocks(): Promise<readonly Requests[]> {
  const kinds = [BlockPool, IPBlock, IPDomain].map(({ info }) => info)
  const server = new ApiServerModel(kinds)
  const store = kubernetesStore(server, { kinds, sleep })
  const ipam = { type: 'ipam-kit', range: '10.0.0.0/24' }
  const network = unwrap(readBlockNetwork({ cniVersion: '1.0.0', name: 'lab', type: 'macvlan', ipam }))
  for (const pool of unwrap(poolsOf(network))) unwrap(await store.create(pool))
  await runUntilQuiet(store, [blocksOperator()], { now })
  const watch = blocksWatch({ now })
  const counted: number[] = []
  for (const name of ['first', 'thin', 'daemon']) {
    await runUntilQuiet(store, [watch], { now })
    const known = name === 'daemon' ? watch.known : undefined
    server.requests.length = 0
    const pod = { podNamespace: 'default', podName: name, podUid: name, containerId: name, ifname: 'net1' }
    const result = await runTask(blockAdd({ network, ...pod }, known), store, { now })
    if (result.kind !== 'done' || result.outcome.kind !== 'allocated')
      throw new Error(`the ADD of the benchmark failed: ${JSON.stringify(result)}`)
    counted.push(server.requests.length)
  }
  const [, thin = Number.NaN, daemon = Number.NaN] = counted
  return [
    { what: 'whereabouts on blocks: requests per ADD, one range', requests: thin },
    { what: 'whereabouts on blocks: requests per ADD with a daemon', requests: daemon },
  ]
}
