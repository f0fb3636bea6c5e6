import fc from 'fast-check'
import { unwrap } from 'ipam-kit/errors'
import type { ListQuery, Store, StoreResult, WatchEvent } from 'ipam-kit/store'
import { describe, expect, it } from 'vitest'
import { runs } from '../setup/depth.js'
import { drain, newStore, PLAIN, POOL, pool, query, ref } from './memory-fixture.js'
import { asObject, canonical, type Draft, Model, merge, type Outcome } from './memory-model.js'

const NOW = '2026-01-02T03:04:05Z'

// few names and values, so that they meet

const kind = fc.constantFrom(POOL.kind, POOL.kind, PLAIN.kind)
const namespace = fc.constantFrom('a', 'a-b')
const name = fc.constantFrom('x', 'y')
const content = fc.constantFrom(undefined, null, 1, { a: 1 }, { a: { b: 1 } }, { a: [1, { b: null }] }, [])
const labels = fc.constantFrom(undefined, {}, { l: '1' }, { l: '2' }, { l: '1', m: '1' })
const finalizers = fc.constantFrom(undefined, undefined, [], ['f/a'], ['f/b'], ['f/a', 'f/b'])
const subresource = fc.constantFrom(undefined, undefined, undefined, 'status' as const)
const apiVersion = fc.constant(POOL.apiVersion)

const target = fc.record({ apiVersion, kind, metadata: fc.record({ namespace, name }) })
const parts = fc.record({ spec: content, status: content, metadata: fc.record({ labels, finalizers }) })
/** `current`: as it is now; `old`: of an earlier write; `none`: left out. */
const basis = fc.constantFrom(...Array<string>(8).fill('current'), 'old', 'none')

const labelPatch = fc.constantFrom(undefined, null, { l: '1' }, { l: null }, { l: '2', m: null })
const patchBody = fc.record({
  spec: fc.constantFrom(undefined, null, 1, { a: null }, { a: { b: 2 }, c: [null] }, { a: { b: null } }),
  status: fc.constantFrom(undefined, null, { a: 2 }, { a: null }),
  metadata: fc.record({
    labels: labelPatch,
    finalizers: fc.constantFrom(undefined, undefined, null, ['f/a'], ['f/a', 'f/b']),
  }),
})

const operation = fc.oneof(
  fc.record({ op: fc.constant('create' as const), target, parts }),
  fc.record({ op: fc.constant('update' as const), target, parts, version: basis, uid: basis, subresource }),
  fc.record({ op: fc.constant('patch' as const), target, patch: patchBody, version: basis, uid: basis, subresource }),
  fc.record({ op: fc.constant('delete' as const), target, version: basis, uid: basis }),
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

const history = fc.array(operation, { maxLength: 60, size: 'max' })

const listQuery: fc.Arbitrary<ListQuery> = fc.record({
  apiVersion,
  kind,
  namespace: fc.option(namespace, { nil: undefined }),
  labels: fc.constantFrom(undefined, { l: '1' }, { l: '2' }, { l: '1', m: '1' }),
})

/** Runs an operation on both. `undefined`: there is nothing that it could be run on. */
function run(model: Model, store: Store, operation: Operation): [Outcome, StoreResult<unknown>] {
  const { target } = operation
  const current = model.find(target)?.metadata
  const old = model.writes.find(({ before }) => before?.kind === target.kind)?.before?.metadata
  const pick = (from: string) => (from === 'current' ? current : from === 'old' ? (old ?? current) : undefined)
  const address = { ...target.metadata, apiVersion: target.apiVersion, kind: target.kind }

  switch (operation.op) {
    case 'create': {
      const draft: Draft = {
        ...target,
        ...operation.parts,
        metadata: { ...target.metadata, ...operation.parts.metadata },
      }
      return [model.create(draft), store.create(asObject(draft))]
    }
    case 'update': {
      const { parts, version, uid, subresource } = operation
      const resourceVersion = pick(version)?.resourceVersion
      const metadata = { ...target.metadata, ...parts.metadata, resourceVersion, uid: pick(uid)?.uid }
      const draft: Draft = { ...target, ...parts, metadata }
      return [model.update(draft, subresource), store.update(asObject(draft), { subresource })]
    }
    case 'patch': {
      const patch = JSON.parse(JSON.stringify(operation.patch)) as { [key: string]: unknown }
      const options = {
        ...preconditions(operation),
        ...(operation.subresource && { subresource: operation.subresource }),
      }
      return [model.patch(target, patch, options), store.patch(address, patch, options)]
    }
    case 'delete':
      return [model.delete(target, preconditions(operation)), store.delete(address, preconditions(operation))]
  }

  function preconditions({ version, uid }: { version: string; uid: string }) {
    const resourceVersion = pick(version)?.resourceVersion
    const ofUid = pick(uid)?.uid
    return { ...(resourceVersion && { resourceVersion }), ...(ofUid && { uid: ofUid }) }
  }
}

async function expectSame(expected: Outcome, result: StoreResult<unknown>): Promise<void> {
  const got = await result
  if (typeof expected === 'string') expect(got).toMatchObject({ ok: false, failure: { code: expected } })
  else expect(got).toEqual({ ok: true, value: expected })
}

function newModel(): Model {
  return new Model(NOW, PLAIN.kind)
}

describe('memoryStore, beside a model', () => {
  it('answers each operation alike and holds the same objects', async () => {
    await fc.assert(
      fc.asyncProperty(history, listQuery, async (operations, query) => {
        const [model, store] = [newModel(), newStore()]
        for (const operation of operations) {
          const [expected, result] = run(model, store, operation)
          await expectSame(expected, result)
          const list = unwrap(await store.list(query))
          expect(list).toEqual({ items: model.list(query), resourceVersion: String(model.version) })
        }
      }),
    )
  })

  it('shows each watcher the same events, however it reads them', async () => {
    const watcher = fc.record({ op: fc.constant('watch' as const), query: listQuery, back: fc.option(fc.nat(20)) })
    const pull = fc.record({
      op: fc.constant('pull' as const),
      watcher: fc.nat(5),
      steps: fc.integer({ min: 1, max: 4 }),
    })
    const steps = fc.array(fc.oneof(operation, operation, operation, watcher, pull), { maxLength: 80, size: 'max' })
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const [model, store] = [newModel(), newStore({ history: 0x1_0000 })]
        const readers: { reader: Reader; expected: () => unknown[] }[] = []
        for (const step of steps) {
          if (step.op === 'watch') readers.push(watch(model, store, step.query, step.back))
          else if (step.op === 'pull') readers[step.watcher]?.reader.pull(step.steps)
          else await run(model, store, step)[1]
          // sometimes the reader runs, sometimes many writes come first
          if (step.op === 'pull' && step.steps > 2) await Promise.resolve()
        }
        for (const { reader, expected } of readers)
          expect(await reader.finish(model.writes.length + 2)).toEqual(expected())
      }),
    )

    function watch(model: Model, store: Store, query: ListQuery, back: number | null) {
      let now = model.version
      const given = back === null ? undefined : Math.max(1, now - back)
      const watched = store.watch(query, given === undefined ? {} : { resourceVersion: String(given) })
      const iterator = watched[Symbol.asyncIterator]()
      let isBegun = false
      const next = () => {
        // without a version it begins with the first next
        if (!isBegun && given === undefined) now = model.version
        isBegun = true
        return iterator.next()
      }
      const events = { [Symbol.asyncIterator]: () => ({ next, return: () => iterator.return!() }) }
      const expected = () => {
        const version = given ?? now
        const replayed = model.shown(query, version).length - model.shown(query, now).length
        const bookmark = [{ type: 'BOOKMARK', resourceVersion: String(now) }]
        const shown = model.shown(query, version)
        return [...shown.slice(0, replayed), ...bookmark, ...shown.slice(replayed)]
      }
      return { reader: new Reader(events), expected }
    }
  })

  it('gives with a list and the events after it the list of now', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(60), listQuery, async (operations, at, query) => {
        const [model, store] = [newModel(), newStore()]
        for (const operation of operations.slice(0, at)) await run(model, store, operation)[1]
        const { items, resourceVersion } = unwrap(await store.list(query))
        const copy = new Map(items.map((object) => [keyOf(object), object]))
        for (const operation of operations.slice(at)) await run(model, store, operation)[1]

        for (const event of await drain(store.watch(query, { resourceVersion }))) {
          if (event.type === 'ADDED') expect(copy.has(keyOf(event.object))).toBe(false)
          if (event.type === 'MODIFIED') expect(copy.has(keyOf(event.object))).toBe(true)
          if (event.type === 'DELETED') expect(copy.delete(keyOf(event.object))).toBe(true)
          if (event.type === 'ADDED' || event.type === 'MODIFIED') copy.set(keyOf(event.object), event.object)
          expect(event.type).not.toBe('ERROR')
        }
        const now = unwrap(await store.list(query)).items
        expect([...copy.values()].sort((a, b) => now.indexOf(a) - now.indexOf(b))).toEqual(now)
      }),
    )
  })

  it('goes back exactly as far as its history', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(20), listQuery, async (operations, limit, query) => {
        const [model, store] = [newModel(), newStore({ history: limit })]
        for (const operation of operations) await run(model, store, operation)[1]
        for (let version = 1; version <= model.version; version++) {
          const events = await drain(store.watch(query, { resourceVersion: String(version) }))
          const isKept = model.version - version <= limit
          const bookmark = { type: 'BOOKMARK', resourceVersion: String(model.version) }
          if (isKept) expect(events).toEqual([...model.shown(query, version), bookmark])
          else expect(events).toMatchObject([{ type: 'ERROR', failure: { code: 'STORE_VERSION_GONE' } }])
        }
      }),
      { numRuns: runs(0.3) },
    )
  })

  it('lets exactly one of n writers of a version through', async () => {
    const writes = fc.array(fc.constantFrom('update', 'patch', 'status', 'delete'), { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(writes, async (writes) => {
        const store = newStore()
        const made = unwrap(await store.create(pool('a', { metadata: { finalizers: ['f/a'] } })))
        const { resourceVersion } = made.metadata
        const results = await Promise.all(
          writes.map((write, n) => {
            if (write === 'update') return store.update({ ...made, spec: n })
            if (write === 'status') return store.update({ ...made, status: n }, { subresource: 'status' })
            if (write === 'patch') return store.patch(ref('a'), { spec: n }, { resourceVersion })
            return store.delete(ref('a'), { resourceVersion })
          }),
        )
        const codes = results.map((result) => (result.ok ? 'ok' : result.failure.code))
        expect(codes).toEqual(['ok', ...writes.slice(1).map(() => 'STORE_CONFLICT')])
      }),
    )
  })
})

describe('memoryStore, JSON', () => {
  it('keeps what JSON keeps, and refuses numbers that it cannot hold', async () => {
    const anything = fc.anything({
      withDate: true,
      withBoxedValues: true,
      withNullPrototype: true,
      withSparseArray: true,
    })
    await fc.assert(
      fc.asyncProperty(anything, async (spec) => {
        const result = await newStore().create(pool('a', { spec }))
        if (holdsNoNumber(spec)) expect(result).toMatchObject({ failure: { code: 'STORE_INVALID' } })
        else expect(JSON.stringify(unwrap(result).spec)).toBe(JSON.stringify(spec))
      }),
    )
  })

  it('merges patches as RFC 7396 says', async () => {
    const json = fc.jsonValue({ maxDepth: 4, stringUnit: fc.constantFrom('a', 'b', '__proto__') })
    await fc.assert(
      fc.asyncProperty(json, json, async (spec, patch) => {
        const store = newStore()
        await store.create(pool('a', { spec }))
        const patched = unwrap(await store.patch(ref('a'), { spec: patch }))
        expect(canonical(patched.spec)).toBe(canonical((merge({ spec }, { spec: patch }) as { spec?: unknown }).spec))
      }),
    )
  })

  it('counts the bytes of an object as UTF-8 has them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (spec) => {
        const object = pool('a', { spec })
        const sizeBytes = Buffer.byteLength(JSON.stringify(unwrap(await newStore().create(object))))
        expect(await newStore({ maxObjectBytes: sizeBytes }).create(object)).toMatchObject({ ok: true })
        expect(await newStore({ maxObjectBytes: sizeBytes - 1 }).create(object)).toMatchObject({
          failure: { code: 'STORE_OBJECT_TOO_LARGE', context: { sizeBytes } },
        })
      }),
    )
  })

  it('knows when nothing has changed', async () => {
    const json = fc.jsonValue({ maxDepth: 3 })
    await fc.assert(
      fc.asyncProperty(json, json, async (before, after) => {
        const store = newStore()
        const made = unwrap(await store.create(pool('a', { spec: before })))
        expect(unwrap(await store.update({ ...made, spec: JSON.parse(JSON.stringify(before)) }))).toBe(made)
        const changed = unwrap(await store.update({ ...made, spec: after }))
        expect(changed === made).toBe(canonical(before) === canonical(after))
        expect(unwrap(await store.list(query)).items).toEqual([changed])
      }),
    )
  })
})

/** Reads a watch in steps that may run ahead of it. */
class Reader {
  readonly #iterator: AsyncIterator<WatchEvent>
  readonly #steps: Promise<IteratorResult<WatchEvent>>[] = []

  constructor(events: AsyncIterable<WatchEvent>) {
    this.#iterator = events[Symbol.asyncIterator]()
  }

  pull(steps: number): void {
    for (let n = 0; n < steps; n++) this.#steps.push(this.#iterator.next())
  }

  async finish(steps: number): Promise<WatchEvent[]> {
    this.pull(steps)
    await this.#iterator.return?.()
    const results = await Promise.all(this.#steps)
    return results.flatMap((result) => (result.done ? [] : [result.value]))
  }
}

function keyOf({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string }
}) {
  return `${metadata.namespace}/${metadata.name}`
}

/** Whether a NaN or an infinity is in it. */
function holdsNoNumber(value: unknown): boolean {
  let found = false
  JSON.stringify(value, (_, field) => {
    found ||=
      field instanceof Number ? !Number.isFinite(field.valueOf()) : typeof field === 'number' && !Number.isFinite(field)
    return field
  })
  return found
}
