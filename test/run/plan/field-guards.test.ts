import type { Json, KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { type Effect, type JsonPatchEffect, type Plan, patchIfFields } from 'ipam-kit/plan'
import { runPlan, settle } from 'ipam-kit/run'
import type { JsonPatch, Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { explainEffect } from '../../../src/plan/plan.js'

const ref = { apiVersion: 'example.com/v1', kind: 'Node', name: 'n' }
const plan = (...effects: Effect[]): Plan => ({ outcome: { kind: 'test', message: 'a test' }, effects })
const guarded = (fields: { readonly [path: string]: Json }, patch: JsonPatch, more: object = {}): JsonPatchEffect => ({
  kind: 'patch',
  ref,
  patch,
  if: { fields },
  why: 'a test',
  ...more,
})
const addCidr: JsonPatch = [{ op: 'add', path: '/spec/cidr', value: '10.0.0.0/24' }]
const noCidr = guarded({ 'spec.cidr': null }, addCidr)

async function stored(fields: object = { spec: {} }): Promise<{ store: Store; object: KubeObject }> {
  const kinds = [{ ...ref, plural: 'nodes', namespaced: false, statusSubresource: true }]
  const store = memoryStore({ now: () => 0, kinds })
  const { apiVersion, kind, name } = ref
  const object = unwrap(await store.create({ apiVersion, kind, metadata: { name }, ...fields } as KubeObject))
  return { store, object }
}

const get = async (store: Store) => unwrap(await store.get(ref))

describe('a JSON patch under a field guard', () => {
  test('is done whatever else others have changed of the object', async () => {
    const { store, object } = await stored()
    unwrap(await store.patch(ref, { metadata: { labels: { busy: '1' } } }))
    const effect = patchIfFields(object, { 'spec.cidr': null }, addCidr, 'a test')
    expect(effect.if).toEqual({ uid: object.metadata.uid, fields: { 'spec.cidr': null } })
    expect(await runPlan(plan(effect), store)).toMatchObject({ kind: 'done', changes: [{ kind: 'present' }] })
    expect((await get(store)).spec).toEqual({ cidr: '10.0.0.0/24' })
  })

  test.each<[string, object, { readonly [path: string]: Json }, string, string]>([
    ['a field is set', { spec: { cidr: 'x' } }, { 'spec.cidr': null }, 'no spec.cidr', '"x"'],
    ['a field has another value', { spec: { cidr: 'x' } }, { 'spec.cidr': 'y' }, 'spec.cidr "y"', '"x"'],
    ['a field has no value', {}, { 'spec.cidr': 'y' }, 'spec.cidr "y"', 'none'],
    ['one of two does not hold', { spec: { a: 1 } }, { 'spec.a': 1, 'spec.b': 2 }, 'spec.b 2', 'none'],
    ['a list differs', { spec: { a: [1, 2] } }, { 'spec.a': [2, 1] }, 'spec.a [2,1]', '[1,2]'],
    [
      'a key with dots has another value',
      { metadata: { name: 'n', annotations: { 'a.b/c': 'x' } } },
      { '/metadata/annotations/a.b~1c': 'y' },
      '/metadata/annotations/a.b~1c "y"',
      '"x"',
    ],
  ])('is a conflict if %s', async (_, fields, guards, expected, actual) => {
    const { store, object } = await stored(fields)
    expect(await runPlan(plan(guarded(guards, addCidr)), store)).toMatchObject({
      kind: 'conflict',
      failure: { code: 'STORE_CONFLICT', context: { object: 'Node n', expected, actual } },
      changes: [],
    })
    expect(await get(store)).toEqual(object)
  })

  test('is done if lists, objects and keys with dots are as they were', async () => {
    const fields = { metadata: { name: 'n', annotations: { 'a.b/c': 'x' } }, spec: { a: [1, { c: 1, d: 2 }] } }
    const { store } = await stored(fields)
    const guards = { '/metadata/annotations/a.b~1c': 'x', 'spec.a': [1, { d: 2, c: 1 }], 'spec.a.1.d': 2 }
    expect(await runPlan(plan(guarded(guards, addCidr)), store)).toMatchObject({ kind: 'done' })
  })

  test('a test that the patch begins with is a guard too, and one after a change is not', async () => {
    const { store } = await stored({ spec: { a: 1 } })
    const first: JsonPatch = [{ op: 'test', path: '/spec/a', value: 2 }, ...addCidr]
    const last: JsonPatch = [...addCidr, { op: 'test', path: '/spec/a', value: 2 }]
    expect(await runPlan(plan(guarded({}, first)), store)).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
    expect(await runPlan(plan(guarded({}, last)), store)).toMatchObject({ failure: { code: 'STORE_INVALID' } })
  })

  test('without operations it stops the plan, and shows nothing', async () => {
    const { store } = await stored({ spec: { a: 1 } })
    const next: Effect = { kind: 'patch', ref, patch: { spec: { b: 1 } }, if: {}, why: '' }
    expect(await runPlan(plan(guarded({ 'spec.a': 2 }, []), next), store)).toMatchObject({ kind: 'conflict' })
    const done = await runPlan(plan(guarded({ 'spec.a': 1 }, []), next), store)
    expect(done).toMatchObject({ kind: 'done', changes: [{ object: { spec: { a: 1, b: 1 } } }] })
    expect(done.changes).toHaveLength(1)
  })

  test('of a status compares fields outside of the status', async () => {
    const { store } = await stored({ spec: { a: 1 } })
    const patch: JsonPatch = [{ op: 'add', path: '/status', value: { x: 1 } }]
    const ofStatus = (a: number) => guarded({ 'spec.a': a }, patch, { subresource: 'status' })
    expect(await runPlan(plan(ofStatus(2)), store)).toMatchObject({ kind: 'conflict' })
    expect(await runPlan(plan(ofStatus(1)), store)).toMatchObject({ kind: 'done' })
    expect((await get(store)).status).toEqual({ x: 1 })
  })

  test('is a conflict for another object under the name, and for one that does not exist', async () => {
    const { store } = await stored()
    const other = { ...noCidr, if: { ...noCidr.if, uid: 'another' } }
    expect(await runPlan(plan(other), store)).toMatchObject({ failure: { code: 'STORE_CONFLICT' } })
    const elsewhere = { ...noCidr, ref: { ...ref, name: 'none' } }
    expect(await runPlan(plan(elsewhere), store)).toMatchObject({
      kind: 'conflict',
      failure: { code: 'STORE_NOT_FOUND' },
    })
  })
})

describe('a refusal is told apart from a guard that does not hold', () => {
  const refusal = fail('STORE_INVALID', { object: 'Node n', path: 'spec', problem: 'a webhook denies it' })
  /** A store that refuses some patches, with what it was asked for. */
  function refusing(store: Store, times: number, meanwhile: () => Promise<unknown> = async () => undefined) {
    const versions: (string | undefined)[] = []
    const under = storeOver(store, {
      patch: async (place, patch, options) => {
        versions.push(options?.resourceVersion)
        if (versions.length > times) return store.patch(place, patch, options)
        await meanwhile()
        return refusal
      },
    })
    return { versions, store: under }
  }

  test('what the store refuses while the guard holds is refused, in one version of the object', async () => {
    const { store, object } = await stored()
    const denied = refusing(store, 2)
    expect(await runPlan(plan(noCidr), denied.store)).toMatchObject({
      kind: 'failed',
      failure: { code: 'STORE_INVALID', context: { problem: 'a webhook denies it' } },
    })
    expect(denied.versions).toEqual([undefined, object.metadata.resourceVersion])
  })

  test('a guard that did not hold at the time, and holds again when it is read, is no refusal', async () => {
    const { store } = await stored()
    const denied = refusing(store, 1)
    expect(await runPlan(plan(noCidr), denied.store)).toMatchObject({ kind: 'done' })
  })

  test('a patch that names a version is sent once', async () => {
    const { store, object } = await stored()
    const denied = refusing(store, 9)
    const { resourceVersion } = object.metadata
    const effect = { ...noCidr, if: { ...noCidr.if, resourceVersion } }
    expect(await runPlan(plan(effect), denied.store)).toMatchObject({ failure: { code: 'STORE_INVALID' } })
    expect(denied.versions).toEqual([resourceVersion])
  })

  test('without a guard nothing is read, and nothing is sent again', async () => {
    const { store } = await stored()
    const denied = refusing(store, 9)
    expect(await runPlan(plan(guarded({}, addCidr)), denied.store)).toMatchObject({
      failure: { code: 'STORE_INVALID' },
    })
    expect(denied.versions).toHaveLength(1)
  })

  test('an object without the part that the field is in refuses the patch', async () => {
    const { store } = await stored({})
    expect(await runPlan(plan(noCidr), store)).toMatchObject({ kind: 'failed', failure: { code: 'STORE_INVALID' } })
  })

  test('what cannot be read is that failure', async () => {
    const { store } = await stored()
    const down = fail('STORE_IO', { operation: 'get', problem: 'down' })
    const denied = storeOver(refusing(store, 9).store, { get: async () => down })
    expect(await runPlan(plan(noCidr), denied)).toMatchObject({ kind: 'failed', failure: { code: 'STORE_IO' } })
  })

  test('it is not sent again by a writer that may no longer write', async () => {
    const { store } = await stored()
    let asked = 0
    const denied = refusing(store, 1)
    const canWrite = () => ++asked === 1
    expect(await runPlan(plan(noCidr), denied.store, { canWrite })).toMatchObject({
      kind: 'failed',
      failure: { code: 'STORE_WRITE_WITHHELD' },
    })
    expect(denied.versions).toHaveLength(1)
  })
})

describe('a plan with field guards that cannot be carried out is refused before anything is done', () => {
  test.each<[string, object]>([
    ['a merge patch', { ...noCidr, patch: { spec: { cidr: 'x' } } }],
    ['an empty path', guarded({ '': null }, addCidr)],
    ['a path with an empty part', guarded({ 'spec..cidr': null }, addCidr)],
    ['a pointer that is none', guarded({ '/spec~2': null }, addCidr)],
    ['no value', guarded({ 'spec.cidr': undefined as unknown as Json }, addCidr)],
    ['fields that are no object', { ...noCidr, if: { fields: 'spec' } }],
  ])('%s', async (_, effect) => {
    const { store, object } = await stored()
    const before: Effect = { kind: 'patch', ref, patch: { spec: { b: 1 } }, if: {}, why: '' }
    await expect(runPlan(plan(before, effect as Effect), store)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await get(store)).toEqual(object)
  })
})

describe('explainEffect of a field guard', () => {
  test.each<[JsonPatchEffect, string]>([
    [noCidr, 'patch Node n (spec.cidr) if it has no spec.cidr: a test'],
    [
      guarded({ 'spec.a': 1, 'spec.b': null }, [...addCidr, { op: 'remove', path: '/spec/a~1b' }], {
        if: { uid: 'u', fields: { 'spec.a': 1, 'spec.b': null } },
      }),
      'patch Node n (spec.cidr, spec.a/b) if it has uid u and spec.a 1 and no spec.b: a test',
    ],
    [guarded({ 'spec.a': ['x'] }, []), 'continue only with Node n if it has spec.a ["x"]: a test'],
    [
      guarded({}, [{ op: 'test', path: '/spec/a', value: true }, ...addCidr]),
      'patch Node n (spec.cidr) if it has spec.a true: a test',
    ],
    [
      guarded({ 'spec.a': 'x'.repeat(1000) }, []),
      `continue only with Node n if it has spec.a "${'x'.repeat(99)}…: a test`,
    ],
  ])('%#', (effect, words) => {
    expect(explainEffect(effect)).toBe(words)
  })
})

describe('settle after a patch under a field guard whose outcome is unknown', () => {
  const unknown = fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'Node n', problem: 'cut' }).failure
  const unsettled = (effect: Effect) => ({ effect, failure: unknown })

  // the first one may wait in the server still, and would be done whenever the field is free
  test('sends it again, and so knows that the first one cannot be done any more', async () => {
    const { store } = await stored()
    expect(unwrap(await settle(store, unsettled(noCidr)))).toMatchObject({
      change: { kind: 'present', object: { spec: { cidr: '10.0.0.0/24' } } },
      source: 'written',
    })
    expect(await runPlan(plan(noCidr), store)).toMatchObject({ kind: 'conflict' })
  })

  test('reads what it was if the first one was done, or another one has set the field', async () => {
    const { store, object } = await stored({ spec: { cidr: 'x' } })
    expect(unwrap(await settle(store, unsettled(noCidr)))).toEqual({
      change: { kind: 'present', object },
      source: 'read',
    })
  })

  test('reads that the object does not exist, or is another one', async () => {
    const { store, object } = await stored()
    const elsewhere = { ...noCidr, ref: { ...ref, name: 'none' } }
    expect(unwrap(await settle(store, unsettled(elsewhere)))).toMatchObject({ change: { kind: 'absent' } })
    const other = { ...noCidr, if: { ...noCidr.if, uid: 'another' } }
    expect(unwrap(await settle(store, unsettled(other)))).toEqual({
      change: { kind: 'present', object },
      source: 'read',
    })
  })

  test.each([
    ['is refused', fail('STORE_INVALID', { object: 'n', path: 'spec', problem: 'no' }), 'STORE_INVALID'],
    [
      'meets a conflict that is none',
      fail('STORE_CONFLICT', { object: 'n', expected: 'a', actual: 'b' }),
      'STORE_CONFLICT',
    ],
    ['is not answered', fail('STORE_IO', { operation: 'patch', problem: 'down' }), 'STORE_IO'],
    ['may be done later as well', { ok: false, failure: unknown } as const, 'STORE_OUTCOME_UNKNOWN'],
  ])('does not know if it %s while the guard holds', async (_, answer, code) => {
    const { store } = await stored()
    const faulty = storeOver(store, { patch: async () => answer })
    expect(await settle(faulty, unsettled(noCidr))).toMatchObject({ ok: false, failure: { code } })
  })

  test.each<[string, JsonPatchEffect]>([
    ['its guard is on another field', guarded({ 'spec.a': null }, addCidr)],
    ['it leaves the field as the guard names it', guarded({ 'spec.cidr': '10.0.0.0/24' }, addCidr)],
    ['it names a version', { ...noCidr, if: { ...noCidr.if, resourceVersion: '1' } }],
    ['it removes what is not there', guarded({ 'spec.cidr': null }, [{ op: 'remove', path: '/spec/cidr' }])],
  ])('reads, and sends nothing, if %s: sent twice it could be done twice', async (_, effect) => {
    const { store } = await stored()
    let patches = 0
    const counted = storeOver(store, {
      patch: (...parameters) => {
        patches++
        return store.patch(...parameters)
      },
    })
    expect(unwrap(await settle(counted, unsettled(effect)))).toMatchObject({ source: 'read' })
    expect(patches).toBe(0)
  })

  test('sends it again also if it removes the field that the guard names', async () => {
    const { store } = await stored({ spec: { cidr: 'x' } })
    const removal = guarded({ 'spec.cidr': 'x' }, [{ op: 'remove', path: '/spec/cidr' }])
    expect(unwrap(await settle(store, unsettled(removal)))).toMatchObject({ source: 'written' })
    expect((await get(store)).spec).toEqual({})
  })

  test('reads only after a conflict, after the server has given up, and sends nothing without leave', async () => {
    const { store, object } = await stored()
    const conflict = fail('STORE_CONFLICT', { object: 'n', expected: 'a', actual: 'b' }).failure
    const read = { change: { kind: 'present', object }, source: 'read' }
    expect(unwrap(await settle(store, { effect: noCidr, failure: conflict }))).toEqual(read)
    expect(unwrap(await settle(store, unsettled(noCidr), { serverHasGivenUp: true }))).toEqual(read)
    expect(await settle(store, unsettled(noCidr), { canWrite: () => false })).toMatchObject({
      failure: { code: 'STORE_WRITE_WITHHELD' },
    })
  })
})
