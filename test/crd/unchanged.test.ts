import type { KubeObject } from 'ipam-kit/crd/meta'
import { reviewedKinds } from 'ipam-kit/provider/webhook'
import { describe, expect, test } from 'vitest'
import { groupOf } from '../../src/crd/meta/object.js'
import { functions, GOING, rawOf, reviewed, table, updated } from './rules-of-kinds.js'

// A change is refused for what it makes wrong. What was wrong before is a warning.

test('every function and every kind with rules has a row', () => {
  expect([...new Set(table.map(({ admit }) => admit))].sort()).toEqual(functions.sort())
  const kindsOf = (infos: readonly { readonly apiVersion: string; readonly kind: string }[]) =>
    [...new Set(infos.map(({ apiVersion, kind }) => `${groupOf(apiVersion)} ${kind}`))].sort()
  expect(kindsOf(table.map(({ model }) => model.info))).toEqual(kindsOf(reviewedKinds))
})

describe.each(table)('$admit, $model.info.kind: an object that was stored with $warning', (rules) => {
  const { right, wrong, worse, other, warning } = rules
  const before = rawOf(rules, wrong)
  const isAllowed = async (old: KubeObject, now: KubeObject) => {
    const admission = updated(rules, old, now)
    expect(admission).toMatchObject({ allowed: true })
    expect((admission.warnings ?? []).join('\n')).toContain(warning)
    expect(await reviewed(rules, old, now)).toBe(true)
  }

  test('takes labels, annotations and finalizers', async () => {
    await isAllowed(before, rawOf(rules, wrong, { labels: { a: 'b' }, annotations: { c: 'd' } }))
    await isAllowed(before, rawOf(rules, wrong, { finalizers: ['x/y'] }))
  })

  test('takes a status', async () => {
    await isAllowed(before, { ...before, status: { conditions: [] } })
    await isAllowed({ ...before, status: { conditions: [] } }, before)
  })

  test('loses finalizers, whether it is being deleted or not', async () => {
    await isAllowed(rawOf(rules, wrong, { finalizers: ['x/y'] }), rawOf(rules, wrong))
    const [two, one] = [{ finalizers: ['x/y', 'x/z'] }, { finalizers: ['x/z'] }]
    await isAllowed(rawOf(rules, wrong, { ...GOING, ...two }), rawOf(rules, wrong, { ...GOING, ...one }))
    await isAllowed(rawOf(rules, wrong, { ...GOING, ...one }), rawOf(rules, wrong, { ...GOING, finalizers: [] }))
  })

  test('loses its last finalizer with any change, and then does not exist', async () => {
    const last = rawOf(rules, right, { ...GOING, finalizers: ['x/y'] })
    for (const spec of [wrong, worse, other]) {
      const gone = rawOf(rules, spec, { ...GOING, finalizers: [] })
      expect(updated(rules, last, gone)).toMatchObject({ allowed: true })
      expect(await reviewed(rules, last, gone)).toBe(true)
    }
  })

  test('is refused for what a change makes wrong, beside what was wrong and in place of it', async () => {
    for (const spec of [worse, other]) {
      expect([spec, updated(rules, before, rawOf(rules, spec))]).toMatchObject([spec, { allowed: false }])
      const going = { ...GOING, finalizers: ['x/y'] }
      expect(updated(rules, rawOf(rules, wrong, going), rawOf(rules, spec, going))).toMatchObject({ allowed: false })
      expect(await reviewed(rules, before, rawOf(rules, spec))).toBe(false)
    }
    if (JSON.stringify(right) !== JSON.stringify(wrong)) {
      expect(updated(rules, rawOf(rules, right), before)).toMatchObject({ allowed: false })
    }
  })
})

describe('a stored object that cannot be read', () => {
  test.each(table)('$admit, $model.info.kind: takes labels, and loses finalizers', async (each) => {
    const broken = (metadata: object): KubeObject => {
      return { ...rawOf(each, {}, metadata), spec: 5, status: 'x' } as KubeObject
    }
    expect(await reviewed(each, broken({}), broken({ labels: { a: 'b' } }))).toBe(true)
    const last = broken({ ...GOING, finalizers: ['x/y'] })
    expect(await reviewed(each, last, broken({ ...GOING, finalizers: [] }))).toBe(true)
    expect(await reviewed(each, last, rawOf(each, each.wrong, { ...GOING, finalizers: [] }))).toBe(true)
  })

  test.each(table)('$admit, $model.info.kind: may come of the update that removes the last finalizer', async (each) => {
    const broken = (metadata: object) => ({ ...rawOf(each, {}, metadata), spec: 5 }) as KubeObject
    const read = rawOf(each, each.right, { ...GOING, finalizers: ['x/y'] })
    expect(await reviewed(each, read, broken({ ...GOING, finalizers: [] }))).toBe(true)
    expect(await reviewed(each, read, broken({ ...GOING, finalizers: ['x/y'] }))).toBe(false)
    expect(await reviewed(each, rawOf(each, each.right), broken({}))).toBe(false)
  })
})

describe('an item of a list', () => {
  const rules = table.find(({ admit }) => admit === 'admitMetal3IPPool')!
  const bad = { start: '10.0.0.9', end: '10.0.0.1' }
  const pools = (...list: readonly object[]) => rawOf(rules, { namePrefix: 'a', pools: list })
  const good = { start: '10.1.0.1', end: '10.1.0.9' }

  test('keeps its errors at another place of the list', () => {
    expect(updated(rules, pools(good, bad), pools(bad))).toMatchObject({ allowed: true })
    expect(updated(rules, pools(bad), pools(good, bad))).toMatchObject({ allowed: true })
  })

  test('has new errors if it is another item, or there is one more of it', () => {
    expect(updated(rules, pools(bad), pools(bad, bad))).toMatchObject({ allowed: false })
    const gateway = { gateway: 'x' }
    const before = pools({ ...good, ...gateway }, good)
    expect(updated(rules, before, pools(good, { start: '10.2.0.1', ...gateway }))).toMatchObject({ allowed: false })
  })
})
