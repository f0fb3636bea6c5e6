import { fc, test as property } from '@fast-check/vitest'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type Result, unwrap } from 'ipam-kit/errors'
import type { JsonPatch, Store, StoreErrorCode } from 'ipam-kit/store'
import { beforeEach, describe, expect, it } from 'vitest'
import { createIn, failure, invalidAt, newStore, ref } from './memory-fixture.js'

let store: Store

/** A value that a patch has in two places. */
const shared = { n: 0 }

beforeEach(() => {
  store = newStore()
})

/** The spec after a patch of it; paths are those of RFC 6902 below /spec. */
async function patched(spec: unknown, patch: JsonPatch): Promise<Result<KubeObject, StoreErrorCode>> {
  await createIn(store, 'a', { spec })
  return store.patch(ref('a'), patch)
}

const specOf = async (spec: unknown, patch: JsonPatch) => unwrap(await patched(spec, patch)).spec

describe('JSON patch', () => {
  it.each<[string, unknown, JsonPatch, unknown]>([
    ['adds a member', { foo: 1 }, [{ op: 'add', path: '/spec/bar', value: 2 }], { foo: 1, bar: 2 }],
    ['replaces a member that it adds', { foo: 1 }, [{ op: 'add', path: '/spec/foo', value: 2 }], { foo: 2 }],
    ['adds an element', { l: [1, 3] }, [{ op: 'add', path: '/spec/l/1', value: 2 }], { l: [1, 2, 3] }],
    ['adds an element at the end, by index', { l: [1] }, [{ op: 'add', path: '/spec/l/1', value: 2 }], { l: [1, 2] }],
    ['adds an element at the end, by -', { l: [1] }, [{ op: 'add', path: '/spec/l/-', value: [2] }], { l: [1, [2]] }],
    [
      'adds a whole object',
      { foo: 1 },
      [{ op: 'add', path: '/spec/child', value: { a: {} } }],
      { foo: 1, child: { a: {} } },
    ],
    ['adds null', {}, [{ op: 'add', path: '/spec/n', value: null }], { n: null }],
    ['removes a member', { foo: 1, bar: 2 }, [{ op: 'remove', path: '/spec/bar' }], { foo: 1 }],
    ['counts a negative index from the end', { l: [1, 2, 3] }, [{ op: 'remove', path: '/spec/l/-1' }], { l: [1, 2] }],
    ['adds at a negative index', { l: [1] }, [{ op: 'add', path: '/spec/l/-1', value: 2 }], { l: [1, 2] }],
    ['adds at the lowest index', { l: [1] }, [{ op: 'add', path: '/spec/l/-2', value: 2 }], { l: [2, 1] }],
    [
      'knows other ways to write an index',
      { l: [1, 2] },
      [{ op: 'test', path: '/spec/l/+01', value: 2 }],
      { l: [1, 2] },
    ],
    ['removes an element', { l: [1, 2, 3] }, [{ op: 'remove', path: '/spec/l/1' }], { l: [1, 3] }],
    ['replaces a value', { l: [1, 2] }, [{ op: 'replace', path: '/spec/l/0', value: { x: 1 } }], { l: [{ x: 1 }, 2] }],
    [
      'moves a value',
      { a: { x: 1 }, b: {} },
      [{ op: 'move', from: '/spec/a/x', path: '/spec/b/y' }],
      { a: {}, b: { y: 1 } },
    ],
    [
      'moves an element',
      { l: [1, 2, 3, 4] },
      [{ op: 'move', from: '/spec/l/1', path: '/spec/l/3' }],
      { l: [1, 3, 4, 2] },
    ],
    ['moves to where it is', { a: 1 }, [{ op: 'move', from: '/spec/a', path: '/spec/a' }], { a: 1 }],
    ['copies a value', { a: [1] }, [{ op: 'copy', from: '/spec/a', path: '/spec/b' }], { a: [1], b: [1] }],
    [
      'copies a parent into its child',
      { a: {} },
      [{ op: 'copy', from: '/spec', path: '/spec/a/b' }],
      { a: { b: { a: {} } } },
    ],
    [
      'tests a value, however its keys are ordered',
      { a: { x: 1, y: [2] } },
      [{ op: 'test', path: '/spec/a', value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    [
      'tests what an operation before has made',
      {},
      [
        { op: 'add', path: '/spec/a', value: 1 },
        { op: 'test', path: '/spec/a', value: 1 },
      ],
      { a: 1 },
    ],
    [
      'knows ~0 and ~1',
      { 'a/b': 1, 'c~d': 2, '~1': 3 },
      [
        { op: 'remove', path: '/spec/a~1b' },
        { op: 'replace', path: '/spec/c~0d', value: 9 },
        { op: 'remove', path: '/spec/~01' },
      ],
      { 'c~d': 9 },
    ],
    ['knows the empty key', { '': { '': 1 } }, [{ op: 'replace', path: '/spec//', value: 2 }], { '': { '': 2 } }],
    ['takes digits as a key of an object', { 1: 'a' }, [{ op: 'replace', path: '/spec/1', value: 'b' }], { 1: 'b' }],
    ['adds what it replaces and is not there', {}, [{ op: 'replace', path: '/spec/a', value: 1 }], { a: 1 }],
    ['takes a member that is not there for null', {}, [{ op: 'test', path: '/spec/a', value: null }], {}],
    [
      'copies null from a member that is not there',
      {},
      [{ op: 'copy', from: '/spec/a', path: '/spec/b' }],
      { b: null },
    ],
    ['does nothing without operations', { a: 1 }, [], { a: 1 }],
    ['ignores members that it does not know', { a: 1 }, [{ op: 'remove', path: '/spec/a', why: 'x' } as never], {}],
    [
      'keeps keys named like those of objects',
      {},
      [
        { op: 'add', path: '/spec/__proto__', value: 1 },
        { op: 'add', path: '/spec/constructor', value: 2 },
      ],
      JSON.parse('{"__proto__":1,"constructor":2}'),
    ],
  ])('%s', async (_, spec, patch, expected) => {
    expect(JSON.parse(JSON.stringify(await specOf(spec, patch)))).toEqual(expected)
  })

  it.each<[string, unknown, JsonPatch]>([
    ['a test of another value', { a: 1 }, [{ op: 'test', path: '/spec/a', value: '1' }]],
    ['a test of what is not there', {}, [{ op: 'test', path: '/spec/a', value: 0 }]],
    ['a test below what is not there', {}, [{ op: 'test', path: '/spec/a/b', value: null }]],
    ['a test behind the end', { l: [1] }, [{ op: 'test', path: '/spec/l/1', value: null }]],
    ['removing what is not there', {}, [{ op: 'remove', path: '/spec/a' }]],
    ['removing what every object has', {}, [{ op: 'remove', path: '/spec/toString' }]],
    ['replacing below what is not there', {}, [{ op: 'replace', path: '/spec/a/b', value: 1 }]],
    ['replacing behind the end', { l: [1] }, [{ op: 'replace', path: '/spec/l/1', value: 1 }]],
    ['adding below what is not there', {}, [{ op: 'add', path: '/spec/a/b', value: 1 }]],
    ['adding below a text', { a: 'x' }, [{ op: 'add', path: '/spec/a/b', value: 1 }]],
    ['an index behind the end', { l: [1] }, [{ op: 'add', path: '/spec/l/2', value: 1 }]],
    ['an index before the first', { l: [1] }, [{ op: 'remove', path: '/spec/l/-2' }]],
    ['an index long before the first', { l: [1] }, [{ op: 'add', path: '/spec/l/-3', value: 1 }]],
    ['an index that is a fraction', { l: [1, 2] }, [{ op: 'remove', path: '/spec/l/1e0' }]],
    ['an index that is empty', { l: [1, 2] }, [{ op: 'remove', path: '/spec/l/' }]],
    ['- where nothing is added', { l: [1] }, [{ op: 'remove', path: '/spec/l/-' }]],
    ['moving from what is not there', {}, [{ op: 'move', from: '/spec/a', path: '/spec/b' }]],
    ['moving into itself', { a: { b: {} } }, [{ op: 'move', from: '/spec/a', path: '/spec/a/b/c' }]],
    ['copying from below what is not there', {}, [{ op: 'copy', from: '/spec/a/b', path: '/spec/b' }]],
    ['copying from behind the end', { l: [1] }, [{ op: 'copy', from: '/spec/l/1', path: '/spec/b' }]],
    ['removing the whole object', {}, [{ op: 'remove', path: '' }]],
    ['adding the whole object', {}, [{ op: 'add', path: '', value: {} }]],
    ['copying the whole object', {}, [{ op: 'copy', from: '', path: '/spec/a' }]],
    ['copying over the whole object', {}, [{ op: 'copy', from: '/spec', path: '' }]],
    ['moving the whole object', {}, [{ op: 'move', from: '', path: '/a' }]],
    ['making it a list', {}, [{ op: 'replace', path: '', value: [] }]],
    ['removing its metadata', {}, [{ op: 'remove', path: '/metadata' }]],
    ['another name', {}, [{ op: 'replace', path: '/metadata/name', value: 'c' }]],
    ['no pointer', {}, [{ op: 'remove', path: 'spec' }]],
    ['a pointer with ~2', {}, [{ op: 'add', path: '/spec/~2', value: 1 }]],
    ['an unknown operation', {}, [{ op: 'merge', path: '/spec', value: 1 } as never]],
    ['no path', {}, [{ op: 'add', value: 1 } as never]],
    ['no value', {}, [{ op: 'add', path: '/spec/a' } as never]],
    ['no from', {}, [{ op: 'move', path: '/spec/a' } as never]],
    ['what is no operation', {}, ['remove' as never]],
  ])('refuses %s, and the operations before it', async (_, spec, patch) => {
    const before = await createIn(store, 'b', { spec })
    const result = await store.patch(ref('b'), [{ op: 'add', path: '/metadata/labels', value: { l: '1' } }, ...patch])
    expect(failure(result)).toEqual(invalidAt(/./))
    expect(unwrap(await store.get(ref('b')))).toBe(before)
  })

  it('refuses more operations than an API server takes', async () => {
    const patch = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/spec/a', value: 1 }) as const)
    expect(failure(await patched({ a: 1 }, patch))).toEqual(invalidAt('patch', '10000 operations'))
  })

  it('stops copies that double what is there, over and over', async () => {
    const patch = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '/spec', path: `/spec/k${i}` }) as const)
    expect(failure(await patched({ text: 'x'.repeat(100) }, patch))).toEqual(
      invalidAt(/^patch\[\d+]$/, 'copies more than'),
    )
  })

  it('refuses what moves have nested too deep', async () => {
    const patch = Array.from({ length: 700 }, (_, i) => [
      { op: 'add', path: `/spec/p${i + 1}`, value: {} } as const,
      { op: 'move', from: `/spec/p${i}`, path: `/spec/p${i + 1}/x` } as const,
    ]).flat()
    expect(failure(await patched({ p0: {} }, patch))).toEqual(invalidAt(/^spec/, 'nested deeper than 512'))
  })

  it.each<[string, unknown, JsonPatch, unknown]>([
    [
      'a change of what was copied, after the copy',
      { a: { l: [1] } },
      [
        { op: 'add', path: '/spec/a/l/-', value: 2 },
        { op: 'copy', from: '/spec/a', path: '/spec/b' },
        { op: 'add', path: '/spec/a/l/-', value: 3 },
        { op: 'add', path: '/spec/b/l/0', value: 0 },
      ],
      { a: { l: [1, 2, 3] }, b: { l: [0, 1, 2] } },
    ],
    [
      'a change of the parent that was copied into its child',
      { a: {} },
      [
        { op: 'add', path: '/spec/x', value: 1 },
        { op: 'copy', from: '/spec', path: '/spec/a/b' },
        { op: 'replace', path: '/spec/x', value: 2 },
        { op: 'add', path: '/spec/a/b/a/y', value: 3 },
      ],
      { a: { b: { a: { y: 3 }, x: 1 } }, x: 2 },
    ],
    [
      'a change of what was moved, and of what is now in its place',
      { a: { l: [1] } },
      [
        { op: 'add', path: '/spec/a/l/-', value: 2 },
        { op: 'move', from: '/spec/a', path: '/spec/b' },
        { op: 'copy', from: '/spec/b', path: '/spec/a' },
        { op: 'remove', path: '/spec/b/l/0' },
        { op: 'replace', path: '/spec/a/l/1', value: 9 },
      ],
      { b: { l: [2] }, a: { l: [1, 9] } },
    ],
    [
      'a change of one of two elements that were added as one value',
      { l: [] },
      [
        { op: 'add', path: '/spec/l/-', value: shared },
        { op: 'add', path: '/spec/l/-', value: shared },
        { op: 'replace', path: '/spec/l/0/n', value: 1 },
        { op: 'replace', path: '/spec/l/1/n', value: 2 },
      ],
      { l: [{ n: 1 }, { n: 2 }] },
    ],
    [
      'a change of an element whose place has changed',
      { l: [{ n: 0 }, { n: 1 }, { n: 2 }] },
      [
        { op: 'replace', path: '/spec/l/2/n', value: 'c' },
        { op: 'remove', path: '/spec/l/0' },
        { op: 'replace', path: '/spec/l/1/n', value: 'd' },
        { op: 'replace', path: '/spec/l/0/n', value: 'b' },
      ],
      { l: [{ n: 'b' }, { n: 'd' }] },
    ],
    [
      'a change inside of a key that objects have',
      JSON.parse('{"__proto__":{"a":{"n":1}}}'),
      [
        { op: 'replace', path: '/spec/__proto__/a/n', value: 2 },
        { op: 'copy', from: '/spec/__proto__', path: '/spec/copy' },
        { op: 'remove', path: '/spec/__proto__/a' },
      ],
      JSON.parse('{"__proto__":{},"copy":{"a":{"n":2}}}'),
    ],
  ])('does %s, there and nowhere else', async (_, spec, patch, expected) => {
    expect(JSON.stringify(await specOf(spec, patch))).toBe(JSON.stringify(expected))
    expect(shared).toEqual({ n: 0 })
  })

  it('leaves alone what was there, and freezes what it made', async () => {
    const made = await createIn(store, 'a', { spec: { l: [{ n: 1 }], kept: {} } })
    const patch = [
      { op: 'replace', path: '/spec/l/0/n', value: 2 },
      { op: 'add', path: '/spec/l/-', value: { n: 3 } },
      { op: 'replace', path: '/spec/l/1/n', value: 4 },
    ] as const
    const { spec } = unwrap(await store.patch(ref('a'), patch)) as unknown as { spec: { l: object[]; kept: object } }
    expect(spec).toEqual({ l: [{ n: 2 }, { n: 4 }], kept: {} })
    for (const each of [spec, spec.l, ...spec.l, spec.kept]) expect(Object.isFrozen(each)).toBe(true)
    expect(made.spec).toEqual({ l: [{ n: 1 }], kept: {} })
  })

  it('refuses a pointer of more keys than an object can have', async () => {
    const patch = [{ op: 'add', path: '/a'.repeat(600), value: 1 }] as const
    expect(failure(await patched({}, patch))).toEqual(invalidAt('patch[0].path', 'at most 512 keys'))
  })

  it('is not told apart from what an update of the same would be: version, generation, finalizers', async () => {
    const made = await createIn(store, 'a', { spec: { x: 1 }, metadata: { finalizers: ['a.example/f'] } })
    await store.delete(ref('a'))
    const patch = [{ op: 'remove', path: '/metadata/finalizers/0' }] as const
    expect(unwrap(await store.patch(ref('a'), patch)).metadata.uid).toBe(made.metadata.uid)
    expect(failure(await store.get(ref('a')))).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })
})

// The obviously right way: a copy that is changed in place.
type Value = null | number | string | Value[] | { [key: string]: Value }

function model(document: Value, patch: JsonPatch): Value | undefined {
  const root = { spec: structuredClone(document) }
  try {
    for (const operation of patch) {
      const path = operation.path.slice(1).split('/')
      if (operation.op === 'test') same(readOrNull(root, path), operation.value as Value)
      else if (operation.op === 'add') insert(root, path, operation.value as Value)
      else if (operation.op === 'remove') take(root, path)
      else if (operation.op === 'replace') {
        if (Array.isArray(read(root, path.slice(0, -1)))) take(root, path)
        insert(root, path, operation.value as Value)
      } else {
        const from = (operation as { from: string }).from.slice(1).split('/')
        if (operation.op === 'move') check(!(path.length > from.length && from.every((key, i) => path[i] === key)))
        const value = structuredClone(operation.op === 'move' ? read(root, from) : readOrNull(root, from))
        if (operation.op === 'move') take(root, from)
        insert(root, path, value)
      }
    }
    return root.spec
  } catch {
    return undefined
  }
}

function check(holds: boolean): void {
  if (!holds) throw new Error('does not fit')
}

function same(left: Value, right: Value): void {
  expect(left).toEqual(right)
}

function read(root: Value, path: readonly string[]): Value {
  let value = root
  for (const key of path) {
    check(typeof value === 'object' && value !== null)
    check(Array.isArray(value) ? Object.hasOwn(value, placeIn(value.length, key)) : Object.hasOwn(value as object, key))
    value = (value as { [key: string]: Value })[Array.isArray(value) ? placeIn(value.length, key) : key]!
  }
  return value
}

/** As an API server has it: -1 is the last. */
function placeIn(length: number, key: string): number {
  check(/^[+-]?\d+$/.test(key))
  return key.startsWith('-') && Number(key) !== 0 ? length + Number(key) : Number(key)
}

/** As an API server has it: a member that an object has not is null. */
function readOrNull(root: Value, path: readonly string[]): Value {
  const parent = read(root, path.slice(0, -1))
  const isMissing =
    typeof parent === 'object' && !Array.isArray(parent) && parent !== null && !Object.hasOwn(parent, path.at(-1)!)
  return isMissing ? null : read(root, path)
}

function insert(root: Value, path: readonly string[], value: Value): void {
  const parent = read(root, path.slice(0, -1))
  const key = path.at(-1)!
  if (Array.isArray(parent)) {
    const index = key === '-' ? parent.length : placeIn(parent.length + 1, key)
    check(index >= 0 && index <= parent.length)
    parent.splice(index, 0, structuredClone(value))
  } else {
    check(typeof parent === 'object' && parent !== null)
    ;(parent as { [key: string]: Value })[key] = structuredClone(value)
  }
}

function take(root: Value, path: readonly string[]): void {
  read(root, path)
  const parent = read(root, path.slice(0, -1))
  if (Array.isArray(parent)) parent.splice(placeIn(parent.length, path.at(-1)!), 1)
  else delete (parent as { [key: string]: Value })[path.at(-1)!]
}

const key = fc.constantFrom('a', 'b', '0', '1', '2', '-', '-1', '-2', '01')
const pointer = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => `/spec/${keys.join('/')}`)
const value = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, 0, 1, 'x'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '0'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add' as const, 'replace' as const, 'test' as const), path: pointer, value }),
  fc.record({ op: fc.constant('remove' as const), path: pointer }),
  fc.record({ op: fc.constantFrom('move' as const, 'copy' as const), from: pointer, path: pointer }),
)

property.prop([
  fc.dictionary(fc.constantFrom('a', 'b', '0'), value, { noNullPrototype: true }),
  fc.array(operation, { maxLength: 5 }),
])('a JSON patch does what changing a copy in place does, or nothing', async (document, patch) => {
  const own = newStore()
  await createIn(own, 'a', { spec: document })
  const result = await own.patch(ref('a'), patch)
  const expected = model(document, patch)
  if (expected === undefined) expect(failure(result)).toMatchObject({ code: 'STORE_INVALID' })
  else expect(unwrap(result).spec).toEqual(expected)
  const stored = unwrap(await own.get(ref('a'))).spec
  expect(stored).toEqual(expected ?? document)
})
