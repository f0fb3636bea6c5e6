import type { KubeObject } from 'ipam-kit/crd/meta'
import { type Change, ObjectCache, type Watch } from 'ipam-kit/plan'
import { beforeEach, describe, expect, test } from 'vitest'

const kind = {
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
  statusSubresource: false,
} as const
const ref = { apiVersion: 'example.com/v1', kind: 'Thing', namespace: 'default', name: 'x' }

interface ThingOptions {
  readonly name?: string
  readonly uid?: string | undefined
  readonly version?: string | undefined
  readonly labels?: { readonly [key: string]: string }
  readonly spec?: unknown
  readonly created?: string
}

function thing({ name = 'x', uid, version, labels, spec, created }: ThingOptions): KubeObject {
  const metadata = { name, namespace: 'default', uid, resourceVersion: version, labels, creationTimestamp: created }
  return { apiVersion: ref.apiVersion, kind: ref.kind, metadata, spec }
}

const present = (uid: string | undefined, version?: string): Change => ({
  kind: 'present',
  object: thing({ uid, version }),
})
const absent = (uid?: string, confirmed?: true): Change => ({ kind: 'absent', ref, uid, confirmed })
const objects: Watch<KubeObject> = { ...kind, parse: (object) => ({ ok: true, value: object }) }

describe('versions', () => {
  /**
   * What each change is for a planner: `news`, an `echo` of what is known, or `old`: it is left
   * out.
   */
  function taken(...changes: readonly Change[]): string[] {
    const cache = new ObjectCache()
    cache.open(objects)
    return changes.map((change) => {
      const applied = cache.apply(change)
      if (applied.isNewer) return 'news'
      return applied.deltaFor(objects) === undefined ? 'old' : 'echo'
    })
  }

  test.each<[string, readonly Change[], string[]]>([
    ['the same version again is an echo', [present('a', '5'), present('a', '5')], ['news', 'echo']],
    ['an older version is old', [present('a', '10'), present('a', '9')], ['news', 'old']],
    ['versions are numbers, not texts', [present('a', '9'), present('a', '10')], ['news', 'news']],
    [
      'versions that are not numbers are taken as they come',
      [present('a', 'x2'), present('a', 'x1')],
      ['news', 'news'],
    ],
    [
      'a missing version is taken as it comes',
      [present('a', '5'), present('a'), present('a')],
      ['news', 'news', 'news'],
    ],
    [
      'a deleted object does not come back',
      [present('a', '5'), absent('a'), present('a', '6')],
      ['news', 'news', 'old'],
    ],
    [
      'a deletion without a uid is believed until the object is seen again',
      [present('a', '5'), absent(), present('a', '5')],
      ['news', 'news', 'news'],
    ],
    ['but not for an older version', [present('a', '5'), absent(), present('a', '4')], ['news', 'news', 'old']],
    [
      'an object without a uid deletes no other',
      [present('a', '5'), present(undefined, '6'), present('a', '7')],
      ['news', 'news', 'news'],
    ],
    [
      'another object of the name is news',
      [present('a', '5'), absent('a'), present('b', '7')],
      ['news', 'news', 'news'],
    ],
    ['the late deletion of an earlier object is old', [present('b', '7'), absent('a')], ['news', 'old']],
    [
      'and after it the earlier object stays deleted',
      [present('b', '7'), absent('a'), present('a', '8')],
      ['news', 'old', 'old'],
    ],
    [
      'an object that was replaced unseen stays deleted',
      [present('a', '5'), present('b', '7'), present('a', '8')],
      ['news', 'news', 'old'],
    ],
    ['the absence of an object that is not known tells nothing', [absent('a'), absent()], ['echo', 'echo']],
    ['a proof of absence holds for what comes later', [absent('a', true), present('a', '5')], ['echo', 'old']],
  ])('%s', (_, changes, expected) => {
    expect(taken(...changes)).toEqual(expected)
  })

  test('objects of other namespaces, names and groups are other objects', () => {
    const cache = new ObjectCache()
    const others: Watch<KubeObject> = { ...objects, apiVersion: 'example.org/v1' }
    for (const watch of [objects, others]) cache.open(watch)
    cache.apply(present('a', '10'))
    for (const change of [{ namespace: 'other' }, { name: 'y' }, { apiVersion: 'example.org/v1' }]) {
      const { apiVersion, kind, ...metadata } = { ...ref, ...change }
      const object = { apiVersion, kind, metadata: { ...metadata, uid: JSON.stringify(change), resourceVersion: '1' } }
      expect(cache.apply({ kind: 'present', object }).isNewer).toBe(true)
    }
  })

  test('that a uid is not under another name says nothing of the object that has it', () => {
    const misnamed: Change = { kind: 'absent', ref: { ...ref, name: 'y' }, uid: 'a', confirmed: true }
    expect(taken(misnamed, present('a', '5'), misnamed, present('a', '6'))).toEqual(['echo', 'news', 'echo', 'news'])
  })

  test('10,000 deleted objects are remembered, and clear() forgets all', () => {
    const cache = new ObjectCache()
    cache.open(objects)
    for (let i = 0; i <= 10_000; i++) cache.apply(absent(`uid-${i}`))
    expect(cache.apply(present('uid-0', '1')).isNewer).toBe(true)
    expect(cache.apply(present('uid-10000', '2')).isNewer).toBe(false)
    cache.clear()
    expect(cache.apply(present('uid-10000', '1')).isNewer).toBe(true)
  })

  test('an absence that was asked for before the object came is not believed', () => {
    const cache = new ObjectCache()
    const known = cache.open(objects)
    const since = cache.clock
    cache.apply(present('a', '5'))
    cache.apply(absent(), { since })
    expect(known.presence(ref)).toBe('present')
    cache.apply(absent(), { since: cache.clock })
    expect(known.presence(ref)).toBe('absent')
  })

  test.each<[string, string, string, string]>([
    ['versions that cannot be compared', 'x1', 'x2', 'x2'],
    ['a newer version', '5', '7', '7'],
    ['an older version', '7', '5', '7'],
  ])('an object that was read before the last change: %s', (_, known, read, expected) => {
    const cache = new ObjectCache()
    const things = cache.open(objects)
    const since = cache.clock
    cache.apply(present('a', known))
    cache.apply(present('a', read), { since })
    const isComparable = /^\d+$/.test(known)
    expect(things.get(ref)?.metadata.resourceVersion).toBe(isComparable ? expected : known)
    // and one that was read after it
    cache.apply(present('a', read), { since: cache.clock })
    expect(things.get(ref)?.metadata.resourceVersion).toBe(expected)
  })

  test('an object that was read before the store said that it does not exist is not believed', () => {
    const cache = new ObjectCache()
    const things = cache.open(objects)
    cache.apply(present('a', '5'))
    const since = cache.clock
    cache.apply(absent(undefined, true))
    cache.apply(present('a', '5'), { since })
    expect(things.presence(ref)).toBe('absent')
    cache.apply(present('a', '6'), { since })
    expect(things.presence(ref)).toBe('present')
  })

  test('nor of another object that has come under the name since', () => {
    const cache = new ObjectCache()
    const known = cache.open(objects)
    cache.apply(present('a', '5'))
    const since = cache.clock
    cache.apply(present('b', '7'))
    expect(cache.apply(absent(), { since }).isStale).toBe(true)
    expect(known.presence(ref)).toBe('present')
  })
})

describe('lists', () => {
  let cache: ObjectCache
  const list = (items: readonly KubeObject[], resourceVersion: string) => {
    const since = cache.clock
    const found = cache.changesOf(objects, { items, resourceVersion }, since)
    if (found.kind === 'changes') for (const change of found.changes) cache.apply(change, { selection: objects })
    return found
  }
  const names = () => [...cache.open(objects)].map(({ metadata }) => metadata.name)
  beforeEach(() => {
    cache = new ObjectCache()
  })

  test('tell what has changed, the oldest object first, and what is no longer there', () => {
    const [young, old] = [
      thing({ name: 'young', uid: 'y', version: '3', created: '2026-01-02T00:00:00Z' }),
      thing({ name: 'old', uid: 'o', version: '2', created: '2026-01-01T00:00:00Z' }),
    ]
    expect(list([young, old], '5')).toMatchObject({ changes: [{ object: old }, { object: young }] })
    expect(list([young, old], '6')).toEqual({ kind: 'changes', changes: [] })
    expect(list([young], '7')).toMatchObject({ changes: [{ kind: 'absent', uid: 'o' }] })
    expect(names()).toEqual(['young'])
  })

  test('objects without a version are compared by their content', () => {
    const object = thing({ uid: 'a', spec: 1 })
    expect(list([object], '5')).toMatchObject({ changes: [{ kind: 'present' }] })
    expect(list([structuredClone(object)], '6')).toEqual({ kind: 'changes', changes: [] })
    expect(list([{ ...object, spec: 2 }], '7')).toMatchObject({ changes: [{ kind: 'present' }] })
  })

  test('an object that was written after the list was made stays', () => {
    list([], '5')
    cache.apply(present('a', '7'))
    expect(list([], '6')).toEqual({ kind: 'changes', changes: [] })
    expect(names()).toEqual(['x'])
  })

  test.each<[string, readonly Change[], KubeObject, string, string]>([
    ['an older version', [present('a', '9')], thing({ uid: 'a', version: '8' }), '10', 'older'],
    ['a deleted object', [present('a', '9'), absent('a')], thing({ uid: 'a', version: '9' }), '10', 'deleted'],
  ])('%s in a list shows that the database was restored', (_, changes, object, version, how) => {
    list([], '1')
    for (const change of changes) cache.apply(change)
    expect(list([object], version)).toMatchObject({ kind: 'went-back', how })
  })

  test('an object that is deleted while the list is read may be in it', () => {
    list([thing({ uid: 'a', version: '2' })], '3')
    const since = cache.clock
    cache.apply(absent('a'))
    const found = cache.changesOf(objects, { items: [thing({ uid: 'a', version: '2' })], resourceVersion: '4' }, since)
    expect(found.kind).toBe('changes')
    if (found.kind === 'changes') for (const change of found.changes) cache.apply(change)
    expect(names()).toEqual([])
  })

  test.each<[string, string, string, number]>([
    ['stays if the versions do not say which is older', 'x2', 'x1', 1],
    ['stays if its version is newer than the list', '7', '6', 1],
    ['is deleted if its version is older than the list', '7', '9', 0],
  ])('an object that was written while the list was read, and is not in it, %s', (_, version, listed, size) => {
    const since = cache.clock
    cache.open(objects)
    cache.apply(present('a', version))
    const found = cache.changesOf(objects, { items: [], resourceVersion: listed }, since)
    if (found.kind === 'changes') for (const change of found.changes) cache.apply(change, { selection: objects })
    expect(names()).toHaveLength(size)
  })

  test('an object that was written while the list was read is not older because the versions do not say so', () => {
    cache.open(objects)
    const since = cache.clock
    cache.apply(present('a', 'x2'))
    const items = [thing({ uid: 'a', version: 'x1' })]
    expect(cache.changesOf(objects, { items, resourceVersion: 'x3' }, since)).toMatchObject({ changes: [] })
    expect(cache.changesOf(objects, { items, resourceVersion: 'x3' }, cache.clock)).toMatchObject({ changes: [{}] })
  })

  test('a cache that was listed knows what is absent; one that was not does not', () => {
    const known = cache.open(objects)
    expect(known.presence(ref)).toBe('unknown')
    list([], '3')
    expect(known.presence(ref)).toBe('unknown')
    cache.complete(objects)
    expect(known.presence(ref)).toBe('absent')
  })
})

describe('selections', () => {
  const blue: Watch<KubeObject> = { ...objects, labels: { colour: 'blue' } }
  const pink: Watch<KubeObject> = {
    ...objects,
    labelExpressions: [{ key: 'colour', operator: 'In', values: ['pink'] }],
  }
  const painted = (colour: string, version: string): KubeObject => thing({ uid: 'a', version, labels: { colour } })

  test('an object that loses a label leaves the selection, and can come back', () => {
    const cache = new ObjectCache()
    const [all, some] = [cache.open(objects), cache.open(blue)]
    cache.apply({ kind: 'present', object: painted('blue', '1') })
    expect(cache.apply({ kind: 'present', object: painted('red', '2') }).deltaFor(blue)?.now).toBeUndefined()
    expect([all.presence(ref), some.size]).toEqual(['present', 0])
    cache.apply({ kind: 'present', object: painted('blue', '3') })
    expect(some.size).toBe(1)
  })

  test('a deletion that the watch of a selection tells is that of the selection', () => {
    const cache = new ObjectCache()
    const [all, some] = [cache.open(objects), cache.open(blue)]
    cache.apply({ kind: 'present', object: painted('blue', '1') })
    cache.apply(absent('a'), { selection: blue })
    expect([all.size, some.size]).toEqual([1, 0])
    cache.apply({ kind: 'present', object: painted('blue', '2') })
    expect([all.size, some.size]).toEqual([1, 1])
  })

  test('of an object that has left only a newer version comes back', () => {
    const cache = new ObjectCache()
    const some = cache.open(blue)
    cache.apply({ kind: 'present', object: painted('blue', '6') }, { selection: blue })
    cache.apply(absent('a'), { selection: blue })
    // the answer of an own write, which comes late
    expect(cache.apply({ kind: 'present', object: painted('blue', '6') }).isNewer).toBe(false)
    expect(some.size).toBe(0)
    cache.apply({ kind: 'present', object: painted('blue', '7') })
    cache.apply({ kind: 'present', object: painted('red', '9') })
    expect(cache.apply({ kind: 'present', object: painted('blue', '8') }, { selection: blue }).isNewer).toBe(false)
    expect(some.size).toBe(0)
  })

  test('a selection does not know that an object is absent: it may have left', () => {
    const cache = new ObjectCache()
    const [all, some] = [cache.open(objects), cache.open(blue)]
    for (const watch of [objects, blue]) cache.complete(watch)
    expect([all.presence(ref), some.presence(ref)]).toEqual(['absent', 'unknown'])
  })

  test('in a selection by namespace a deletion is one', () => {
    const cache = new ObjectCache()
    const inDefault: Watch<KubeObject> = { ...objects, namespace: 'default' }
    const known = cache.open(inDefault)
    cache.apply(present('a', '5'), { selection: inDefault })
    cache.apply(absent('a'), { selection: inDefault })
    cache.apply(present('a', '6'))
    expect(known.size).toBe(0)
  })

  test('what a list has kept of an object is neither selected nor cut again', () => {
    const cache = new ObjectCache()
    const sizeOf = (spec: unknown) => (spec as { readonly inner?: { readonly size: number } }).inner?.size
    const keep = ({ apiVersion, kind, metadata, spec }: KubeObject): KubeObject => {
      const { name, namespace, uid, resourceVersion } = metadata
      return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, spec: { size: sizeOf(spec) } }
    }
    const trimmed = {
      ...kind,
      labels: { colour: 'blue' },
      keep,
      parse: (object: KubeObject) => ({ ok: true, value: object.spec }) as const,
    }
    const known = cache.open(trimmed)
    const object = thing({ uid: 'a', version: '1', labels: { colour: 'blue' }, spec: { inner: { size: 4 } } })
    const items = [cache.keep(trimmed, object)]
    const found = cache.changesOf(trimmed, { items, resourceVersion: '2' }, cache.clock)
    if (found.kind !== 'changes') throw new Error(found.how)
    for (const change of found.changes) cache.apply(change, { selection: trimmed, isKept: true })
    expect([...known]).toEqual([{ size: 4 }])
    const newer = { ...object, metadata: { ...object.metadata, resourceVersion: '3' } }
    cache.apply({ kind: 'present', object: newer }, { selection: trimmed })
    expect([...known]).toEqual([{ size: 4 }])
  })

  test('namespaces, expressions and fields are looked at in own writes', () => {
    const cache = new ObjectCache()
    const watches = [
      { ...objects, namespace: 'other' },
      pink,
      { ...objects, fields: { 'spec.size': '4' } },
      { ...objects, fields: { 'spec.none': '' } },
    ]
    const sizes = watches.map((watch) => cache.open(watch))
    cache.apply({
      kind: 'present',
      object: thing({ uid: 'a', version: '1', labels: { colour: 'pink' }, spec: { size: 4 } }),
    })
    expect(sizes.map(({ size }) => size)).toEqual([0, 1, 1, 1])
  })

  test('two watches with one selection share what is listed, with another part of each object they do not', () => {
    const cache = new ObjectCache()
    const keep = (object: KubeObject): KubeObject => ({ ...object, spec: undefined })
    const same = cache.selectionKey({ ...objects, labels: { b: '1', a: '2' } })
    expect(cache.selectionKey({ ...objects, labels: { a: '2', b: '1' } })).toBe(same)
    expect(cache.selectionKey({ ...objects, keep })).toBe(cache.selectionKey({ ...objects, keep }))
    expect(cache.selectionKey({ ...objects, keep: (object) => object })).not.toBe(
      cache.selectionKey({ ...objects, keep }),
    )
    const [whole, part] = [cache.open(objects), cache.open({ ...objects, keep })]
    cache.apply({ kind: 'present', object: thing({ uid: 'a', version: '1', spec: 'big' }) })
    expect([whole.get(ref)?.spec, part.get(ref)?.spec]).toEqual(['big', undefined])
  })
})

describe('parsing and indexes', () => {
  let reads = 0
  const sized: Watch<number> = {
    ...kind,
    parse: ({ spec }) => {
      reads++
      return typeof spec === 'number' ? { ok: true, value: spec } : { ok: false, problem: 'spec is not a number' }
    },
    indexes: { parity: (size) => [size % 2 === 0 ? 'even' : 'odd'], all: () => ['x', 'x'] },
  }
  beforeEach(() => {
    reads = 0
  })

  test('each version is parsed once', () => {
    const cache = new ObjectCache()
    cache.open(sized)
    const object = thing({ uid: 'a', version: '1', spec: 1 })
    for (let i = 0; i < 3; i++) cache.apply({ kind: 'present', object: structuredClone(object) })
    expect(reads).toBe(1)
    cache.apply({ kind: 'present', object: thing({ uid: 'a', version: '2', spec: 2 }) })
    expect(reads).toBe(2)
  })

  test('an object that cannot be parsed stays, with the reason', () => {
    const cache = new ObjectCache()
    const known = cache.open(sized)
    const object = thing({ uid: 'a', version: '1', spec: 'wide' })
    cache.apply({ kind: 'present', object })
    expect([known.get(ref), known.size, known.presence('default/x')]).toEqual([undefined, 1, 'present'])
    expect(known.entry(ref)).toEqual({ ok: false, problem: 'spec is not a number', object })
    expect(known.unreadable()).toHaveLength(1)
    cache.apply({ kind: 'present', object: thing({ uid: 'a', version: '2', spec: 2 }) })
    expect([known.get(ref), known.unreadable()]).toEqual([2, []])
  })

  test('an index follows the objects, and gives the oldest first', () => {
    const cache = new ObjectCache()
    const known = cache.open(sized)
    const show = (name: string, spec: unknown, version: string, day: number) =>
      cache.apply({
        kind: 'present',
        object: thing({ name, uid: name, version, spec, created: `2026-01-0${day}T00:00:00Z` }),
      })
    show('a', 1, '1', 3)
    show('b', 3, '2', 2)
    show('c', 2, '3', 1)
    expect([known.by('parity', 'odd'), known.countBy('all', 'x'), known.by('all', 'x')]).toEqual([[3, 1], 3, [2, 3, 1]])
    show('b', 4, '4', 2)
    expect([known.by('parity', 'odd'), known.by('parity', 'even')]).toEqual([[1], [2, 4]])
    show('b', 'none', '5', 2)
    expect([known.by('parity', 'even'), known.by('none', 'x')]).toEqual([[2], []])
    cache.apply({ kind: 'absent', ref: { ...ref, name: 'c' }, uid: 'c' })
    expect([known.countBy('parity', 'even'), known.size]).toEqual([0, 2])
  })

  test('a watch that is opened late sees what is known', () => {
    const cache = new ObjectCache()
    cache.open(objects)
    cache.apply({ kind: 'present', object: thing({ uid: 'a', version: '1', spec: 1 }) })
    expect([...cache.open(sized)]).toEqual([1])
  })

  test('wrong types at any depth are left to the parser', () => {
    const cache = new ObjectCache()
    const known = cache.open({ ...objects, fields: { 'spec.a.b': 'c' }, labels: { a: 'b' } })
    for (const [index, spec] of [null, 'text', { a: [] }, { a: { b: { c: 1 } } }, [1]].entries()) {
      const metadata = { name: 'x', namespace: 'default', uid: `${index}`, labels: { a: 'b' } }
      expect(() => cache.apply({ kind: 'present', object: { ...kind, metadata, spec } })).not.toThrow()
    }
    expect(known.size).toBe(0)
  })
})
