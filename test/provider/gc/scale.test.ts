import type { KubeObject } from 'ipam-kit/crd/meta'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import type { Propagation } from '../../../src/store/store.js'
import { share } from '../../setup/depth.js'
import { blocking, kinds, object, ownerOf, refTo } from './world.js'

const MANY = share(10_000)

/** A store with an owner of many, and how many requests it got, lists left out. */
async function ownerOfMany(traits: { readonly finalizers?: readonly string[] } = {}) {
  const below = memoryStore({ now: () => 0, kinds })
  let requests = 0
  const store: Store = storeOver(below, {
    get: (ref) => {
      requests++
      return below.get(ref)
    },
    patch: (ref, patch, options) => {
      requests++
      return below.patch(ref, patch, options)
    },
    delete: (ref, options) => {
      requests++
      return below.delete(ref, options)
    },
  })
  const made = await below.create(object('box'))
  if (!made.ok) throw new Error(JSON.stringify(made.failure))
  for (let i = 0; i < MANY; i++)
    await below.create(object(`item-${i}`, { owners: [blocking(ownerOf(made.value))], ...traits }))
  const items = async (): Promise<readonly KubeObject[]> => {
    const listed = await below.list({ apiVersion: 'example.com/v1', kind: 'Item' })
    return listed.ok ? listed.value.items : []
  }
  /** Runs a collector, and gives the requests and the plans that it took. */
  const run = async () => {
    requests = 0
    const result = await runUntilQuiet(store, [gcPlanner({ kinds })], { now: () => 0 })
    expect(result.failures).toEqual([])
    return { requests, planned: result.planned }
  }
  const remove = (propagation: Propagation) => below.delete(refTo('box'), { propagation })
  return { store: below, run, items, remove }
}

describe('thousands of dependents', () => {
  test('whose owner is gone: one look for it, one deletion each', async () => {
    const { run, items, remove } = await ownerOfMany()
    await remove('Background')
    const { requests, planned } = await run()
    expect(await items()).toEqual([])
    expect(requests).toBe(MANY + 1)
    expect(planned).toBeLessThanOrEqual(2 * MANY)
  })

  test('of an owner that waits for them: a look at it and a deletion each', async () => {
    const { run, items, remove, store } = await ownerOfMany()
    await remove('Foreground')
    const { requests, planned } = await run()
    expect(await items()).toEqual([])
    expect((await store.get(refTo('box'))).ok).toBe(false)
    expect(requests).toBe(2 * MANY + 1)
    expect(planned).toBeLessThanOrEqual(2 * MANY + 2)
  })

  test('that hold it up: the owner is planned once they have all been', async () => {
    const { run, items, remove } = await ownerOfMany({ finalizers: ['example.com/held'] })
    await remove('Foreground')
    const { requests, planned } = await run()
    expect((await items()).length).toBe(MANY)
    expect(requests).toBe(2 * MANY)
    expect(planned).toBeLessThanOrEqual(2 * MANY + 2)
  })

  test('that are let go', async () => {
    const { run, items, remove, store } = await ownerOfMany()
    await remove('Orphan')
    const { requests, planned } = await run()
    expect((await items()).filter((it) => it.metadata.ownerReferences !== undefined)).toEqual([])
    expect((await store.get(refTo('box'))).ok).toBe(false)
    expect(requests).toBe(2 * MANY + 1)
    expect(planned).toBeLessThanOrEqual(2 * MANY + 2)
  })
})

test('a chain of a thousand goes from its end, and is no ring', async () => {
  const store = memoryStore({ now: () => 0, kinds })
  let owner: KubeObject | undefined
  for (let i = 0; i < 1000; i++) {
    const owners = owner === undefined ? [] : [blocking(ownerOf(owner))]
    const made = await store.create(object(`item-${i}`, { owners }))
    if (made.ok) owner = made.value
  }
  await store.delete(refTo('item-0'), { propagation: 'Foreground' })
  const result = await runUntilQuiet(store, [gcPlanner({ kinds })], { now: () => 0 })
  const listed = await store.list({ apiVersion: 'example.com/v1', kind: 'Item' })
  expect(listed).toMatchObject({ ok: true, value: { items: [] } })
  expect([...result.outcomes.values()].filter((it) => it.kind === 'unblocked')).toEqual([])
})
