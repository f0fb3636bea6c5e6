import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, ok } from 'ipam-kit/errors'
import type { Effect } from 'ipam-kit/plan'
import { settle } from 'ipam-kit/run'
import type { Store, StoreFailure } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { SettleOptions, Unsettled } from '../../../src/run/plan/settle.js'

const ref = { apiVersion: 'x.dev/v1', kind: 'Thing', namespace: 'n', name: 'a' }
const object: KubeObject = { apiVersion: ref.apiVersion, kind: ref.kind, metadata: { namespace: 'n', name: 'a' } }
const create: Effect = { kind: 'create', object, why: '' }
const remove: Effect = { kind: 'delete', ref, if: { uid: 'u' }, why: '' }

const unknown = failureOf(fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' }))
const conflict = failureOf(fail('STORE_CONFLICT', { object: 'a', expected: '1', actual: '2' }))
const down = fail('STORE_IO', { operation: 'any', problem: 'down' })
const taken = fail('STORE_ALREADY_EXISTS', { object: 'a' })

function failureOf(failed: { readonly failure: StoreFailure }): StoreFailure {
  return failed.failure
}

let store: Store
beforeEach(() => {
  store = memoryStore({ now: () => 0 })
})

/** What is found out, in short, and which calls that took. */
async function settled(effect: Effect, failure: StoreFailure, faults: Partial<Store> = {}, options?: SettleOptions) {
  const calls: string[] = []
  const below = storeOver(store, faults)
  const told = storeOver(below, {
    get: (place) => {
      calls.push('get')
      return below.get(place)
    },
    create: (made) => {
      calls.push('create')
      return below.create(made)
    },
  })
  const result = await settle(told, { effect, failure }, options)
  if (!result.ok) return { calls, found: result.failure.code }
  const { change, source } = result.value
  return { calls, found: `${change.kind} ${source}${change.kind === 'absent' && change.confirmed ? ' confirmed' : ''}` }
}

describe('a create of unknown outcome', () => {
  // a write whose connection has died may still wait in the server: what is there now says nothing,
  // but what a later write meets does
  test('is done again', async () => {
    expect(await settled(create, unknown)).toEqual({ calls: ['create'], found: 'present written' })
    expect((await store.get(ref)).ok).toBe(true)
  })

  test('is settled by the object that it meets', async () => {
    await store.create(object)
    expect(await settled(create, unknown)).toEqual({ calls: ['create', 'get'], found: 'present read' })
  })

  test('is settled also if that is deleted again', async () => {
    const found = await settled(create, unknown, { create: async () => taken })
    expect(found).toEqual({ calls: ['create', 'get'], found: 'absent read confirmed' })
  })

  test.each([
    ['the store does not answer', down],
    ['the store refuses it', fail('STORE_INVALID', { object: 'a', path: 'spec', problem: 'no' })],
  ])('is settled if %s and the object is there, and not if it is not', async (_, answer) => {
    const faults = { create: async () => answer }
    expect(await settled(create, unknown, faults)).toEqual({ calls: ['create', 'get'], found: answer.failure.code })
    await store.create(object)
    expect(await settled(create, unknown, faults)).toEqual({ calls: ['create', 'get'], found: 'present read' })
  })

  test('is not settled by another object of that name: the one that was sent may come when that is gone', async () => {
    const owner = { apiVersion: 'x.dev/v1', kind: 'Owner', name: 'o', uid: 'o-1' }
    const metadata = { ...object.metadata, ownerReferences: [owner] }
    const sent: Effect = { kind: 'create', object: { ...object, metadata, spec: { at: [1, { of: 'x' }] } }, why: '' }
    const others: Partial<KubeObject>[] = [
      { spec: { at: [1, { of: 'y' }] }, metadata },
      { spec: { at: [1, { of: 'x' }, 3] }, metadata },
      { spec: { at: { 0: 1 } }, metadata },
      { spec: { at: null }, metadata },
      { metadata },
      { spec: { at: [1, { of: 'x' }] }, metadata: { ...metadata, ownerReferences: [{ ...owner, uid: 'o-2' }] } },
      { spec: { at: [1, { of: 'x' }] }, metadata: object.metadata },
    ]
    const faults = { create: async () => down }
    for (const other of others) {
      await store.create({ ...object, ...other })
      expect(await settled(sent, unknown, faults)).toEqual({ calls: ['create', 'get'], found: 'STORE_IO' })
      await store.delete(ref)
    }
    // with what the store has filled in, and others have added since
    const grown = { ...metadata, labels: { a: 'b' }, ownerReferences: [{ ...owner, uid: 'o-3', name: 'p' }, owner] }
    await store.create({ ...object, metadata: grown, spec: { at: [1, { of: 'x', size: 7 }], more: true } })
    expect(await settled(sent, unknown, faults)).toEqual({ calls: ['create', 'get'], found: 'present read' })
  })

  test('is not settled if that is unknown too, whatever is there: two may be on their way', async () => {
    const again = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
    await store.create(object)
    const found = await settled(create, unknown, { create: async () => again })
    expect(found).toEqual({ calls: ['create'], found: 'STORE_OUTCOME_UNKNOWN' })
  })

  test('is not settled if the object that it meets cannot be read', async () => {
    const found = await settled(create, unknown, { create: async () => taken, get: async () => down })
    expect(found).toEqual({ calls: ['create', 'get'], found: 'STORE_IO' })
  })

  test('is settled by a read once the server has given it up', async () => {
    const givenUp = { serverHasGivenUp: true }
    expect(await settled(create, unknown, {}, givenUp)).toEqual({ calls: ['get'], found: 'absent read confirmed' })
    await store.create(object)
    expect(await settled(create, unknown, {}, givenUp)).toEqual({ calls: ['get'], found: 'present read' })
  })
})

describe('anything else', () => {
  test.each([
    ['a create that met another object', create, failureOf(taken)],
    ['a delete of unknown outcome', remove, unknown],
    ['a delete after a conflict', remove, conflict],
  ])('is settled by a read: %s', async (_, effect, failure) => {
    expect(await settled(effect, failure)).toEqual({ calls: ['get'], found: 'absent read confirmed' })
    await store.create(object)
    expect(await settled(effect, failure)).toEqual({ calls: ['get'], found: 'present read' })
  })

  test('is not settled by a store that does not answer', async () => {
    expect(await settled(remove, unknown, { get: async () => down })).toEqual({ calls: ['get'], found: 'STORE_IO' })
  })

  test('names the uid that is gone', async () => {
    const found = await settle(store, { effect: remove, failure: conflict })
    expect(found).toEqual(ok({ change: { kind: 'absent', ref, uid: 'u', confirmed: true }, source: 'read' }))
  })
})

test.each([undefined, {}, { effect: remove }, { failure: conflict }])('nothing is not settled: %j', async (nothing) => {
  await expect(settle(store, nothing as Unsettled)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    context: { argument: 'unsettled' },
  })
})
