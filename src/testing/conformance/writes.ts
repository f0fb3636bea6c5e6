import type { Rules } from './case.js'
import { expectEqual, expectFailure, expectOk, expectTrue, PLAIN, withMeta } from './harness.js'

export const updates: Rules = {
  'update: replaces the object and gives a new resourceVersion': async (bench) => {
    const made = await bench.create('a', { spec: { x: 1, y: 2 }, metadata: { labels: { l: '1' } } })
    const changed = await bench.update({ ...withMeta(made, { labels: { m: '2' } }), spec: { x: 3 } })
    expectEqual([changed.spec, changed.metadata.labels], [{ x: 3 }, { m: '2' }], 'what was written')
    expectTrue(changed.metadata.resourceVersion !== made.metadata.resourceVersion, 'the resourceVersion is a new one')
    await bench.expectStored(changed)
  },
  'update: gives rising versions': async (bench) => {
    let object = await bench.create('a')
    for (let i = 0; i < 5; i++) {
      const next = await bench.update({ ...object, spec: { i } })
      expectTrue(BigInt(next.metadata.resourceVersion!) > BigInt(object.metadata.resourceVersion!), 'the version rises')
      object = next
    }
  },
  'update: fails with STORE_CONFLICT for a stale version and changes nothing': async (bench) => {
    const made = await bench.create('a')
    const changed = await bench.update({ ...made, spec: { x: 1 } })
    expectFailure(await bench.store.update({ ...made, spec: { x: 2 } }), 'STORE_CONFLICT', 'update')
    await bench.expectStored(changed)
  },
  'update: needs a resourceVersion': async (bench) => {
    const made = await bench.create('a')
    const without = withMeta(made, { resourceVersion: undefined })
    expectFailure(await bench.store.update({ ...without, spec: { x: 2 } }), 'STORE_INVALID', 'update without a version')
    await bench.expectStored(made)
  },
  'update: fails with STORE_CONFLICT for an object that has been made again': async (bench) => {
    const first = await bench.create('a')
    await bench.delete('a')
    const second = await bench.create('a')
    expectFailure(await bench.store.update({ ...first, spec: { x: 1 } }), 'STORE_CONFLICT', 'update of the first')
    await bench.expectStored(second)
  },
  'update: fails with STORE_NOT_FOUND for what is not there': async (bench) => {
    const made = await bench.create('a')
    await bench.delete('a')
    const late = await bench.store.update({ ...made, spec: { x: 1 } })
    expectFailure(late, ['STORE_NOT_FOUND', 'STORE_CONFLICT'], 'update')
    await bench.expectGone('a')
  },
  'update: keeps uid, creationTimestamp and generation of the server': async (bench) => {
    const made = await bench.create('a')
    const meddled = withMeta(made, { generation: 99, creationTimestamp: '1999-01-01T00:00:00Z', uid: undefined })
    const changed = await bench.update(withMeta(meddled, { labels: { l: '1' } }))
    for (const field of ['uid', 'creationTimestamp', 'generation'] as const) {
      expectEqual(changed.metadata[field], made.metadata[field], field)
    }
  },
  'update: keeps the version when nothing changes': async (bench) => {
    const made = await bench.create('a', { spec: { x: [1, { y: 2 }] } })
    expectEqual(await bench.update(made), made, 'the answer')
    await bench.expectStored(made)
  },
  'generation: rises with the spec, not with metadata or status': async (bench) => {
    await bench.create('a', { spec: { x: 1 } })
    const steps: readonly [object, number][] = [
      [{ metadata: { labels: { l: '1' } } }, 1],
      [{ metadata: { finalizers: ['example.com/f'] } }, 1],
      [{ spec: { x: 2 } }, 2],
      [{ spec: { x: 2 } }, 2],
      [{ metadata: { finalizers: null }, spec: { y: 1 } }, 3],
    ]
    for (const [patch, generation] of steps) {
      const { metadata } = await bench.patch('a', { ...patch })
      expectEqual(metadata.generation, generation, `after ${JSON.stringify(patch)}`)
    }
    const { metadata } = await bench.patchStatus('a', { used: 1 })
    expectEqual(metadata.generation, 3, 'after a change of the status')
  },
  'status: is written by its subresource alone': async (bench) => {
    const made = await bench.create('a', { spec: { x: 1 } })
    const ignored = await bench.update({ ...made, spec: { x: 2 }, status: { used: 1 } })
    expectEqual(ignored.status, undefined, 'the status after an update of the object')
    const written = await bench.update({ ...ignored, spec: { x: 3 }, status: { used: 2 } }, { subresource: 'status' })
    expectEqual([written.spec, written.status], [{ x: 2 }, { used: 2 }], 'spec and status')
    const patched = await bench.patch('a', { spec: { x: 4 }, status: { used: 3 } })
    expectEqual([patched.spec, patched.status], [{ x: 4 }, { used: 2 }], 'spec and status after a patch of the object')
    await bench.expectStored(patched)
  },
  'status: a patch of it changes nothing else': async (bench) => {
    await bench.create('a', { spec: { x: 1 } })
    const patch = { spec: { x: 2 }, metadata: { labels: { l: '1' } }, status: { used: 1 } }
    const patched = await bench.patch('a', patch, { subresource: 'status' })
    expectEqual([patched.spec, patched.status], [{ x: 1 }, { used: 1 }], 'spec and status')
  },
  'status: a stale version is a conflict': async (bench) => {
    const made = await bench.create('a')
    await bench.patch('a', { spec: { x: 1 } })
    const stale = await bench.store.update({ ...made, status: { used: 1 } }, { subresource: 'status' })
    expectFailure(stale, 'STORE_CONFLICT', 'update of the status')
    const { resourceVersion } = made.metadata
    const options = { subresource: 'status', resourceVersion } as const
    expectFailure(await bench.store.patch(bench.ref('a'), { status: { used: 1 } }, options), 'STORE_CONFLICT', 'patch')
  },
  'status: another uid is a conflict': async (bench) => {
    const made = await bench.create('a')
    const other = { subresource: 'status', uid: 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c' } as const
    const operations = [{ op: 'add', path: '/status', value: { used: 1 } }] as const
    for (const patch of [{ status: { used: 1 } }, operations]) {
      expectFailure(await bench.store.patch(bench.ref('a'), patch, other), 'STORE_CONFLICT', JSON.stringify(patch))
    }
    const changed = withMeta({ ...made, status: { used: 1 } }, { uid: other.uid })
    expectFailure(await bench.store.update(changed, { subresource: 'status' }), 'STORE_CONFLICT', 'update')
    await bench.expectStored(made)
    const { uid } = made.metadata
    const written = await bench.patch('a', { status: { used: 2 } }, { ...other, uid })
    expectEqual(written.status, { used: 2 }, 'the status')
  },
  'status: is no subresource of a kind that has none': async (bench) => {
    const made = await bench.create('a', { status: { used: 1 } }, PLAIN)
    const options = { subresource: 'status' } as const
    expectFailure(await bench.store.update({ ...made, status: { used: 2 } }, options), refused, 'update')
    expectFailure(await bench.store.patch(bench.ref('a', PLAIN), { status: { used: 2 } }, options), refused, 'patch')
    const changed = await bench.update({ ...made, status: { used: 3 } })
    expectEqual(changed.status, { used: 3 }, 'the status')
  },
}

/** A server may say that there is no such resource. */
const refused = ['STORE_INVALID', 'STORE_NOT_FOUND'] as const

export const patches: Rules = {
  'merge patch: merges objects, replaces arrays, removes with null': async (bench) => {
    await bench.create('a', { spec: { keep: 1, change: { x: 1, y: 2 }, list: [1, 2], gone: true } })
    const patch = { spec: { change: { y: 3, z: 4 }, list: [9], gone: null, absent: null } }
    const patched = await bench.patch('a', patch)
    expectEqual(patched.spec, { keep: 1, change: { x: 1, y: 3, z: 4 }, list: [9] }, 'the spec')
    await bench.expectStored(patched)
  },
  'merge patch: needs no version, and loses no other write': async (bench) => {
    const made = await bench.create('a')
    await bench.patch('a', { spec: { x: 1 } })
    const second = await bench.patch('a', { spec: { y: 2 } })
    expectEqual(second.spec, { x: 1, y: 2 }, 'the spec')
    expectTrue(second.metadata.uid === made.metadata.uid, 'the uid is the same')
  },
  'merge patch: one that changes nothing keeps the version': async (bench) => {
    const made = await bench.create('a', { spec: { x: 1 } })
    for (const patch of [{}, { spec: { x: 1 } }, { spec: { absent: null } }]) {
      expectEqual(await bench.patch('a', patch), made, JSON.stringify(patch))
    }
    await bench.expectStored(made)
  },
  'patch: fails with STORE_CONFLICT if a precondition does not hold': async (bench) => {
    const made = await bench.create('a')
    const changed = await bench.patch('a', { spec: { x: 1 } })
    const { uid, resourceVersion } = changed.metadata
    const stale = { resourceVersion: made.metadata.resourceVersion }
    const other = { uid: 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c' }
    for (const patch of [{ spec: { x: 2 } }, [{ op: 'add', path: '/spec/x', value: 2 }] as const, {}, []]) {
      const shown = JSON.stringify(patch)
      for (const conditions of [stale, other, { uid, ...stale }, { ...other, resourceVersion }]) {
        const failed = await bench.store.patch(bench.ref('a'), patch, conditions)
        expectFailure(failed, 'STORE_CONFLICT', `${shown} under ${JSON.stringify(conditions)}`)
      }
    }
    await bench.expectStored(changed)
  },
  'patch: is done if its preconditions hold': async (bench) => {
    const { uid, resourceVersion } = (await bench.create('a')).metadata
    const patched = await bench.patch('a', { spec: { x: 1 } }, { uid, resourceVersion })
    const version = patched.metadata.resourceVersion
    const operations = [{ op: 'add', path: '/spec/y', value: 2 }] as const
    const again = await bench.patch('a', operations, { uid, resourceVersion: version })
    expectEqual(again.spec, { x: 1, y: 2 }, 'the spec')
  },
  'patch: fails with STORE_NOT_FOUND for what is not there': async (bench) => {
    expectFailure(await bench.store.patch(bench.ref('a'), { spec: { x: 1 } }), 'STORE_NOT_FOUND', 'merge patch')
    expectFailure(await bench.store.patch(bench.ref('a'), []), 'STORE_NOT_FOUND', 'JSON patch')
    await bench.expectGone('a')
  },
  'patch: does not make it another object': async (bench) => {
    const made = await bench.create('a')
    const elsewhere = { namespace: bench.otherNamespace }
    for (const patch of [{ metadata: { name: 'b' } }, { metadata: elsewhere }, { kind: 'Other' }]) {
      const what = JSON.stringify(patch)
      expectFailure(await bench.store.patch(bench.ref('a'), patch), ['STORE_INVALID', 'STORE_CONFLICT'], what)
    }
    await bench.expectStored(made)
  },
  'JSON patch: does all operations in their order': async (bench) => {
    await bench.create('a', { spec: { list: ['a', 'b'], x: 1, 'a/b~c': 1 }, metadata: { labels: { l: '1' } } })
    const operations = [
      { op: 'test', path: '/spec/x', value: 1 },
      { op: 'add', path: '/spec/list/-', value: 'c' },
      { op: 'add', path: '/spec/list/0', value: 'z' },
      { op: 'replace', path: '/spec/x', value: { deep: [1] } },
      { op: 'copy', from: '/spec/x/deep', path: '/spec/copied' },
      { op: 'move', from: '/spec/list/1', path: '/spec/first' },
      { op: 'remove', path: '/spec/a~1b~0c' },
      { op: 'add', path: '/metadata/labels/m', value: '2' },
    ] as const
    const { spec, metadata } = await bench.patch('a', operations)
    expectEqual(spec, { list: ['z', 'b', 'c'], x: { deep: [1] }, copied: [1], first: 'a' }, 'the spec')
    expectEqual(metadata.labels, { l: '1', m: '2' }, 'the labels')
  },
  'JSON patch: is refused as a whole if one operation does not fit': async (bench) => {
    const made = await bench.create('a', { spec: { x: 1, list: [1] } })
    for (const bad of [
      { op: 'test', path: '/spec/x', value: 2 },
      { op: 'remove', path: '/spec/absent' },
      { op: 'test', path: '/spec/absent', value: 1 },
      { op: 'replace', path: '/spec/absent/below', value: 1 },
      { op: 'replace', path: '/spec/list/1', value: 1 },
      { op: 'add', path: '/spec/absent/below', value: 1 },
      { op: 'add', path: '/spec/list/7', value: 1 },
      { op: 'move', from: '/spec/absent', path: '/spec/y' },
    ] as const) {
      const operations = [{ op: 'add', path: '/spec/y', value: 1 }, bad] as const
      expectFailure(await bench.store.patch(bench.ref('a'), operations), 'STORE_INVALID', JSON.stringify(bad))
    }
    await bench.expectStored(made)
  },
  'JSON patch: a test guards one field, whatever else changes': async (bench) => {
    await bench.create('a', { spec: { x: 1 } })
    const isFree = { op: 'test', path: '/spec/y', value: null } as const
    const take = (value: number) => [isFree, { op: 'add', path: '/spec/y', value }] as const
    await bench.patch('a', { metadata: { labels: { busy: '1' } }, spec: { x: 2 } })
    const taken = await bench.patch('a', take(1))
    expectEqual(taken.spec, { x: 2, y: 1 }, 'the spec')
    const late = await bench.store.patch(bench.ref('a'), take(2), { uid: taken.metadata.uid })
    expectFailure(late, 'STORE_INVALID', 'patch of a taken field')
    const ofStatus = [isFree, { op: 'add', path: '/status', value: { used: 1 } }] as const
    const refused = await bench.store.patch(bench.ref('a'), ofStatus, { subresource: 'status' })
    expectFailure(refused, 'STORE_INVALID', 'patch of the status for a field of the spec')
    await bench.expectStored(taken)
    const held = [{ ...isFree, value: 1 }, ofStatus[1]] as const
    const written = await bench.store.patch(bench.ref('a'), held, { subresource: 'status' })
    expectEqual(expectOk(written, 'patch of the status').status, { used: 1 }, 'the status')
  },
  'JSON patch: a member that is not there is null to test and copy, and replace adds it': async (bench) => {
    await bench.create('a', { spec: { x: 1 } })
    const operations = [
      { op: 'test', path: '/spec/absent', value: null },
      { op: 'copy', from: '/spec/absent', path: '/spec/copied' },
      { op: 'replace', path: '/spec/added', value: 2 },
    ] as const
    const { spec } = await bench.patch('a', operations)
    expectEqual(spec, { x: 1, copied: null, added: 2 }, 'the spec')
  },
}
