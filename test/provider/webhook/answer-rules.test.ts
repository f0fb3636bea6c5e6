import { Pod } from 'ipam-kit/crd/core'
import type { Admission } from 'ipam-kit/crd/meta'
import { modelWatch } from 'ipam-kit/plan'
import { answerReview, type ReviewRule } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'a' }, spec: {} }
const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u', kind: { group: '', version: 'v1', kind: 'Pod' }, operation: 'CREATE', object: pod },
}
const rule = (admit: ReviewRule['admit']): ReviewRule => ({ model: Pod, admit })
const sets = (path: string, value: unknown): Admission => ({
  allowed: true,
  warnings: [],
  patch: [{ op: 'add', path, value }],
})

async function answer(...rules: readonly ReviewRule[]) {
  const answered = await answerReview(review, memoryStore({ now: () => 0 }), { rules })
  if (answered.kind !== 'AdmissionReview') return expect.unreachable()
  const { patch, ...response } = answered.response
  return { ...response, ...(patch !== undefined && { patch: JSON.parse(Buffer.from(patch, 'base64').toString()) }) }
}

test('further rules answer a kind that has no rules, and all of their patches are in the answer', async () => {
  expect(await answer()).toMatchObject({ allowed: false, status: { code: 400 } })
  const answered = await answer(
    rule(() => sets('/a', 1)),
    rule(async () => sets('/b', 2)),
  )
  expect(answered).toEqual({
    uid: 'u',
    allowed: true,
    patchType: 'JSONPatch',
    patch: [
      { op: 'add', path: '/a', value: 1 },
      { op: 'add', path: '/b', value: 2 },
    ],
  })
})

test('two rules that patch one path are answered with code 500, and the path', async () => {
  const answered = await answer(
    rule(() => sets('/a', 1)),
    rule(() => sets('/a', 2)),
  )
  expect(answered).toMatchObject({ allowed: false, status: { code: 500 } })
  expect(answered.status?.message).toContain('got /a')
})

test('a further rule looks objects up', async () => {
  const answered = await answer(
    rule(async (request, lookups) => {
      const found = await lookups.get(modelWatch(Pod), { name: 'other', namespace: 'a' })
      return { allowed: true, warnings: [`${request.uid} ${found === undefined}`] }
    }),
  )
  expect(answered.warnings).toEqual(['u true'])
})

test('a rule without a model is refused', async () => {
  const store = memoryStore({ now: () => 0 })
  await expect(answerReview(review, store, { rules: [{} as ReviewRule] })).rejects.toThrow('options.rules')
})
