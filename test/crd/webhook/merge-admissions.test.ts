import fc from 'fast-check'
import { type Admission, annotationsPatch, type JsonPatch } from 'ipam-kit/crd/meta'
import { answerAdmissionReview, mergeAdmissions, parseAdmissionReview } from 'ipam-kit/crd/webhook'
import { unwrap } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'

const allow = (patch?: JsonPatch, ...warnings: readonly string[]): Admission => ({
  allowed: true,
  warnings,
  ...(patch && { patch }),
})
const refuse = (message: string): Admission => ({ allowed: false, code: 403, message, errors: [] })
const add = (path: string, value: unknown = 1) => ({ op: 'add', path, value }) as const

const pod = (annotations?: { readonly [name: string]: string }) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'a', ...(annotations && { annotations }) },
})

function requestOf(more: object = {}) {
  return parseAdmissionReview({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u-1',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      operation: 'CREATE',
      object: pod(),
      oldObject: null,
      ...more,
    },
  })
}

describe('a request', () => {
  test('keeps its user, its subresource and its options', () => {
    const userInfo = { username: 'system:kube-scheduler', uid: 'x', groups: ['g'], extra: { scopes: ['a', 'b'] } }
    const options = { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions', fieldManager: 'm' }
    expect(requestOf({ userInfo, subResource: 'status', options })).toMatchObject({
      userInfo,
      subResource: 'status',
      options,
    })
    const { userInfo: user, options: none } = requestOf({ userInfo: null, options: null })
    expect([user, none]).toEqual([undefined, undefined])
  })

  test('with a user of another form is refused', () => {
    expect(() => requestOf({ userInfo: { groups: 'all' } })).toThrow('request.userInfo.groups')
  })
})

describe('an answer with a patch', () => {
  const answer = (admission: Admission) => answerAdmissionReview(requestOf(), admission).response

  test('has it in Base64 of UTF-8', () => {
    const patch = [add('/metadata/annotations', { name: 'Zoë 💡' })]
    const response = answer(allow(patch))
    expect(response.patchType).toBe('JSONPatch')
    expect(JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString())).toEqual(patch)
  })

  test('that is empty has no patch, and a refusal has none', () => {
    expect(answer(allow([]))).toEqual({ uid: 'u-1', allowed: true })
    expect(answer({ ...refuse('no'), patch: [add('/a')] } as Admission)).not.toHaveProperty('patch')
  })

  test('of code 500 names it an internal error', () => {
    expect(answer({ ...refuse('no'), code: 500 } as Admission).status).toMatchObject({
      code: 500,
      reason: 'InternalError',
    })
  })
})

describe('answers of several rules', () => {
  test('of one rule, and of none, stay as they are', () => {
    expect(mergeAdmissions([])).toEqual(allow())
    expect(mergeAdmissions([refuse('no')])).toEqual(refuse('no'))
  })

  test('refuse if one refuses, with what the others say as warnings', () => {
    expect(mergeAdmissions([allow([add('/a')], 'w1'), refuse('one'), refuse('two')])).toEqual({
      ...refuse('one'),
      warnings: ['w1', 'two'],
    })
  })

  test('have an operation that they share once, and patches one behind the other', () => {
    const map = add('/metadata/annotations', {})
    const merged = mergeAdmissions([
      allow([map, add('/metadata/annotations/a')], 'w1'),
      allow([add('/metadata/annotations', {}), add('/metadata/annotations/b')], 'w2'),
    ])
    expect(merged).toEqual(allow([map, add('/metadata/annotations/a'), add('/metadata/annotations/b')], 'w1', 'w2'))
  })

  test.each<readonly [why: string, one: JsonPatch, other: JsonPatch]>([
    ['one path, two values', [add('/a', 1)], [add('/a', 2)]],
    ['a path and one below it', [add('/a', {})], [add('/a/b')]],
    ['a path below, and one', [add('/a/b')], [{ op: 'remove', path: '/a' }]],
    ['a path that is moved away', [{ op: 'move', from: '/a', path: '/b' }], [add('/a')]],
    ['the whole object', [{ op: 'replace', path: '', value: {} }], [add('/a')]],
  ])('that patch %s are an error of the program', (_, one, other) => {
    expect(() => mergeAdmissions([allow(one), allow(other)])).toThrow('expected patches of different paths')
  })

  test('that only test one path, or patch neighbours, are none', () => {
    const tested = [{ op: 'test', path: '/a', value: 1 }] as const
    expect(() => mergeAdmissions([allow([...tested, add('/b')]), allow([add('/a', 2), add('/bc')])])).not.toThrow()
  })
})

test('rules that set different annotations set all of them, with and without annotations before', async () => {
  const map = (prefix: string) =>
    fc.dictionary(
      fc.constantFrom('a', 'b', 'c.d/e', 'c.d/f').map((text) => `${prefix}${text}`),
      fc.string({ maxLength: 3 }),
      { maxKeys: 3 },
    )
  await fc.assert(
    fc.asyncProperty(fc.option(map('p'), { nil: undefined }), map('p'), map('q'), async (before, one, other) => {
      const store = memoryStore({ now: () => 0 })
      const object = unwrap(await store.create(pod(before)))
      const merged = mergeAdmissions([one, other].map((each) => allow(annotationsPatch(object, each))))
      if (!merged.allowed) return expect.unreachable()
      const ref = { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'a' }
      const after = merged.patch === undefined ? object : unwrap(await store.patch(ref, merged.patch))
      expect(after.metadata.annotations ?? {}).toEqual({ ...before, ...one, ...other })
    }),
  )
})
