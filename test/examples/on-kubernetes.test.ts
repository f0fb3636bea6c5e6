import { EVENT, LEASE } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { serveAsLeader } from '../../docs/examples/on-kubernetes.js'
import { claim, claimRef, kinds, pool } from '../provider/in-cluster/world.js'

// whoever creates a Lease waits for as long as it lasts, and so does this test if the clock is real
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('the program of the guide binds a claim as the leader, and gives its lease back', async () => {
  const store = memoryStore({ now: Date.now, kinds: [...kinds, LEASE, EVENT] })
  const stop = new AbortController()
  const lines: string[] = []
  const running = serveAsLeader(store, stop.signal, (line) => lines.push(line))
  await store.create(pool(['10.0.0.5']))
  await store.create(claim('first'))
  const address = { ...claimRef('first'), kind: 'IPAddress' }
  const isWritten = async () => {
    for await (const event of store.watch(address, { resourceVersion: '1' })) if (event.type === 'ADDED') return
  }
  await Promise.all([isWritten(), vi.advanceTimersByTimeAsync(30_000)])
  const written = await store.get(address)
  expect(written.ok && written.value.spec).toMatchObject({ address: '10.0.0.5' })
  const lease = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, namespace: 'ipam-system', name: 'my-ipam' }
  const held = await store.get(lease)
  expect(held.ok && held.value.spec).toMatchObject({
    holderIdentity: expect.stringMatching(/./),
    leaseDurationSeconds: 15,
  })
  stop.abort()
  await vi.advanceTimersByTimeAsync(30_000)
  expect(await running).toBe('stopped')
  const released = await store.get(lease)
  expect(released.ok && (released.value.spec as { holderIdentity?: string }).holderIdentity).toBe('')
  expect(lines).toEqual([])
})
