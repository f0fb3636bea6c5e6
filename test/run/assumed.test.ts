import { fc, test as property } from '@fast-check/vitest'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { Assumed, type CachedList } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'

const kind = { apiVersion: 'example.com/v1', kind: 'Thing' }
const thing = (name: string, version: number, parts: { uid?: string; spec?: unknown } = {}): KubeObject => {
  const { uid = name, spec } = parts
  return { ...kind, metadata: { name, namespace: 'ns', uid, resourceVersion: String(version) }, spec }
}
const ref = (name: string) => ({ ...kind, namespace: 'ns', name })
const cached = (version: number, ...items: KubeObject[]): CachedList => ({ items, resourceVersion: String(version) })
const names = (objects: readonly KubeObject[]) =>
  objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)

describe('Assumed', () => {
  test('shows what the cache does not show yet, and forgets it when it does', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    expect(names(assumed.overlay(kind, cached(4, thing('b', 3))))).toEqual(['b@3', 'a@5'])
    expect(assumed.size).toBe(1)
    expect(names(assumed.overlay(kind, cached(6, thing('a', 6), thing('b', 3))))).toEqual(['a@6', 'b@3'])
    expect(assumed.size).toBe(0)
  })

  test('shows the newer of two versions', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 10) })
    expect(names(assumed.overlay(kind, cached(9, thing('a', 9))))).toEqual(['a@10'])
    assumed.note({ kind: 'present', object: thing('a', 8) })
    expect(names(assumed.overlay(kind, cached(9, thing('a', 9))))).toEqual(['a@10'])
    expect(names(assumed.overlay(kind, cached(11, thing('a', 11))))).toEqual(['a@11'])
  })

  test('hides what was removed until the cache has seen it go', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'a' })
    expect(assumed.overlay(kind, cached(4, thing('a', 3)))).toEqual([])
    expect(names(assumed.overlay(kind, cached(6, thing('a', 6, { uid: 'another' }))))).toEqual(['a@6'])
    expect(assumed.size).toBe(0)
  })

  test('does not take the end of an earlier one for that of the one that was written', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 6, { uid: 'new' }) })
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'old' })
    expect(names(assumed.overlay(kind, cached(4)))).toEqual(['a@6'])
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'new' })
    expect(assumed.overlay(kind, cached(4))).toEqual([])
  })

  test('does not keep for ever what was removed by others before the cache ever saw it', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    expect(assumed.overlay(kind, cached(7))).toEqual([])
    expect(assumed.size).toBe(0)
  })

  test('keeps kinds apart, and one kind together in all its versions', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    expect(assumed.overlay({ ...kind, kind: 'Other' }, cached(4))).toEqual([])
    expect(names(assumed.overlay({ ...kind, apiVersion: 'example.com/v2' }, cached(4)))).toEqual(['a@5'])
    assumed.clear()
    expect(assumed.overlay(kind, cached(4))).toEqual([])
  })

  // a store, a cache that lags behind it by any number of writes, own writes and those of others
  property.prop([
    fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        op: fc.constantFrom('create', 'patch', 'delete'),
        mine: fc.boolean(),
      }),
      { maxLength: 30 },
    ),
    fc.nat(30),
  ])('shows every own write, and of others at least what the cache has', async (operations, lag) => {
    const store = memoryStore({ now: () => 0 })
    const assumed = new Assumed()
    const history = [unwrap(await store.list({ ...kind }))]
    /** The last write of each object, by whom. */
    const last = new Map<string, { mine: boolean; object: KubeObject | undefined }>()
    for (const [i, { name, op, mine }] of operations.entries()) {
      const body = { ...kind, metadata: { namespace: 'ns', name }, spec: { i } }
      const done =
        op === 'create'
          ? await store.create(body)
          : op === 'patch'
            ? await store.patch(ref(name), { spec: { i } })
            : await store.delete(ref(name))
      if (!done.ok) continue
      const { uid } = done.value.metadata
      if (mine)
        assumed.note(
          op === 'delete' ? { kind: 'absent', ref: ref(name), uid } : { kind: 'present', object: done.value },
        )
      last.set(name, { mine, object: op === 'delete' ? undefined : done.value })
      history.push(unwrap(await store.list({ ...kind })))
    }
    const behind = history[Math.max(0, history.length - 1 - lag)]!
    const shown = new Map(assumed.overlay(kind, behind).map((object) => [object.metadata.name, object]))
    for (const [name, { mine, object }] of last) if (mine) expect(shown.get(name)).toEqual(object)
    // the cache at the end: nothing is left to assume
    const now = history.at(-1)!
    expect(assumed.overlay(kind, now)).toEqual(now.items)
    expect(assumed.size).toBe(0)
  })
})
