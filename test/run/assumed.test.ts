import { fc, test as property } from '@fast-check/vitest'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { Assumed, type CachedList, runKey } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
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

  test('does not hide anybody for an absence of which it is not known whose it is', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'absent', ref: ref('a') })
    expect(assumed.size).toBe(0)
    expect(names(assumed.overlay(kind, cached(9, thing('a', 9))))).toEqual(['a@9'])
    // of an object that was written without a uid
    const { uid: _, ...metadata } = thing('a', 5).metadata
    assumed.note({ kind: 'present', object: { ...kind, metadata } })
    assumed.note({ kind: 'absent', ref: ref('a') })
    expect(assumed.size).toBe(0)
  })

  test('takes an absence without a uid for that of the object that was written', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    assumed.note({ kind: 'absent', ref: ref('a') })
    assumed.note({ kind: 'absent', ref: ref('a') })
    expect(assumed.overlay(kind, cached(5, thing('a', 5)))).toEqual([])
    expect(names(assumed.overlay(kind, cached(8, thing('a', 8, { uid: 'next' }))))).toEqual(['a@8'])
    expect(assumed.size).toBe(0)
  })

  test('keeps a deletion until the cache has got as far as the last known write', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'a' })
    expect(assumed.overlay(kind, cached(3))).toEqual([])
    expect(assumed.overlay(kind, cached(5, thing('a', 5)))).toEqual([])
    expect(assumed.size).toBe(1)
    expect(assumed.overlay(kind, cached(6))).toEqual([])
    expect(assumed.size).toBe(0)
  })

  test('hides one that had the name before what was written and removed', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5, { uid: 'new' }) })
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'new' })
    expect(assumed.overlay(kind, cached(3, thing('a', 2, { uid: 'old' })))).toEqual([])
    expect(assumed.overlay(kind, cached(5, thing('a', 5, { uid: 'new' })))).toEqual([])
    expect(names(assumed.overlay(kind, cached(7, thing('a', 7, { uid: 'next' }))))).toEqual(['a@7'])
    expect(assumed.size).toBe(0)
  })

  test('knows all that it has removed under one name', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'first' })
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'second' })
    expect(assumed.overlay(kind, cached(3, thing('a', 3, { uid: 'first' })))).toEqual([])
    expect(assumed.overlay(kind, cached(5, thing('a', 5, { uid: 'second' })))).toEqual([])
    expect(assumed.overlay(kind, cached(6))).toEqual([])
    expect(assumed.size).toBe(0)
  })

  test('is not taken in by a write that is told after the end of its object', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    assumed.note({ kind: 'absent', ref: ref('a'), uid: 'a' })
    assumed.note({ kind: 'present', object: thing('a', 7) })
    expect(assumed.overlay(kind, cached(6, thing('a', 5)))).toEqual([])
    expect(assumed.overlay(kind, cached(6))).toEqual([])
    expect(assumed.size).toBe(1)
    expect(assumed.overlay(kind, cached(7, thing('a', 7)))).toEqual([])
    // another one of that name is written
    assumed.note({ kind: 'present', object: thing('a', 9, { uid: 'next' }) })
    expect(names(assumed.overlay(kind, cached(8)))).toEqual(['a@9'])
  })

  test('keeps kinds apart, and one kind together in all its versions', () => {
    const assumed = new Assumed()
    assumed.note({ kind: 'present', object: thing('a', 5) })
    expect(assumed.overlay({ ...kind, kind: 'Other' }, cached(4))).toEqual([])
    expect(names(assumed.overlay({ ...kind, apiVersion: 'example.com/v2' }, cached(4)))).toEqual(['a@5'])
    assumed.clear()
    expect(assumed.overlay(kind, cached(4))).toEqual([])
  })

  test('shows an own write whose answer was lost, when it was read', async () => {
    const below = memoryStore({ now: () => 0 })
    let cuts = 1
    const store = storeOver(below, {
      create: async (object) => {
        const done = await below.create(object)
        if (cuts-- > 0) return fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })
        return done
      },
    })
    const behind = unwrap(await below.list(kind))
    const assumed = new Assumed()
    const given = () => assumed.overlay(kind, behind).map(({ spec }) => (spec as { readonly number: number }).number)
    const done = new Set<string>()
    const planner: Planner = {
      name: 'numbers',
      watches: [],
      observe: () => [],
      isSummary: () => false,
      reset: () => {},
      plan(name) {
        if (done.has(name)) return undefined
        done.add(name)
        const number = [1, 2, 3].find((each) => !given().includes(each))
        const object = { ...kind, metadata: { namespace: 'ns', name }, spec: { number } }
        return { outcome: { kind: 'given', message: '' }, effects: [{ kind: 'create', object, why: '' }] }
      },
    }
    for (const name of ['a', 'b']) {
      await runKey(planner, name, store, { now: () => 0, show: (change) => assumed.note(change) })
    }
    const { items } = unwrap(await below.list(kind))
    expect(items.map(({ spec }) => spec)).toEqual([{ number: 1 }, { number: 2 }])
  })

  // A store, a cache that lags behind it by any number of writes, own writes and those of others. What is not known from the own writes or from
  // the cache can not be changed: a deletion says nothing of when its object was made.
  property.prop([
    fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b'),
        op: fc.constantFrom('create', 'patch', 'delete', 'delete', 'read', 'catch up'),
        mine: fc.boolean(),
      }),
      { maxLength: 40, size: 'max' },
    ),
  ])('shows every own write and all that was read, and of others at least what the cache has', async (operations) => {
    const store = memoryStore({ now: () => 0 })
    const assumed = new Assumed()
    const history = [unwrap(await store.list(kind))]
    let at = 0
    /** The last write of each object, by whom. */
    const last = new Map<string, { mine: boolean; object: KubeObject | undefined }>()
    /** The uid of the last one of a name that was removed. */
    const ends = new Map<string, string | undefined>()
    const look = () => new Map(assumed.overlay(kind, history[at]!).map((object) => [object.metadata.name, object]))
    for (const [i, { name, op, mine }] of operations.entries()) {
      const uid = mine ? look().get(name)?.metadata.uid : undefined
      if (op === 'catch up') at = Math.min(at + 1, history.length - 1)
      else if (op === 'read') {
        // as after a conflict, or a write whose answer was lost
        const found = await store.get(ref(name))
        const gone = look().get(name)?.metadata.uid
        if (found.ok) assumed.note({ kind: 'present', object: found.value })
        else assumed.note({ kind: 'absent', ref: ref(name), uid: gone, confirmed: true })
        const isKnown = found.ok || (gone !== undefined && gone === ends.get(name))
        last.set(name, { mine: isKnown, object: found.ok ? found.value : undefined })
      } else if (op === 'create' || !mine || uid !== undefined) {
        const done =
          op === 'create'
            ? await store.create({ ...kind, metadata: { namespace: 'ns', name }, spec: { i } })
            : op === 'patch'
              ? await store.patch(ref(name), { spec: { i } }, { uid })
              : await store.delete(ref(name), { uid })
        if (!done.ok) continue
        const object = op === 'delete' ? undefined : done.value
        const gone = { kind: 'absent', ref: ref(name), uid: done.value.metadata.uid } as const
        if (object === undefined) ends.set(name, gone.uid)
        if (mine) assumed.note(object === undefined ? gone : { kind: 'present', object })
        last.set(name, { mine, object })
        history.push(unwrap(await store.list(kind)))
      }
      const shown = look()
      for (const [name, { mine, object }] of last) if (mine) expect(shown.get(name)).toEqual(object)
      for (const { metadata } of history[at]!.items) {
        const version = shown.get(metadata.name)?.metadata.resourceVersion ?? metadata.resourceVersion
        expect(Number(version)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion))
      }
    }
    // the cache at the end: nothing is left to assume
    const now = history.at(-1)!
    expect(assumed.overlay(kind, now)).toEqual(now.items)
    expect(assumed.size).toBe(0)
  })
})
