import { fail, unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { claim, claimRef, kinds, pool, poolRef } from './world.js'

/** A provider at work on a server that takes five seconds to refuse an IPAddress. */
function start() {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds })
  const create: Store['create'] = async (object) => {
    if (object.kind !== 'IPAddress') return store.create(object)
    await new Promise<void>((resolve) => void timers.after(5000, resolve))
    return fail('STORE_INVALID', { object: object.metadata.name, path: 'metadata.name', problem: 'a webhook says no' })
  }
  const controller = new Controller({
    store: storeOver(store, { create }),
    planners: [inCluster({ overlaps: 'avoid', preallocations: {} })],
    timers,
    onProblem: () => {},
  })
  const running = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await running
  }
  return { timers, store, stop }
}

/** A pool of one address that is kept for a claim. */
function keeping(name: string, claim: string) {
  const annotations = { 'ipam-kit.dev/preallocations': JSON.stringify({ [claim]: '10.0.0.5' }) }
  return { ...pool(['10.0.0.5']), metadata: { name, namespace: 'default', annotations } }
}

describe('a pool that goes while an IPAddress is written', () => {
  test('does not stay for what was refused, where the address is kept for its claim', async () => {
    const { timers, store, stop } = start()
    await store.create(keeping('pool', 'first'))
    await timers.pass(2000)
    await store.create(claim('first'))
    await timers.pass(1000)
    unwrap(await store.delete(poolRef()))
    await timers.pass(500)
    unwrap(await store.patch(claimRef('first'), { metadata: { finalizers: null } }))
    unwrap(await store.delete(claimRef('first')))
    await timers.pass(2000)
    expect((await store.get(poolRef())).ok).toBe(true)
    await timers.pass(60_000)
    expect((await store.get(poolRef())).ok).toBe(false)
    await stop()
  })

  test('does not stay for what is of another pool', async () => {
    const { timers, store, stop } = start()
    await store.create(keeping('other', 'somebody'))
    await store.create(pool(['10.0.0.5']))
    await timers.pass(2000)
    await store.create(claim('first'))
    await timers.pass(1000)
    unwrap(await store.delete(poolRef('other')))
    await timers.pass(1000)
    expect((await store.get(poolRef('other'))).ok).toBe(false)
    await stop()
  })
})
