import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Plan } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { expect, test } from 'vitest'
import { claim, poolOf } from './world.js'

const time = { nowMs: Date.UTC(2026, 0, 1) }
const given = (plan: Plan | undefined) =>
  plan?.effects.flatMap((effect) =>
    effect.kind === 'create' ? [(effect.object.spec as { address: string }).address] : [],
  )

test('what is about to be written is in use for a pool that comes to have it in common meanwhile', () => {
  const planner = inCluster({ overlaps: 'avoid' })
  let version = 0
  const show = (object: KubeObject) => {
    const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: String(++version) }
    planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
  const two = (addresses: readonly string[]) => poolOf('InClusterIPPool', { addresses, prefix: 24 }, 'two')
  const keyOf = (name: string) => `IPAddressClaim default/${name}`
  show(poolOf('InClusterIPPool', { addresses: ['10.0.0.5'], prefix: 24 }, 'one'))
  show(two(['10.0.0.7']))
  show(claim('a', { poolRef: { name: 'one' } }))
  show(claim('b', { poolRef: { name: 'two' } }))
  const first = planner.plan(keyOf('a'), time) as Plan
  const end = planner.reserve?.(first) as () => readonly string[]
  expect(given(first)).toEqual(['10.0.0.5'])

  show(two(['10.0.0.5', '10.0.0.7']))
  show(two(['10.0.0.5', '10.0.0.7-10.0.0.8']))
  expect(given(planner.plan(keyOf('b'), time))).toEqual(['10.0.0.7'])
  // it was not written after all
  expect(end()).toContain('InClusterIPPool default/two')
  expect(end()).toEqual([])
  expect(given(planner.plan(keyOf('b'), time))).toEqual(['10.0.0.5'])
})
