import { admitIPHandle, IPHandle } from 'ipam-kit/crd/ipam-kit'
import type { Admission } from 'ipam-kit/crd/meta'
import { expect, test } from 'vitest'
import type { IPHandleSpec } from '../../../src/crd/ipam-kit/ip-handle.js'
import { API_VERSION } from '../../../src/crd/ipam-kit/names.js'

const spec: IPHandleSpec = { owner: 'web/front-0', uid: '4f1c', blocks: { eth0: ['default-4-0a000000-24'] } }
const handle = (change: Partial<IPHandleSpec> = {}, name = 'uid-4f1c'): IPHandle =>
  IPHandle.parse({ apiVersion: API_VERSION, kind: 'IPHandle', metadata: { name }, spec: { ...spec, ...change } })
const errorsOf = (admission: Admission) =>
  admission.allowed ? [] : admission.errors.map(({ path, detail }) => `${path}: ${detail}`)

test('a handle is made under the name of its owner', () => {
  expect(errorsOf(admitIPHandle({ operation: 'CREATE', object: handle() }))).toEqual([])
  expect(errorsOf(admitIPHandle({ operation: 'CREATE', object: handle({}, 'uid-90ab') }))).toEqual([
    'metadata.name: is not uid-4f1c',
  ])
  expect(admitIPHandle({ operation: 'CREATE', object: handle({ uid: 'u'.repeat(37) }) }).allowed).toBe(false)
})

test.each<[string[], Partial<IPHandleSpec>]>([
  [[], { blocks: {} }],
  [[], { sequence: 7 }],
  [['metadata.name: is not uid-90ab', 'spec.uid: never changes'], { uid: '90ab' }],
  [['spec.owner: never changes'], { owner: 'web/front-1' }],
  [['spec.kind: never changes'], { kind: 'VirtualMachine.kubevirt.io' }],
])('and stays with it: %j', (errors, change) => {
  const object = handle(change)
  expect(errorsOf(admitIPHandle({ operation: 'UPDATE', object, oldObject: handle() }))).toEqual(errors)
})

test('it may go, and what leaves it as it is is never refused', () => {
  const odd = handle({}, 'odd')
  expect(admitIPHandle({ operation: 'DELETE', oldObject: odd })).toEqual({ allowed: true, warnings: [] })
  expect(admitIPHandle({ operation: 'UPDATE', object: odd, oldObject: odd })).toEqual({
    allowed: true,
    warnings: ['metadata.name: Invalid value: "odd": is not uid-4f1c'],
  })
})
