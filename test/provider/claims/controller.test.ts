import { unwrap } from 'ipam-kit/errors'
import type { ExternalCaller } from 'ipam-kit/run'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { callerOf } from '../../../docs/examples/external-provider/caller.js'
import { FakeIpam } from '../../../docs/examples/external-provider/fake-ipam.js'
import { infoblox } from '../../../docs/examples/external-provider/provider.js'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { addressRef, claim, claimRef, kinds, NETWORK, pool, poolRef } from './world.js'

/**
 * The provider of docs/examples/external-provider in a controller, with a store and an external
 * system that take their time.
 */
function start({
  patchMs = 0,
  external,
  thrown,
}: {
  patchMs?: number
  external?: ExternalCaller
  thrown?: unknown[]
} = {}) {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds })
  const ipam = new FakeIpam()
  ipam.addNetwork(NETWORK)
  const patch: Store['patch'] = async (ref, ...rest) => {
    if (ref.kind === 'IPAddressClaim') await new Promise<void>((resolve) => void timers.after(patchMs, resolve))
    return store.patch(ref, ...rest)
  }
  const controller = new Controller({
    store: storeOver(store, { patch }),
    planners: [infoblox()],
    timers,
    external: external ?? callerOf(ipam),
    onProblem: (problem) => {
      if (problem.kind === 'thrown' && thrown !== undefined) return void thrown.push(problem.error)
      throw new Error(JSON.stringify(problem))
    },
  })
  const running = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await running
  }
  return { timers, store, ipam, stop }
}

describe('an external provider in a controller', () => {
  test('asks again, under the same key, for a claim whose pool has changed before the answer was there', async () => {
    const ipam = new FakeIpam()
    for (const network of [NETWORK, '10.99.0.0/24']) ipam.addNetwork(network)
    const call = callerOf(ipam)
    const { timers, store, stop } = start({
      external: async (asked) => {
        const answer = await call(asked)
        await new Promise<void>((resolve) => void timers.after(2000, resolve))
        return answer
      },
    })
    await store.create(pool())
    await store.create(claim('a'))
    await timers.pass(1000)
    await store.patch(poolRef(), { spec: { network: '10.99.0.0/24', prefix: 24, gateway: '10.99.0.1' } })
    await timers.pass(60_000)
    const { spec } = unwrap(await store.get(addressRef('a')))
    const name = 'default.a'
    expect(spec).toMatchObject({ address: '10.99.0.1', prefix: 24, gateway: '10.99.0.1' })
    expect(ipam.records).toMatchObject([{ name, network: '10.99.0.0/24', address: '10.99.0.1' }])
    expect(new Set(ipam.calls.map((each) => each.split(' ')[1])).size).toBe(1)
    await stop()
  })

  test('has its pool stay while the external system is asked, also before the finalizer of the claim is written', async () => {
    const { timers, store, ipam, stop } = start({ patchMs: 3000 })
    await store.create(pool())
    await timers.pass(2000)
    await store.create(claim('a'))
    await timers.pass(100)
    await store.delete(poolRef())
    await timers.pass(20_000)
    expect(ipam.records.map(({ name }) => name)).toEqual(['default.a'])
    expect((await store.get(poolRef())).ok).toBe(true)
    await store.delete(claimRef('a'))
    await timers.pass(60_000)
    expect(ipam.records).toEqual([])
    expect([(await store.get(claimRef('a'))).ok, (await store.get(poolRef())).ok]).toEqual([false, false])
    await stop()
  })

  test('lets a pool go that was asked in vain', async () => {
    const { timers, store, stop } = start({ patchMs: 3000 })
    await store.create(pool())
    await timers.pass(2000)
    await store.create(claim('a'))
    await timers.pass(100)
    await store.delete(poolRef())
    // the plan of the claim finds nobody: its pool waited for that alone
    await store.delete(claimRef('a'))
    await timers.pass(20_000)
    expect((await store.get(poolRef())).ok).toBe(false)
    await stop()
  })

  test('lets a pool go after a call that was broken off, when its claim was removed by force', async () => {
    const thrown: unknown[] = []
    const external: ExternalCaller = async () => {
      throw new Error('a bug')
    }
    const { timers, store, stop } = start({ external, thrown })
    await store.create(pool())
    await timers.pass(2000)
    await store.create(claim('a'))
    await timers.pass(500)
    await store.delete(claimRef('a'))
    await timers.pass(500)
    await store.patch(claimRef('a'), { metadata: { finalizers: null } })
    await store.delete(poolRef())
    await timers.pass(20_000)
    expect(thrown.length).toBeGreaterThan(0)
    expect((await store.get(poolRef())).ok).toBe(false)
    await stop()
  })

  test.each([Number.NaN, 0, -5])(
    'asks with pauses where the external system says to come again in %d s',
    async (seconds) => {
      let calls = 0
      const external: ExternalCaller = async () => {
        if (++calls > 100) throw new Error('asked without a pause')
        return { ok: false, failure: { message: 'busy', retryable: true, retryAfterSeconds: seconds } }
      }
      const { timers, store, stop } = start({ external })
      await store.create(pool())
      await store.create(claim('a'))
      await timers.pass(60_000)
      // after 5, 10 and 20 s
      expect(calls).toBe(4)
      await stop()
    },
  )
})
