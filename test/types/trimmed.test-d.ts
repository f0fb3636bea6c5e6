import type { KubeObject } from 'ipam-kit/crd/meta'
import {
  addFinalizer,
  definePlanner,
  guard,
  type JsonPatchEffect,
  patchObject,
  type TrimmedWatch,
  type Watch,
} from 'ipam-kit/plan'
import { describe, expectTypeOf, test } from 'vitest'
import type { CreateEffect, MergePatchEffect, PatchEffect } from '../../src/plan/effect.js'
import type { TrimmedObject } from '../../src/plan/selection.js'

const kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true }
const keep = (object: KubeObject): KubeObject => ({ ...object, spec: undefined })
const trimmed: TrimmedWatch<TrimmedObject> = { ...kind, keep, parse: (value) => ({ ok: true, value }) }
const whole: Watch<KubeObject> = { ...kind, parse: (value) => ({ ok: true, value }) }

describe('a planner that watches a kind with keep', () => {
  const plan = (object: TrimmedObject) => ({ outcome: { kind: 'x', message: 'x' }, effects: [guard(object, 'x')] })

  test('may patch its objects', () => {
    definePlanner({
      name: 'x',
      watches: { trimmed, whole },
      wakes: { trimmed: ({ ref }) => [ref.name], whole: () => [] },
      plan: (key, { cache }) => {
        const entry = cache.trimmed.entry(key)
        return entry && plan(entry.object)
      },
    })
    expectTypeOf(patchObject).toBeCallableWith({} as TrimmedObject, {}, 'x')
  })

  test('cannot create one of them, nor write its list of finalizers', () => {
    definePlanner({
      name: 'x',
      watches: { trimmed, whole },
      wakes: { trimmed: () => [], whole: () => [] },
      plan: (key, { cache }) => {
        expectTypeOf(cache.trimmed.get(key)).toEqualTypeOf<TrimmedObject | undefined>()
        const part = cache.trimmed.entry(key)!.object
        // @ts-expect-error a part of an object is not an object
        const create: CreateEffect = { kind: 'create', object: part, why: 'x' }
        // @ts-expect-error nor is it with other fields
        const copy: CreateEffect = { kind: 'create', object: { ...part, spec: {} }, why: 'x' }
        // @ts-expect-error its finalizers may be among what was not kept
        addFinalizer(part, 'x', 'x')
        const all: CreateEffect = { kind: 'create', object: cache.whole.entry(key)!.object, why: 'x' }
        return { outcome: { kind: 'x', message: 'x' }, effects: [create, copy, all] }
      },
    })
  })

  test('cannot do without a watch that says so', () => {
    // @ts-expect-error a watch with keep reads a part of each object
    const watch: Watch<KubeObject> = { ...kind, keep, parse: (value: KubeObject) => ({ ok: true, value }) }
    expectTypeOf(watch).not.toBeAny()
  })
})

test('only a JSON patch has field guards', () => {
  const ref = { apiVersion: 'v1', kind: 'Node', name: 'n' }
  const guarded = { fields: { 'spec.podCIDRs': null } }
  expectTypeOf<MergePatchEffect | JsonPatchEffect>().toEqualTypeOf<PatchEffect>()
  const right: PatchEffect = { kind: 'patch', ref, patch: [], if: guarded, why: 'x' }
  // @ts-expect-error a merge patch has no tests
  const wrong: PatchEffect = { kind: 'patch', ref, patch: {}, if: guarded, why: 'x' }
  expectTypeOf([right, wrong]).toEqualTypeOf<PatchEffect[]>()
})
