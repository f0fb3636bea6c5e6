import { unwrap } from 'ipam-kit/errors'
import type { ListQuery, Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import type { LabelRequirement } from '../../src/store/store.js'
import { createIn, failure, invalidAt, newStore, type Parts, POOL, query, ref, START_MS } from './memory-fixture.js'

let store: Store

beforeEach(() => {
  const fields = { ...POOL, selectableFields: ['spec.color', 'spec.size', 'spec.flags.on', 'spec.missing'] }
  store = memoryStore({ now: () => START_MS, kinds: [fields] })
})

const create = (name: string, parts: Parts = {}) => createIn(store, name, parts)

async function names(parts: Partial<ListQuery>): Promise<string[]> {
  return unwrap(await store.list({ ...query, ...parts })).items.map(({ metadata }) => metadata.name)
}

describe('label expressions', () => {
  const chosen = (...labelExpressions: readonly LabelRequirement[]) => names({ labelExpressions })

  it('are those of Kubernetes', async () => {
    await create('a', { metadata: { labels: { l: '1' } } })
    await create('b', { metadata: { labels: { l: '' } } })
    await create('c')
    expect(await chosen({ key: 'l', operator: 'In', values: ['1', '2'] })).toEqual(['a'])
    expect(await chosen({ key: 'l', operator: 'In', values: [''] })).toEqual(['b'])
    expect(await chosen({ key: 'l', operator: 'NotIn', values: ['1'] })).toEqual(['b', 'c'])
    expect(await chosen({ key: 'l', operator: 'Exists' })).toEqual(['a', 'b'])
    expect(await chosen({ key: 'l', operator: 'DoesNotExist', values: [] })).toEqual(['c'])
    expect(await chosen({ key: 'l', operator: 'Exists' }, { key: 'l', operator: 'NotIn', values: [''] })).toEqual(['a'])
    expect(await chosen()).toEqual(['a', 'b', 'c'])
  })

  it('take no label for there that every object inherits', async () => {
    await create('a', { metadata: { labels: { l: '1' } } })
    expect(await chosen({ key: 'constructor', operator: 'Exists' })).toEqual([])
    expect(await chosen({ key: 'toString', operator: 'DoesNotExist' })).toEqual(['a'])
  })

  it.each<[unknown]>([
    [[{}]],
    [[{ key: 'l', operator: 'Is', values: ['1'] }]],
    [[{ key: 'l', operator: 'In' }]],
    [[{ key: 'l', operator: 'In', values: [] }]],
    [[{ key: 'l', operator: 'NotIn', values: '1' }]],
    [[{ key: 'l', operator: 'Exists', values: ['1'] }]],
    [[{ key: 5, operator: 'Exists' }]],
    [[{ key: 'l', operator: 'In', values: [5] }]],
    [['l']],
    ['l'],
  ])('that are none are a mistake of the caller: %j', async (labelExpressions) => {
    const listed = store.list({ ...query, labelExpressions: labelExpressions as never })
    await expect(listed).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it.each<Partial<ListQuery>>([
    { labels: { 'a b': 'x' } },
    { labels: { a: 'x y' } },
    { labelExpressions: [{ key: '/x', operator: 'Exists' }] },
    { labelExpressions: [{ key: 'x', operator: 'In', values: ['ok', 'not ok'] }] },
  ])('that Kubernetes refuses are refused: %j', async (parts) => {
    expect(failure(await store.list({ ...query, ...parts }))).toEqual(invalidAt(/^label/))
    const events = store.watch({ ...query, ...parts })[Symbol.asyncIterator]()
    expect(await events.next()).toMatchObject({ value: { type: 'ERROR', failure: { code: 'STORE_INVALID' } } })
  })
})

describe('fields', () => {
  const chosen = (fields: { readonly [path: string]: string }) => names({ fields })

  it('are compared as texts', async () => {
    await create('a', { spec: { color: 'blue', size: 7, flags: { on: true } } })
    await create('b', { spec: { color: '', size: null, flags: [] } })
    await create('c', { spec: { color: { deep: 1 } } })
    expect(await chosen({ 'spec.color': 'blue' })).toEqual(['a'])
    expect(await chosen({ 'spec.size': '7' })).toEqual(['a'])
    expect(await chosen({ 'spec.flags.on': 'true' })).toEqual(['a'])
    expect(await chosen({ 'spec.color': '' })).toEqual(['b', 'c'])
    expect(await chosen({ 'spec.size': '' })).toEqual(['b', 'c'])
    expect(await chosen({ 'spec.missing': '' })).toEqual(['a', 'b', 'c'])
    expect(await chosen({ 'metadata.name': 'b', 'metadata.namespace': 'ns' })).toEqual(['b'])
    expect(await chosen({ 'metadata.namespace': 'other' })).toEqual([])
  })

  it.each(['spec.other', 'spec', 'metadata.uid', '', 'constructor'])('refuses %j, which is none', async (path) => {
    expect(failure(await store.list({ ...query, fields: { [path]: 'x' } }))).toEqual(invalidAt(/^fields/, 'selectable'))
  })

  it('are those of all versions of a kind', async () => {
    const versions = ['v1', 'v2'].map((version) => ({
      ...POOL,
      apiVersion: `ipam.example.com/${version}`,
      selectableFields: [`spec.${version}`],
    }))
    store = memoryStore({ now: () => START_MS, kinds: versions })
    await create('a', { spec: { v1: 'x' } })
    expect(await chosen({ 'spec.v1': 'x', 'spec.v2': '' })).toEqual(['a'])
  })
})

describe('pages', () => {
  it('continue after the last object, also if that is deleted', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await create(name)
    const first = unwrap(await store.list(query, { limit: 2 }))
    await store.delete(ref('b'))
    await create('b-b')
    const second = unwrap(await store.list(query, { limit: 2, continue: first.continue }))
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['b-b', 'c'])
    expect(second.resourceVersion).toBe(first.resourceVersion)
    const third = unwrap(await store.list(query, { limit: 2, continue: second.continue }))
    expect([third.items.length, third.continue]).toEqual([1, undefined])
  })

  it('end without a token when the last one is full', async () => {
    for (const name of ['a', 'b']) await create(name)
    expect(unwrap(await store.list(query, { limit: 2 })).continue).toBeUndefined()
  })

  it.each(['x', 'v1:1:', 'v1:1:ns/', 'v1:1:ns/A', 'v1:x:ns/a', 'v2:1:ns/a', 'v1:1:NS/a'])(
    'refuses the token %j',
    async (token) => {
      expect(failure(await store.list(query, { continue: token }))).toEqual(invalidAt('continue'))
    },
  )

  it.each([0, -1, 1.5, Number.NaN, '5'])('rejects the limit %j', async (limit) => {
    await expect(store.list(query, { limit: limit as number })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('propagation', () => {
  const finalizers = async (name: string) => unwrap(await store.get(ref(name))).metadata.finalizers

  it.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ] as const)('%s holds the object behind its own finalizers', async (propagation, finalizer) => {
    const made = await create('a', { metadata: { finalizers: ['a.example/f'] } })
    const held = unwrap(await store.delete(ref('a'), { propagation }))
    expect(held.metadata).toMatchObject({
      finalizers: ['a.example/f', finalizer],
      generation: made.metadata.generation! + 1,
    })
    expect(await finalizers('a')).toEqual(['a.example/f', finalizer])
  })

  it('may be changed while the object goes, which does not raise the generation again', async () => {
    await create('a')
    const first = unwrap(await store.delete(ref('a'), { propagation: 'Foreground' }))
    const second = unwrap(await store.delete(ref('a'), { propagation: 'Orphan' }))
    expect(second.metadata).toMatchObject({ finalizers: ['orphan'], generation: first.metadata.generation })
    expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp)
    expect(unwrap(await store.delete(ref('a'), { propagation: 'Orphan' }))).toBe(second)
    await store.delete(ref('a'), { propagation: 'Background' })
    expect(failure(await store.get(ref('a')))).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it('left out leaves the finalizers of the collector as they are', async () => {
    await create('a')
    await store.delete(ref('a'), { propagation: 'Foreground' })
    await store.delete(ref('a'))
    expect(await finalizers('a')).toEqual(['foregroundDeletion'])
  })

  it('is one of three', async () => {
    await create('a')
    const deleted = newStore().delete(ref('a'), { propagation: 'foreground' as never })
    await expect(deleted).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})
