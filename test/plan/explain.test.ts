import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { explain } from 'ipam-kit/plan'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { expect, test } from 'vitest'
import type { DeleteEffect } from '../../src/plan/effect.js'
import { explainEffect } from '../../src/plan/plan.js'
import { claim, pool } from '../provider/in-cluster/world.js'

const thing = { apiVersion: 'v1', kind: 'Thing', name: 'x' }
const given = (uid: string, resourceVersion: string) => ({ uid, resourceVersion, generation: 1 })

test('a plan in words: outcome, every effect, its condition, and why', () => {
  const owner = pool(['10.0.0.1-10.0.0.9'])
  const wanted = claim('web')
  const stored = InClusterIPPool.parse({ ...owner, metadata: { ...owner.metadata, ...given('p-1', '4') } })
  const plan = planClaim(
    {
      claim: IPAddressClaim.parse({ ...wanted, metadata: { ...wanted.metadata, ...given('c-1', '7') } }),
      pool: stored,
      ledger: PoolLedger.build(stored, []),
    },
    { nowMs: 0 },
  )
  expect(explain(plan)).toBe(
    [
      'bound: 10.0.0.1/24',
      '  1. patch IPAddressClaim default/web (metadata.finalizers) if it has uid c-1 and version 7: keeps the claim until its address is released',
      '  2. create IPAddress default/web, unless there is one: 10.0.0.1 is the lowest free address in InClusterIPPool default/pool',
      '  3. patch status of IPAddressClaim default/web (status.addressRef, status.conditions) if it has uid c-1 and version 7: the claim is Bound',
      '  4. tell of IPAddressClaim default/web: Normal AddressAllocated: 10.0.0.1/24',
    ].join('\n'),
  )
})

test('a plan without effects says so, and when it wants to be made again', () => {
  const outcome = { kind: 'releasing', message: '10.0.0.1 is released in 40 s' }
  expect(explain({ outcome, effects: [], requeueAfterSeconds: 40 })).toBe(
    'releasing: 10.0.0.1 is released in 40 s\n  nothing to do\n  look again in 40 s',
  )
})

test.each<[string, Omit<DeleteEffect, 'kind' | 'ref' | 'why'>, string]>([
  ['names the uid that it is for', { if: { uid: 'u-1' } }, 'delete Thing x if it has uid u-1: it is free again'],
  [
    'says what becomes of dependents, where the plan says so',
    { if: { uid: 'u-1', resourceVersion: '7' }, propagation: 'Foreground' },
    'delete Thing x (Foreground) if it has uid u-1 and version 7: it is free again',
  ],
])('a delete %s', (_, given, expected) => {
  expect(explainEffect({ kind: 'delete', ref: thing, ...given, why: 'it is free again' })).toBe(expected)
})

test('an absence names the uid that must not be there', () => {
  const effect = { kind: 'absent', ref: thing, uid: 'u-1', why: 'its dependents go with it' } as const
  expect(explainEffect(effect)).toBe('continue only if there is no Thing x with uid u-1: its dependents go with it')
})
