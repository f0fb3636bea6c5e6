import { inCluster } from 'ipam-kit/provider/in-cluster'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { controllerLoop } from '../../docs/examples/controller-loop.js'
import { claim, claimRef, kinds, pool } from '../provider/in-cluster/world.js'

/** Waits for an event about a claim that the store itself tells: no sleeping. */
async function until(store: Store, seen: (event: WatchEvent) => boolean): Promise<void> {
  const kind = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim' }
  for await (const event of store.watch(kind, { resourceVersion: '1' })) if (seen(event)) return
}

const isBound = (name: string) => (event: WatchEvent) =>
  event.type === 'MODIFIED' &&
  event.object.metadata.name === name &&
  (event.object.status as { addressRef?: object } | undefined)?.addressRef !== undefined

test('the controller of the guide binds, releases and binds again while the world changes', async () => {
  const store = memoryStore({ now: Date.now, kinds })
  const stop = new AbortController()
  const running = controllerLoop(store, inCluster(), stop.signal)
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  await store.create(claim('second'))
  await until(store, isBound('first'))
  await store.delete(claimRef('first'))
  await until(store, isBound('second'))
  const address = await store.get({ ...claimRef('second'), kind: 'IPAddress' })
  expect(address).toMatchObject({ ok: true, value: { spec: { address: '10.0.0.5' } } })
  stop.abort()
  await running
})
