import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { type Change, type Effect, type EventEffect, guard, type Plan } from 'ipam-kit/plan'
import { runPlan } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { explainEffect } from '../../../src/plan/plan.js'

const ref: ObjectRef = { apiVersion: 'example.com/v1', kind: 'Thing', namespace: 'default', name: 'x' }
const thing = (metadata: object = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'x', namespace: 'default', ...metadata },
  spec: { size: 1 },
})
const plan = (...effects: Effect[]): Plan => ({ outcome: { kind: 'test', message: 'a test' }, effects })
const patch = (body: { readonly [field: string]: unknown }, resourceVersion?: string): Effect => ({
  kind: 'patch',
  ref,
  patch: body,
  if: { resourceVersion },
  why: 'a test',
})

async function stored(metadata: object = {}): Promise<{ store: Store; object: KubeObject }> {
  const store = memoryStore({ now: () => 0 })
  const created = await store.create(thing(metadata))
  if (!created.ok) throw new Error('not created')
  return { store, object: created.value }
}

describe('runPlan', () => {
  test('does the effects in order and answers with what the store says', async () => {
    const store = memoryStore({ now: () => 0 })
    const result = await runPlan(
      plan({ kind: 'create', object: thing(), why: '' }, patch({ spec: { size: 2 } })),
      store,
    )
    expect(result.kind).toBe('done')
    expect(result.changes).toMatchObject([
      { kind: 'present', object: { spec: { size: 1 } } },
      { kind: 'present', object: { spec: { size: 2 } } },
    ])
  })

  test('stops at the first effect that cannot be done, and reports what was done before', async () => {
    const { store, object } = await stored()
    const result = await runPlan(
      plan(
        patch({ spec: { size: 2 } }, object.metadata.resourceVersion),
        { kind: 'create', object: thing(), why: '' },
        patch({ spec: { size: 3 } }),
      ),
      store,
    )
    expect(result).toMatchObject({
      kind: 'conflict',
      effect: { kind: 'create' },
      failure: { code: 'STORE_ALREADY_EXISTS' },
    })
    expect(result.changes).toHaveLength(1)
    expect((await store.get(ref)) as unknown).toMatchObject({ value: { spec: { size: 2 } } })
  })

  test('carries the version that the planner saw over its own writes', async () => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    const result = await runPlan(plan(patch({ spec: { size: 2 } }, seen), patch({ spec: { size: 3 } }, seen)), store)
    expect(result.kind).toBe('done')
  })

  test.each([
    ['between them', [true, false, true]],
    ['before them', [false, true, true]],
    ['before and between them', [false, false, true, false, true]],
  ])('also with effects for no version %s', async (_, versioned) => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    const steps = versioned.map((isVersioned, size) => patch({ spec: { size } }, isVersioned ? seen : undefined))
    expect(await runPlan(plan(...steps), store)).toMatchObject({ kind: 'done' })
    expect((await store.get(ref)) as unknown).toMatchObject({ value: { spec: { size: steps.length - 1 } } })
  })

  test.each([
    ['between them', [true, false, true]],
    ['before them', [false, true]],
  ])('but not over a write of others that comes before an effect for no version %s', async (_, versioned) => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    let writes = 0
    const meddling: Store = storeOver(store, {
      patch: async (...parameters) => {
        if (++writes === versioned.indexOf(false) + 1)
          await store.patch(ref, { metadata: { labels: { by: 'another' } } })
        return store.patch(...parameters)
      },
    })
    const steps = versioned.map((isVersioned, size) => patch({ spec: { size } }, isVersioned ? seen : undefined))
    expect(await runPlan(plan(...steps), meddling)).toMatchObject({
      kind: 'conflict',
      failure: { code: 'STORE_CONFLICT' },
    })
  })

  test('an effect for no version, with none for one after it, is done whatever others have written', async () => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    let others = 0
    const meddling: Store = storeOver(store, {
      patch: async (...parameters) => {
        const answer = await store.patch(...parameters)
        await store.patch(ref, { metadata: { labels: { by: `another-${++others}` } } })
        return answer
      },
    })
    const steps = [
      patch({ spec: { size: 2 } }, seen),
      patch({ spec: { size: 3 } }),
      patch({ spec: { size: 4 } }),
    ] as const
    expect(await runPlan(plan(...steps), meddling)).toMatchObject({ kind: 'done' })
    expect(await runPlan(plan(...steps.slice(1)), meddling)).toMatchObject({ kind: 'done' })
  })

  test('and over an own deletion that finalizers hold up', async () => {
    const { store } = await stored()
    const held = unwrap(await store.patch(ref, { metadata: { finalizers: ['x.dev/hold'] } }))
    const { uid = '', resourceVersion } = held.metadata
    const release = patch({ metadata: { finalizers: null } }, resourceVersion)
    const remove: Effect = { kind: 'delete', ref, if: { uid, resourceVersion }, why: '' }
    const result = await runPlan(plan(remove, release), store)
    expect(result).toMatchObject({ kind: 'done', changes: [{ kind: 'present' }, { kind: 'absent', uid }] })
    expect((await store.get(ref)).ok).toBe(false)
  })

  test('but not over the writes of others', async () => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    await store.patch(ref, { spec: { size: 9 } })
    const result = await runPlan(plan(patch({ spec: { size: 2 } }, seen)), store)
    expect(result).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
    expect((await store.get(ref)) as unknown).toMatchObject({ value: { spec: { size: 9 } } })
  })

  test('nor between two own writes', async () => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    const meddling: Store = storeOver(store, {
      patch: async (...parameters) => {
        const answer = await store.patch(...parameters)
        await store.patch(ref, { metadata: { labels: { by: 'somebody-else' } } })
        return answer
      },
    })
    const result = await runPlan(plan(patch({ spec: { size: 2 } }, seen), patch({ spec: { size: 3 } }, seen)), meddling)
    expect(result).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
  })

  test('nor to an effect that was made for another version than the first', async () => {
    const { store, object } = await stored()
    const seen = object.metadata.resourceVersion
    const result = await runPlan(plan(patch({ spec: { size: 2 } }, seen), patch({ spec: { size: 3 } }, '0815')), store)
    expect(result).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
  })

  test('nor to an object of the same kind and name in another group', async () => {
    const { store, object } = await stored()
    const other = await store.create({ ...thing(), apiVersion: 'example.org/v1' })
    if (!other.ok) throw new Error('not created')
    await store.patch({ ...ref, apiVersion: 'example.org/v1' }, { spec: { size: 9 } })
    const seen = object.metadata.resourceVersion
    const elsewhere: Effect = {
      ...patch({ spec: { size: 3 } }, seen),
      ref: { ...ref, apiVersion: 'example.org/v1' },
    } as Effect
    expect(await runPlan(plan(patch({ spec: { size: 2 } }, seen), elsewhere), store)).toMatchObject({
      kind: 'conflict',
    })
  })

  test('shows a deleted object as absent, whether or not finalizers held it before', async () => {
    const { store, object } = await stored()
    const uid = object.metadata.uid as string
    const result = await runPlan(plan({ kind: 'delete', ref, if: { uid }, why: '' }), store)
    expect(result).toEqual({ kind: 'done', changes: [{ kind: 'absent', ref, uid }] })
  })

  test('shows an object that finalizers hold as present, and as absent when the last finalizer goes', async () => {
    const { store, object } = await stored({ finalizers: ['example.com/hold'] })
    const uid = object.metadata.uid as string
    const held = await runPlan(plan({ kind: 'delete', ref, if: { uid }, why: '' }), store)
    expect(held.changes).toMatchObject([
      { kind: 'present', object: { metadata: { finalizers: ['example.com/hold'] } } },
    ])
    const gone = await runPlan(plan(patch({ metadata: { finalizers: [] } })), store)
    expect(gone.changes).toEqual([{ kind: 'absent', ref, uid }])
  })

  test('takes an object that is gone already as deleted', async () => {
    const result = await runPlan(
      plan({ kind: 'delete', ref, if: { uid: 'u' }, why: '' }),
      memoryStore({ now: () => 0 }),
    )
    expect(result).toEqual({ kind: 'done', changes: [{ kind: 'absent', ref, uid: 'u', confirmed: true }] })
  })

  test('continues where no object may have a name and none has, and tells nothing of it', async () => {
    const store = memoryStore({ now: () => 0 })
    const result = await runPlan(
      plan({ kind: 'absent', ref, why: '' }, { kind: 'create', object: thing(), why: '' }),
      store,
    )
    expect(result).toMatchObject({ kind: 'done', changes: [{ kind: 'present' }] })
  })

  test('stops where no object may have a name and any object has it', async () => {
    const { store } = await stored()
    const remove: Effect = { kind: 'delete', ref, if: { uid: 'u' }, why: '' }
    const result = await runPlan(plan({ kind: 'absent', ref, why: '' }, remove), store)
    expect(result).toMatchObject({ kind: 'conflict', changes: [], failure: { code: 'STORE_CONFLICT' } })
    expect(explainEffect({ kind: 'absent', ref, why: 'so' })).toBe('continue only if there is no Thing default/x: so')
  })

  test('hands the propagation of a deletion to the store', async () => {
    const { store, object } = await stored()
    const uid = object.metadata.uid as string
    const result = await runPlan(plan({ kind: 'delete', ref, if: { uid }, propagation: 'Foreground', why: '' }), store)
    expect(result.changes).toMatchObject([{ object: { metadata: { finalizers: ['foregroundDeletion'] } } }])
  })

  test('never deletes another object that has got the name since', async () => {
    const { store } = await stored()
    const result = await runPlan(plan({ kind: 'delete', ref, if: { uid: 'the-old-one' }, why: '' }), store)
    expect(result).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
  })

  test('takes an object that is gone as a conflict for a patch', async () => {
    const result = await runPlan(plan(patch({ spec: {} })), memoryStore({ now: () => 0 }))
    expect(result).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_NOT_FOUND' } })
  })

  test('takes a write whose outcome is not known as a conflict: it has to be read again', async () => {
    const { store } = await stored()
    const failure = fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'x', problem: 'reset' }).failure
    const lossy: Store = storeOver(store, { patch: async () => ({ ok: false, failure }) })
    expect(await runPlan(plan(patch({ spec: {} })), lossy)).toMatchObject({ kind: 'conflict', failure })
  })

  test('reports a refusal as failed', async () => {
    const { store } = await stored()
    const result = await runPlan(plan(patch({ metadata: { finalizers: [7] } })), store)
    expect(result).toMatchObject({ kind: 'failed', failure: { code: 'STORE_INVALID' } })
  })

  test('shows each change as soon as it is done: what was written is known even if a later effect throws', async () => {
    const { store, object } = await stored()
    const seen: unknown[] = []
    const throwing: Store = storeOver(store, {
      create: async () => {
        throw new Error('the client broke')
      },
    })
    const steps = plan(patch({ spec: { size: 2 } }, object.metadata.resourceVersion), {
      kind: 'create',
      object: thing(),
      why: '',
    })
    await expect(runPlan(steps, throwing, { onChange: (change) => seen.push(change) })).rejects.toThrow(
      'the client broke',
    )
    expect(seen).toMatchObject([{ kind: 'present', object: { spec: { size: 2 } } }])
  })

  test('tells people last: an event that cannot be told loses no write', async () => {
    const { store, object } = await stored()
    const seen: unknown[] = []
    const event: EventEffect = { kind: 'event', about: ref, type: 'Normal', reason: 'Told', message: 'told' }
    const onEvent = () => {
      throw new Error('nobody listens')
    }
    const steps = plan(event, patch({ spec: { size: 2 } }, object.metadata.resourceVersion))
    await expect(runPlan(steps, store, { onEvent, onChange: (it) => seen.push(it) })).rejects.toThrow('nobody listens')
    expect(seen).toHaveLength(1)
  })

  test('goes past a guard only while the object is the one that was read, and writes nothing for it', async () => {
    const { store, object } = await stored()
    const next = patch({ spec: { size: 2 } })
    expect(await runPlan(plan(guard(object, 'a test'), next), store)).toMatchObject({ kind: 'done', changes: [{}] })
    expect(await runPlan(plan(guard(object, 'a test'), patch({ spec: { size: 9 } })), store)).toMatchObject({
      kind: 'conflict',
      changes: [],
    })
    expect((await store.get(ref)) as unknown).toMatchObject({ value: { spec: { size: 2 } } })
  })

  test('takes an object for there under the uid that an annotation of it has', async () => {
    const store = memoryStore({ now: () => 0 })
    unwrap(await store.create(thing({ annotations: { alias: 'a' } })))
    const run = (uid: string, uidAnnotation?: string) =>
      runPlan(plan({ kind: 'absent', ref, uid, uidAnnotation, why: '' }), store)
    expect(await run('a', 'alias')).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
    expect(await run('b', 'alias')).toMatchObject({ kind: 'done' })
    expect(await run('a')).toMatchObject({ kind: 'done' })
  })

  describe('goes past an absence', () => {
    const absent = (uid: string): Effect => ({ kind: 'absent', ref, uid, why: 'a test' })
    const next = { kind: 'create', object: thing({ name: 'next' }), why: '' } as const
    const nextRef = { ...ref, name: 'next' }

    test('where the name is free', async () => {
      const store = memoryStore({ now: () => 0 })
      const seen: unknown[] = []
      const onChange = (change: Change, effect: Effect) => seen.push([effect.kind, change])
      const result = await runPlan(plan(absent('u'), next), store, { onChange })
      const change = { kind: 'absent', ref, uid: 'u', confirmed: true }
      expect(result).toMatchObject({ kind: 'done', changes: [change, { kind: 'present' }] })
      expect(seen).toMatchObject([
        ['absent', change],
        ['create', { kind: 'present' }],
      ])
    })

    test('where another object has the name', async () => {
      const { store, object } = await stored()
      const result = await runPlan(plan(absent('the-old-one'), next), store)
      expect(result).toMatchObject({ kind: 'done', changes: [{ kind: 'absent', ref, uid: 'the-old-one' }, {}] })
      expect((await store.get(ref)) as unknown).toMatchObject({ value: object })
    })

    test('and not where the object is there, in whatever version', async () => {
      const { store, object } = await stored({ finalizers: ['example.com/hold'] })
      await store.delete(ref)
      const result = await runPlan(plan(absent(object.metadata.uid as string), next), store)
      expect(result).toMatchObject({
        kind: 'conflict',
        effect: { kind: 'absent' },
        failure: { code: 'STORE_CONFLICT' },
        changes: [],
      })
      expect((await store.get(nextRef)).ok).toBe(false)
    })

    test('nor where the store does not answer', async () => {
      const { store } = await stored()
      const failure = fail('STORE_IO', { operation: 'get', problem: 'down' }).failure
      const down = storeOver(store, { get: async () => ({ ok: false, failure }) })
      expect(await runPlan(plan(absent('u'), next), down)).toMatchObject({ kind: 'failed', failure, changes: [] })
      expect((await store.get(nextRef)).ok).toBe(false)
    })
  })

  test('hands events to the caller and writes nothing for them', async () => {
    const events: EventEffect[] = []
    const event: EventEffect = { kind: 'event', about: ref, type: 'Normal', reason: 'Told', message: 'told' }
    const store = memoryStore({ now: () => 0 })
    const result = await runPlan(plan(event), store, { onEvent: (it) => events.push(it) })
    expect(result).toEqual({ kind: 'done', changes: [] })
    expect(events).toEqual([event])
  })
})
