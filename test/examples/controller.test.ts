import type { Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { serveClaims } from '../../docs/examples/controller.js'
import { claim, claimRef, kinds, pool } from '../provider/in-cluster/world.js'

const CLAIM = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim' }
const POOL = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool' }

/** Waits for an event that the store itself tells: no sleeping. */
async function until(store: Store, seen: (event: WatchEvent) => boolean, kind = CLAIM): Promise<void> {
  for await (const event of store.watch(kind, { resourceVersion: '1' })) if (seen(event)) return
}

const isBound = (name: string) => (event: WatchEvent) =>
  event.type === 'MODIFIED' &&
  event.object.metadata.name === name &&
  (event.object.status as { addressRef?: object } | undefined)?.addressRef !== undefined

test('the controller of the guide binds, releases and binds again while the world changes', async () => {
  const store = memoryStore({ now: Date.now, kinds })
  const stop = new AbortController()
  const told: unknown[] = []
  const running = serveClaims(store, stop.signal, (line) => told.push(line))
  await store.create(pool(['10.0.0.5']))
  await until(store, ({ type }) => type === 'MODIFIED', POOL)
  await store.create(claim('first'))
  await store.create(claim('second'))
  await until(store, isBound('first'))
  await store.delete(claimRef('first'))
  await until(store, isBound('second'))
  const address = await store.get({ ...claimRef('second'), kind: 'IPAddress' })
  expect(address).toMatchObject({ ok: true, value: { spec: { address: '10.0.0.5' } } })
  stop.abort()
  await running
  expect(told).toContain('IPAddressClaim default/first: bound')
  expect(told.filter((line) => typeof line !== 'string')).toEqual([])
})
