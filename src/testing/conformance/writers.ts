import type { KubeObject } from '../../crd/meta/object.js'
import type { Result } from '../../errors/index.js'
import type { Store, StoreErrorCode } from '../../store/index.js'
import type { Rules } from './case.js'
import { type Bench, expectEqual, expectFailure, expectOk, expectTrue } from './harness.js'
import { following } from './reader.js'

const WRITERS = 6

export const writers: Rules = {
  'writers: of many that create one name exactly one wins': async (bench) => {
    for (let round = 0; round < 5; round++) {
      const stores = await storesFor(bench)
      const made = await Promise.all(
        stores.map((store, writer) => store.create(bench.pool(`a${round}`, { spec: { writer } }))),
      )
      await onlyWinner(bench, made, 'STORE_ALREADY_EXISTS')
    }
  },
  'writers: of many that update one version exactly one wins': async (bench) => {
    const stores = await storesFor(bench)
    let object = await bench.create('a')
    for (let round = 0; round < 5; round++) {
      const updates = await Promise.all(
        stores.map((store, writer) => store.update({ ...object, spec: { round, writer } })),
      )
      object = await onlyWinner(bench, updates, 'STORE_CONFLICT')
    }
  },
  'writers: of many that set a field which is not set exactly one wins': async (bench) => {
    const stores = await storesFor(bench)
    await bench.create('a', { spec: {} })
    for (let round = 0; round < 5; round++) {
      const path = `/spec/round${round}`
      const patches = await Promise.all(
        stores.map((store, value) =>
          store.patch(bench.ref('a'), [
            { op: 'test', path, value: null },
            { op: 'add', path, value },
          ]),
        ),
      )
      await onlyWinner(bench, patches, 'STORE_INVALID')
    }
  },
  'writers: counting with versions loses no count': async (bench) => {
    await bench.create('a', { spec: { count: 0 } })
    const each = 8
    await byEach(bench, async (store) => {
      for (let done = 0; done < each; ) {
        const before = expectOk(await store.get(bench.ref('a')), 'get')
        const { count } = before.spec as { count: number }
        const written = await store.update({ ...before, spec: { count: count + 1 } })
        if (written.ok) done++
        else expectFailure(written, 'STORE_CONFLICT', 'a lost race')
      }
    })
    expectEqual((await bench.get('a')).spec, { count: WRITERS * each }, 'the count')
  },
  'writers: patches without a version are all done': async (bench) => {
    await bench.create('a')
    await byEach(bench, async (store, writer) => {
      for (let i = 0; i < 5; i++)
        expectOk(await store.patch(bench.ref('a'), { spec: { [`w${writer}-${i}`]: i } }), 'patch')
    })
    const { spec } = await bench.get('a')
    expectEqual(Object.keys(spec as object).length, WRITERS * 5, 'the fields that were written')
  },
  'writers: each taking its finalizer, the last one lets it go': async (bench) => {
    const finalizers = Array.from({ length: WRITERS }, (_, writer) => `example.com/f${writer}`)
    await bench.create('a', { metadata: { finalizers } })
    await bench.delete('a')
    await byEach(bench, async (store, writer) => {
      for (;;) {
        const { metadata } = expectOk(await store.get(bench.ref('a')), 'get')
        const rest = { finalizers: metadata.finalizers!.filter((held) => held !== finalizers[writer]) }
        const { uid, resourceVersion } = metadata
        const written = await store.patch(bench.ref('a'), { metadata: rest }, { uid, resourceVersion })
        if (written.ok) return
        expectFailure(written, 'STORE_CONFLICT', 'a lost race')
      }
    })
    await bench.expectGone('a')
  },
  'writers: of a delete and an update of one version one wins': async (bench) => {
    for (let round = 0; round < 8; round++) {
      const [first, second] = (await storesFor(bench)) as [Store, Store]
      const made = await bench.create('a')
      const { uid, resourceVersion } = made.metadata
      const [deleted, updated] = await Promise.all([
        first.delete(bench.ref('a'), { uid, resourceVersion }),
        second.update({ ...made, spec: { round } }),
      ])
      expectTrue(deleted.ok !== updated.ok, 'exactly one of the two wins')
      if (deleted.ok) expectFailure(updated, ['STORE_NOT_FOUND', 'STORE_CONFLICT'], 'the update')
      else {
        expectFailure(deleted, 'STORE_CONFLICT', 'the delete')
        expectEqual(await bench.get('a'), expectOk(updated, 'the update'), 'the object')
        await bench.delete('a')
      }
    }
  },
  'writers: the versions of all writes differ, and a watch tells them in their order': async (bench) => {
    const resourceVersion = await bench.version()
    const parts = await byEach(bench, (store, writer) =>
      Promise.all([0, 1, 2, 3, 4].map((i) => store.create(bench.pool(`w${writer}-${i}`)))),
    )
    const made = parts.flat().map((written) => expectOk(written, 'create'))
    let seen: KubeObject[] = []
    await following(bench, { resourceVersion }, async (reader) => {
      seen = (await reader.take(made.length)).map(({ object }) => object)
    })
    const versions = (objects: readonly KubeObject[]) =>
      objects.map(({ metadata }) => BigInt(metadata.resourceVersion!))
    const ordered = versions(made).sort((a, b) => (a < b ? -1 : 1))
    expectEqual(versions(seen).map(String), ordered.map(String), 'the versions that the watch told')
    expectEqual(new Set(ordered).size, made.length, 'different versions')
  },
  'writers: nothing depends on whose clock is right': async (bench) => {
    const [first, second] = (await storesFor(bench)) as [Store, Store]
    const made = expectOk(await first.create(bench.pool('a')), 'create')
    const changed = expectOk(await second.update({ ...made, spec: { x: 1 } }), 'update')
    expectEqual(changed.metadata.creationTimestamp, made.metadata.creationTimestamp, 'the creationTimestamp')
    expectFailure(await first.update({ ...made, spec: { x: 2 } }), 'STORE_CONFLICT', 'update with a stale version')
    expectOk(await first.update({ ...changed, spec: { x: 3 } }), 'update with the new one')
  },
}

/** What the one write has written that was done, if the others were refused so. */
async function onlyWinner(
  bench: Bench,
  writes: readonly Result<KubeObject, StoreErrorCode>[],
  refusal: StoreErrorCode,
): Promise<KubeObject> {
  const [won, ...others] = writes.filter(({ ok }) => ok)
  expectEqual(others.length, 0, 'further winners')
  for (const write of writes) if (!write.ok) expectFailure(write, refusal, 'a loser')
  expectTrue(won !== undefined, 'one of the writes is done')
  const object = expectOk(won, 'the winner')
  await bench.expectStored(object)
  return object
}

/** Has each of as many clients as there are writers do something, all at once. */
async function byEach<T>(bench: Bench, work: (store: Store, writer: number) => Promise<T>): Promise<T[]> {
  return Promise.all((await storesFor(bench)).map(work))
}

/** As many clients as there are writers. */
async function storesFor(bench: Bench): Promise<Store[]> {
  return Promise.all(Array.from({ length: WRITERS }, () => bench.open()))
}
