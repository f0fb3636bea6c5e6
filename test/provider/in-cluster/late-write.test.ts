import { IPAddress } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, isIpamError, unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'

const group = 'ipam.cluster.x-k8s.io'
const named = (name: string) => ({ name, namespace: 'lab' })
const cut = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })

/** A pool and two claims; the connection of the first create of an address dies, and the server does it later. */
async function scene() {
  const below = memoryStore({ now: () => 0 })
  const pool = { addresses: ['10.0.0.0/28'], prefix: 28 }
  unwrap(
    await below.create({
      apiVersion: `${group}/v1alpha2`,
      kind: 'InClusterIPPool',
      metadata: named('nodes'),
      spec: pool,
    }),
  )
  const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'nodes' }
  for (const name of ['a', 'b']) {
    const claim = { apiVersion: `${group}/v1beta2`, kind: 'IPAddressClaim', metadata: named(name), spec: { poolRef } }
    unwrap(await below.create(claim))
  }
  const late: KubeObject[] = []
  const arrive = async () => {
    for (const object of late.splice(0)) await below.create(object)
  }
  const given = async () => {
    const { items } = unwrap(await below.list(IPAddress.info))
    return items.map(({ metadata, spec }) => `${metadata.name} ${(spec as { address: string }).address}`)
  }
  return { below, late, arrive, given }
}

const run = (store: Store) => runUntilQuiet(store, [inCluster()], { now: () => 0 })

test('a write that is done after it was looked for gives no address twice', async () => {
  const { below, late, arrive, given } = await scene()
  const create: Store['create'] = async (object) => {
    if (object.metadata.name === 'a' && late.length === 0) {
      late.push(object)
      return cut
    }
    // the next write of that name waits until the first one is done
    if (object.metadata.name === 'a') await arrive()
    return below.create(object)
  }
  await run(storeOver(below, { create }))
  expect(await given()).toEqual(['a 10.0.0.1', 'b 10.0.0.2'])
})

test('nothing is planned while such a write may still come', async () => {
  const { below, late, arrive, given } = await scene()
  let tries = 0
  const create: Store['create'] = async (object) => {
    if (object.metadata.name !== 'a') return below.create(object)
    if (++tries > 1) return fail('STORE_IO', { operation: 'create', problem: 'no connection to be had' })
    late.push(object)
    return cut
  }
  const ended = await run(storeOver(below, { create })).catch((error: unknown) => error)
  expect(isIpamError(ended, 'STORE_IO')).toBe(true)
  expect(await given(), 'b must not get what a may have').toEqual([])
  await arrive()
  await run(below)
  expect(await given()).toEqual(['a 10.0.0.1', 'b 10.0.0.2'])
})
