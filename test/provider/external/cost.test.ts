import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { cloudCaller } from 'ipam-kit/provider/external'
import { Controller, type ExternalCaller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud, storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { isDeep } from '../../setup/depth.js'
import { claim, kinds, pool, unwrap, World } from './world.js'

/** The calls that are made while something is done. */
async function callsOf(world: World, act: () => Promise<void>): Promise<{ readonly [operation: string]: number }> {
  const before = new Map(world.cloud.calls)
  await act()
  const counts = [...world.cloud.calls].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

/** A world with a controller that goes on by itself, and whose cloud takes its time. */
function running({ callMs = 0, atATime = Number.POSITIVE_INFINITY }: Partial<Parameters<typeof latencyOf>[1]> = {}) {
  const timers = new VirtualTimers()
  const memory = memoryStore({ now: () => timers.now(), kinds })
  let reads = 0
  const store = storeOver(memory, {
    get: (ref) => {
      reads++
      return memory.get(ref)
    },
  })
  const cloud = new FakeCloud({ now: () => timers.now(), latency: latencyOf(timers, { callMs, atATime }) })
  cloud.addNetwork({ name: 'public', cidrs: ['10.0.0.0/16'], isExternal: true })
  const lists: number[] = []
  const caller = cloudCaller(cloud)
  const external: ExternalCaller = (call) => {
    if (call.operation === 'listAddresses') lists.push(timers.now())
    return caller(call)
  }
  const problems: unknown[] = []
  const planner = new World().start()
  const controller = new Controller({
    ...{ store, timers, external, planners: [planner] },
    onProblem: (problem) => problems.push(problem),
  })
  const ended = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await ended
    expect(problems).toEqual([])
  }
  return { timers, store, cloud, lists, stop, reads: () => reads }
}

/** So many calls are done at a time, each in so many milliseconds. */
function latencyOf(timers: VirtualTimers, { callMs = 0, atATime = Number.POSITIVE_INFINITY }) {
  const waiting: (() => void)[] = []
  let open = 0
  return async () => {
    if (open >= atATime) await new Promise<void>((resolve) => waiting.push(resolve))
    open++
    await new Promise<void>((resolve) => timers.after(callMs, resolve))
    open--
    waiting.shift()?.()
  }
}

test('calls of a claim, with a warm list: nothing to bind from free, 1 to create, 2 to delete', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.9' })
  await world.create(pool({ preAllocatedFloatingIPs: ['203.0.113.9'] }))
  const planner = world.start()
  await world.run({ planner })
  const run = () => world.runFor(29, planner)
  await world.create(claim('free'))
  const bind = await callsOf(world, run)
  await world.create(claim('new'))
  const create = await callsOf(world, run)
  await world.remove(IPAddressClaim, 'new')
  const release = await callsOf(world, () => world.runFor(60, planner))
  expect(await world.claims()).toEqual({ free: '203.0.113.9' })
  const only = ({ listAddresses: _, ...rest }: { readonly [operation: string]: number }) => rest
  expect([bind, create, release].map(only)).toEqual([{}, { createAddress: 1 }, { markAddress: 1, deleteAddress: 1 }])
  expect(release.listAddresses).toBeLessThanOrEqual(2)
})

test('with a watch a claim costs no read, no list, and the calls of its own alone', async () => {
  const { store, cloud, timers, reads, stop } = running()
  await store.create(pool())
  await timers.pass(2000)
  const before = [reads(), cloud.calls.get('listAddresses'), cloud.calls.get('findNetwork')]
  for (const name of ['c1', 'c2', 'c3']) await store.create(claim(name))
  await timers.pass(5000)
  expect(unwrap(await store.list(IPAddress.info)).items).toHaveLength(3)
  expect([reads(), cloud.calls.get('listAddresses'), cloud.calls.get('findNetwork')]).toEqual(before)
  expect(cloud.calls.get('createAddress')).toBe(3)
  await stop()
})

test('many claims at once take little more than the calls for them, and few lists', async () => {
  const [claims, callMs, atATime] = [isDeep ? 1000 : 400, 100, 8]
  const { store, cloud, timers, lists, stop } = running({ callMs, atATime })
  await store.create(pool())
  await timers.pass(2000)
  const beginMs = timers.now()
  for (let nth = 0; nth < claims; nth++) await store.create(claim(`c${nth}`))
  let count = 0
  while (count < claims && timers.now() < beginMs + 60_000) {
    await timers.pass(250)
    count = unwrap(await store.list(IPAddress.info)).items.length
  }
  const aloneMs = (claims * callMs) / atATime
  expect(count).toBe(claims)
  expect(cloud.calls.get('createAddress')).toBe(claims)
  expect((timers.now() - beginMs) / aloneMs).toBeLessThanOrEqual(1.3)
  const pauses = lists.slice(1).map((atMs, nth) => atMs - lists[nth]!)
  expect(Math.min(...pauses, Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(30_000)
  await stop()
}, 120_000)
