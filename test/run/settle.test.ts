import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, ok } from 'ipam-kit/errors'
import type { Effect } from 'ipam-kit/plan'
import { settle } from 'ipam-kit/run'
import type { Store, StoreFailure } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'

const ref = { apiVersion: 'x.dev/v1', kind: 'Thing', namespace: 'n', name: 'a' }
const object: KubeObject = { apiVersion: ref.apiVersion, kind: ref.kind, metadata: { namespace: 'n', name: 'a' } }
const create: Effect = { kind: 'create', object, why: '' }
const remove: Effect = { kind: 'delete', ref, if: { uid: 'u' }, why: '' }

const unknown = failureOf(fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' }))
const conflict = failureOf(fail('STORE_CONFLICT', { object: 'a', expected: '1', actual: '2' }))
const down = fail('STORE_IO', { operation: 'any', problem: 'down' })
const taken = fail('STORE_ALREADY_EXISTS', { object: 'a' })
const missing = fail('STORE_NOT_FOUND', { object: 'a' })

function failureOf(failed: { readonly failure: StoreFailure }): StoreFailure {
  return failed.failure
}

let store: Store
beforeEach(() => {
  store = memoryStore({ now: () => 0 })
})

/** What is found out, in short, and which calls that took. */
async function settled(effect: Effect, failure: StoreFailure, faults: Partial<Store> = {}) {
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
  const result = await settle(told, { effect, failure })
  if (!result.ok) return { calls, found: result.failure.code }
  const { change, source } = result.value
  return { calls, found: `${change.kind} ${source}${change.kind === 'absent' && change.confirmed ? ' confirmed' : ''}` }
}

describe('a create of unknown outcome', () => {
  test('is settled by the object that is there', async () => {
    await store.create(object)
    expect(await settled(create, unknown)).toEqual({ calls: ['get'], found: 'present read' })
  })

  // a write whose connection has died may still wait in the server: that nothing is there now says nothing
  test('is done again if nothing is there', async () => {
    expect(await settled(create, unknown)).toEqual({ calls: ['get', 'create'], found: 'present written' })
    expect((await store.get(ref)).ok).toBe(true)
  })

  test('is settled by the one that has come meanwhile', async () => {
    const late: Store['create'] = async (made) => {
      await store.create(made)
      return taken
    }
    expect(await settled(create, unknown, { create: late })).toEqual({
      calls: ['get', 'create', 'get'],
      found: 'present read',
    })
  })

  test.each([
    ['the store does not answer', down],
    ['that is unknown too', fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })],
    ['the store refuses it', fail('STORE_INVALID', { object: 'a', path: 'spec', problem: 'no' })],
  ])('is not settled if, done again, %s', async (_, answer) => {
    const found = await settled(create, unknown, { create: async () => answer })
    expect(found).toEqual({ calls: ['get', 'create'], found: answer.failure.code })
  })

  test('is not settled while others make and remove the object', async () => {
    const { calls, found } = await settled(create, unknown, { create: async () => taken, get: async () => missing })
    expect(found).toBe('STORE_ALREADY_EXISTS')
    expect(calls.length).toBeLessThan(20)
  })

  test('is settled once they stop', async () => {
    let left = 3
    const busy: Store['create'] = async (made) => (left-- > 0 ? taken : store.create(made))
    expect((await settled(create, unknown, { create: busy })).found).toBe('present written')
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
