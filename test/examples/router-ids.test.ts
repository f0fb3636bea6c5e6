import { Node } from 'ipam-kit/crd/core'
import { fail } from 'ipam-kit/errors'
import { Controller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { ROUTER_ID, routerIds } from '../../docs/examples/router-ids.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'

const RANGE = '10.0.0.1-10.0.0.3'
let store: Store

beforeEach(() => {
  store = memoryStore({ now: () => 0, kinds: [Node.info] })
})

async function nodes(...names: readonly string[]): Promise<void> {
  for (const name of names) await store.create({ ...base, metadata: { name, annotations: { zone: 'a' } } })
}

const base = { apiVersion: 'v1', kind: 'Node' }

async function idsOf(): Promise<readonly (string | undefined)[]> {
  const listed = await store.list(base)
  return listed.ok ? listed.value.items.map(({ metadata }) => metadata.annotations?.[ROUTER_ID]) : []
}

describe('a planner without claims', () => {
  test('gives each Node an address of its own, and a Node that comes later the one that is free again', async () => {
    await nodes('a', 'b', 'c', 'd')
    const planner = routerIds(RANGE)
    const first = await runUntilQuiet(store, [planner], { now: () => 0 })
    expect(await idsOf()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3', undefined])
    expect(first.outcomes.get('d')).toEqual({ kind: 'exhausted', message: `no free address in ${RANGE}` })
    await store.delete({ ...base, name: 'b' })
    await runUntilQuiet(store, [planner], { now: () => 0 })
    expect(await idsOf()).toEqual(['10.0.0.1', '10.0.0.3', '10.0.0.2'])
  })

  test('writes whatever else of the Node changes meanwhile, and never over an address', async () => {
    await nodes('a', 'b')
    const planner = routerIds(RANGE)
    let writes = 0
    const patch: Store['patch'] = async (ref, change, options) => {
      // the kubelet is faster, and then somebody who writes an address by hand
      if (writes++ === 0) await store.patch(ref, { metadata: { annotations: { heartbeat: '1' } } })
      if (ref.name === 'b') await store.patch(ref, { metadata: { annotations: { [ROUTER_ID]: '10.0.0.9' } } })
      return store.patch(ref, change, options)
    }
    const { failures } = await runUntilQuiet(storeOver(store, { patch }), [planner], { now: () => 0 })
    expect([failures, await idsOf()]).toEqual([[], ['10.0.0.1', '10.0.0.9']])
  })

  test('is quiet while the store refuses its writes, and does not wake the Nodes that wait', async () => {
    await nodes('a', 'b', 'c')
    let writes = 0
    const patch: Store['patch'] = async (ref) => {
      writes++
      return fail('STORE_INVALID', { object: ref.name, path: '', problem: 'the test refuses it' })
    }
    const { failures } = await runUntilQuiet(storeOver(store, { patch }), [routerIds(RANGE)], { now: () => 0 })
    // runUntilQuiet plans each refused key once more
    expect([failures.length, writes]).toEqual([3, 6])
  })

  test('says of an address that two Nodes have it', async () => {
    await nodes('a', 'b')
    for (const name of ['a', 'b']) {
      await store.patch({ ...base, name }, { metadata: { annotations: { [ROUTER_ID]: '10.0.0.1' } } })
    }
    const { outcomes } = await runUntilQuiet(store, [routerIds(RANGE)], { now: () => 0 })
    expect(outcomes.get('a')).toEqual({ kind: 'duplicate', message: '10.0.0.1 is also that of b' })
  })

  test('keeps the address of a Node whose annotation cannot be read any more', async () => {
    await nodes('a', 'b', 'c', 'd')
    const planner = routerIds(RANGE)
    await runUntilQuiet(store, [planner], { now: () => 0 })
    await store.patch({ ...base, name: 'b' }, { metadata: { annotations: { [ROUTER_ID]: '10.0.0.x' } } })
    const { outcomes } = await runUntilQuiet(store, [planner], { now: () => 0 })
    expect(await idsOf()).toEqual(['10.0.0.1', '10.0.0.x', '10.0.0.3', undefined])
    expect(outcomes.get('b')).toEqual({ kind: 'unreadable', message: `${ROUTER_ID} is not an address: 10.0.0.x` })
  })

  test('runs in a controller, several Nodes at a time', async () => {
    const names = Array.from({ length: 20 }, (_, nth) => `node-${nth}`)
    await nodes(...names)
    const timers = new VirtualTimers()
    const problems: unknown[] = []
    const onProblem = (problem: unknown) => void problems.push(problem)
    const controller = new Controller({ store, planners: [routerIds('10.0.1.0/27')], timers, onProblem })
    const ended = controller.run()
    await timers.pass(1000)
    controller.stop()
    await ended
    expect([problems, new Set(await idsOf()).size]).toEqual([[], 20])
    expect(await idsOf()).not.toContain(undefined)
  })
})
