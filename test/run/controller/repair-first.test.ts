import { Address } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress as ServiceAddress } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { Controller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { newIPAddress } from '../../../src/provider/in-cluster/claim.js'
import { claim, pool, World } from '../../provider/in-cluster/world.js'
import { range, World as ServiceWorld, service, using } from '../../provider/service-ip/world.js'
import { VirtualTimers } from './virtual-timers.js'

const BACKLOG = 400
const WRITE_MS = 100

/** The same store, whose every write takes a while. */
function slow(store: Store, timers: VirtualTimers): Store {
  const wait = () => new Promise<void>((resolve) => void timers.after(WRITE_MS, resolve))
  return storeOver(store, {
    create: async (...args) => wait().then(() => store.create(...args)),
    update: async (...args) => wait().then(() => store.update(...args)),
    patch: async (...args) => wait().then(() => store.patch(...args)),
    delete: async (...args) => wait().then(() => store.delete(...args)),
  })
}

function start(store: Store, planner: Planner, timers: VirtualTimers) {
  const controller = new Controller({ store, planners: [planner], timers, onProblem: () => {} })
  const ended = controller.run()
  const stop = async () => {
    controller.stop()
    await timers.pass(60_000)
    await ended
  }
  return { controller, stop }
}

/** How long something stays true, in milliseconds. */
async function lasting(timers: VirtualTimers, isTrue: () => Promise<boolean>): Promise<number> {
  const sinceMs = timers.now()
  while (await isTrue()) {
    if (timers.now() - sinceMs > 600_000) throw new Error('it stays true')
    await timers.pass(WRITE_MS)
  }
  return timers.now() - sinceMs
}

test.each(['waits in the backlog', 'was not known before'])(
  'a claim gives an address that another claim has back before the backlog is served, where it %s',
  async (where) => {
    const world = new World()
    await world.create(pool(['10.0.0.0/16']))
    await world.create(claim('keeps'))
    await world.run()
    for (let nth = 0; nth < BACKLOG; nth++) await world.create(claim(`c${nth}`))
    const late = where === 'waits in the backlog' ? `c${BACKLOG - 1}` : 'late'
    const timers = new VirtualTimers(world.nowMs)
    const { controller, stop } = start(slow(world.store, timers), inCluster(), timers)
    await timers.pass(2_000)
    if (late === 'late') await world.create(claim(late))
    expect(controller.load.waiting).toBeGreaterThan(BACKLOG / 2)
    // the write of a leader that was stopped arrives
    const offer = { address: Address.parse((await world.address('keeps')).spec.address), prefix: 16 }
    await world.create(newIPAddress(await world.claim(late), await world.pool(), offer))
    const has = async (name: string) => (await world.bindings())[`default/${name}`]
    const ms = await lasting(timers, async () => (await has('keeps')) === (await has(late)))
    expect(ms).toBeLessThan(20 * WRITE_MS)
    expect(controller.load.waiting).toBeGreaterThan(BACKLOG / 2)
    await stop()
  },
)

test.each([
  ['inCluster', () => inCluster()],
  ['inClusterBlocks', () => inClusterBlocks()],
] as const)('%s: claims whose IPAddress objects have one address are repairs, and no others', async (_, plannerOf) => {
  const world = new World()
  await world.create(pool(['10.0.0.0/16']), claim('keeps'), claim('waits'), claim('other'))
  const planner: Planner = plannerOf()
  const give = async (name: string, text: string) => {
    const offer = { address: Address.parse(text), prefix: 16 }
    await world.create(newIPAddress(await world.claim(name), await world.pool(), offer))
  }
  await give('keeps', '10.0.0.5')
  await give('other', '10.0.0.6')
  const show = (object: KubeObject) => planner.observe({ kind: 'present', object })
  for (const object of [await world.pool(), ...(await world.claims()), ...(await world.addresses())]) show(object)
  const repairs = () =>
    ['keeps', 'waits', 'other'].filter((name) => planner.isRepair?.(`IPAddressClaim default/${name}`))
  expect(repairs()).toEqual([])
  await give('waits', '10.0.0.5')
  const late = await world.address('waits')
  expect(show(late)).toEqual(expect.arrayContaining(['IPAddressClaim default/waits', 'IPAddressClaim default/keeps']))
  expect(repairs()).toEqual(['keeps', 'waits'])
  const { apiVersion, kind, metadata } = late
  planner.observe({
    kind: 'absent',
    ref: { apiVersion, kind, namespace: metadata.namespace, name: 'waits' },
    uid: metadata.uid,
  })
  expect(repairs()).toEqual([])
})

test('runUntilQuiet repairs first as well', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.0/16']), claim('keeps'))
  await world.run()
  for (let nth = 0; nth < 50; nth++) await world.create(claim(`c${nth}`))
  await world.create(claim('late'))
  const offer = { address: Address.parse((await world.address('keeps')).spec.address), prefix: 16 }
  await world.create(newIPAddress(await world.claim('late'), await world.pool(), offer))
  let written = 0
  let sharedFor = Number.POSITIVE_INFINITY
  const counting = storeOver(world.store, {
    create: async (object) => world.store.create(object).finally(() => written++),
    delete: async (ref, options) => {
      if (ref.name === 'late') sharedFor = written
      return world.store.delete(ref, options)
    },
  })
  await runUntilQuiet(counting, [inCluster()], { now: () => world.nowMs })
  expect(new Set(Object.values(await world.bindings())).size).toBe(52)
  expect(sharedFor).toBe(0)
})

test('the IPAddress of a Service that has an address is created before other Services get theirs', async () => {
  const timers = new VirtualTimers()
  const kinds = new ServiceWorld().store
  const store = storeOver(kinds, {})
  for (const object of [range('kubernetes', '10.0.0.0/16'), using('has', '10.0.200.1')]) {
    unwrap(await store.create(object))
  }
  for (let nth = 0; nth < BACKLOG; nth++) unwrap(await store.create(service(`s${nth}`)))
  const { controller, stop } = start(slow(store, timers), serviceIPs({ seed: 1, graceSeconds: 2 }), timers)
  const isMissing = async () => !(await store.get({ ...ServiceAddress.info, name: '10.0.200.1' })).ok
  expect(await lasting(timers, isMissing)).toBeLessThan(2000 + 20 * WRITE_MS)
  expect(controller.load.waiting).toBeGreaterThan(BACKLOG / 2)
  await stop()
})
