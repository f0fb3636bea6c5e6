import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { now, sleep } from 'ipam-kit/node'
import { add, readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { ApiServerModel } from '../test/store/kubernetes-model.js'

/** Requests to an API server: a count, which does not depend on the moment. */
export interface Requests {
  readonly what: string
  readonly requests: number
}

/** The second ADD of a range: the first one creates the pool. */
export async function countRequests(): Promise<readonly Requests[]> {
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
  return [{ what: 'whereabouts: requests per ADD, one range and no claim', requests: server.requests.length }]
}
