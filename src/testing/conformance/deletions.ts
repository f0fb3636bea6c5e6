import type { KubeObject } from '../../crd/meta/object.js'
import type { Rules } from './case.js'
import { type Bench, expectEqual, expectFailure, expectTrue, POOL, withMeta } from './harness.js'

export const deletions: Rules = {
  'delete: removes an object that nothing holds': async (bench) => {
    const made = await bench.create('a', { metadata: { labels: { l: '1' } }, spec: { x: 1 } })
    const gone = await bench.delete('a')
    const { resourceVersion } = made.metadata
    expectEqual(withMeta(gone, { resourceVersion }), made, 'the answer is the object as it was, but for its version')
    await bench.expectGone('a')
    expectEqual(await bench.names(), [], 'the list')
  },
  'delete: fails with STORE_NOT_FOUND for what is not there': async (bench) => {
    expectFailure(await bench.store.delete(bench.ref('a')), 'STORE_NOT_FOUND', 'delete')
  },
  'delete: fails with STORE_CONFLICT if a precondition does not hold': async (bench) => {
    const made = await bench.create('a')
    const changed = await bench.patch('a', { spec: { x: 1 } })
    const other = { uid: 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c' }
    expectFailure(await bench.store.delete(bench.ref('a'), other), 'STORE_CONFLICT', 'another uid')
    const { resourceVersion } = made.metadata
    expectFailure(await bench.store.delete(bench.ref('a'), { resourceVersion }), 'STORE_CONFLICT', 'a stale version')
    await expectNotDeleted(bench, changed, made)
    const { metadata } = changed
    const exact = { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
    await bench.delete('a', exact)
  },
  'delete: preconditions have to hold for an object with finalizers too': async (bench) => {
    const made = await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    const changed = await bench.patch('a', { spec: { x: 1 } })
    await expectNotDeleted(bench, changed, made)
    const { uid, resourceVersion } = changed.metadata
    const held = await bench.delete('a', { uid, resourceVersion })
    await expectNotDeleted(bench, held, changed)
    await release(bench)
  },
  'delete: an object with finalizers stays until the last one is removed': async (bench) => {
    const finalizers = ['example.com/f', 'example.com/g']
    const made = await bench.create('a', { metadata: { finalizers, labels: { l: '1' } }, spec: { x: 1 } })
    const held = await bench.delete('a')
    expectTrue(typeof held.metadata.deletionTimestamp === 'string', 'it has a deletionTimestamp')
    expectEqual(held.metadata.finalizers, made.metadata.finalizers, 'the finalizers')
    expectEqual([held.metadata.labels, held.spec], [made.metadata.labels, made.spec], 'the rest of it')
    await bench.expectStored(held)
    const one = await bench.patch('a', { metadata: { finalizers: ['example.com/g'] } })
    expectEqual(one.metadata.deletionTimestamp, held.metadata.deletionTimestamp, 'the deletionTimestamp')
    await bench.patch('a', { metadata: { finalizers: null } })
    await bench.expectGone('a')
  },
  'delete: a second one changes nothing': async (bench) => {
    await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    const held = await bench.delete('a')
    expectEqual(await bench.delete('a'), held, 'the answer')
    await release(bench)
  },
  'delete: an update that removes the last finalizer removes the object': async (bench) => {
    await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    const held = await bench.delete('a')
    await bench.update(withMeta(held, { finalizers: [] }))
    await bench.expectGone('a')
  },
  'delete: no finalizer can be added afterwards': async (bench) => {
    await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    await bench.delete('a')
    const more = { metadata: { finalizers: ['example.com/f', 'example.com/g'] } }
    expectFailure(await bench.store.patch(bench.ref('a'), more), 'STORE_INVALID', 'patch')
    await release(bench)
  },
  'delete: what is being deleted can still be changed, and not revived': async (bench) => {
    await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    const held = await bench.delete('a')
    const changed = await bench.patch('a', { spec: { x: 1 } })
    expectEqual(changed.spec, { x: 1 }, 'the spec')
    const revived = await bench.store.update(withMeta(changed, { deletionTimestamp: undefined }))
    if (revived.ok) {
      const { deletionTimestamp } = revived.value.metadata
      expectEqual(deletionTimestamp, held.metadata.deletionTimestamp, 'the deletionTimestamp')
    }
    expectFailure(await bench.store.create(bench.pool('a')), 'STORE_ALREADY_EXISTS', 'create')
    await release(bench)
  },
  'delete: raises the generation where finalizers hold the object': async (bench) => {
    const made = await bench.create('a', { metadata: { finalizers: ['example.com/f'] } })
    const held = await bench.delete('a')
    expectEqual(held.metadata.generation, made.metadata.generation! + 1, 'the generation')
    await release(bench)
  },
  'delete: Foreground and Orphan hold the object for the collector': {
    unless: 'collectsGarbage',
    run: async (bench) => {
      for (const [propagation, finalizer] of [
        ['Foreground', 'foregroundDeletion'],
        ['Orphan', 'orphan'],
      ] as const) {
        for (const finalizers of [[], ['example.com/f']]) {
          await bench.create('a', { metadata: { finalizers } })
          const held = await bench.delete('a', { propagation })
          expectEqual(held.metadata.finalizers, [...finalizers, finalizer], 'the finalizers')
          expectTrue(typeof held.metadata.deletionTimestamp === 'string', 'it has a deletionTimestamp')
          await release(bench)
        }
      }
    },
  },
  'delete: Background removes at once': async (bench) => {
    await bench.create('a')
    await bench.delete('a', { propagation: 'Background' })
    await bench.expectGone('a')
  },
  'delete: leaves the dependents of an owner alone': {
    unless: 'collectsGarbage',
    run: async (bench) => {
      const owner = await bench.create('owner')
      const { uid = '', name } = owner.metadata
      const reference = { apiVersion: POOL.apiVersion, kind: POOL.kind, name, uid }
      const made = await bench.create('dependent', { metadata: { ownerReferences: [reference] } })
      await bench.delete('owner')
      expectEqual(await bench.get('dependent'), made, 'the dependent')
    },
  },
}

/**
 * Tries to delete an object under one condition that holds and one that does not, and each of those
 * alone.
 */
async function expectNotDeleted(bench: Bench, object: KubeObject, before: KubeObject): Promise<void> {
  const { uid, resourceVersion } = object.metadata
  const other = 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c'
  const stale = before.metadata.resourceVersion
  for (const conditions of [
    { uid: other },
    { resourceVersion: stale },
    { uid: other, resourceVersion },
    { uid, resourceVersion: stale },
  ]) {
    const deleted = await bench.store.delete(bench.ref('a'), conditions)
    expectFailure(deleted, 'STORE_CONFLICT', `delete under ${JSON.stringify(conditions)}`)
  }
  await bench.expectStored(object)
}

async function release(bench: Bench): Promise<void> {
  await bench.patch('a', { metadata: { finalizers: null } })
  await bench.expectGone('a')
}
