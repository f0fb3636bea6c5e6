import { formatRef, refOf } from 'ipam-kit/crd/meta'
import type { Cluster } from './cluster.js'
import type { Exit, Place } from './command.js'
import { planOf } from './upgrade-plan.js'

/**
 * Creates the IPPools of ipam-kit.dev that a pool of whereabouts lacks.
 *
 * @returns 4 if it has created some: `blocksOperator` has to accept them
 */
export async function createTargets({ store, print }: Place, cluster: Cluster, pool: string): Promise<Exit> {
  const { targets = [] } = planOf(cluster).pools.find(({ name }) => name === pool) ?? {}
  const wanted = cluster.networks.networks.flatMap(({ pools }) => pools)
  let created = 0
  for (const target of targets) {
    const object = wanted.find(({ metadata }) => metadata.name === target)
    if (object === undefined) continue
    const found = await store.get(refOf(object))
    if (found.ok) continue
    const made = await store.create(object)
    if (!made.ok && made.failure.code !== 'STORE_ALREADY_EXISTS') {
      print(made.failure.message)
      return 1
    }
    created++
    print(`created ${formatRef(refOf(object))}`)
  }
  if (created === 0) return 0
  print('run it again when blocksOperator has accepted the pools')
  return 4
}
