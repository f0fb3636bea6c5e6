import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { explain } from 'ipam-kit/plan'
import { PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { expect, test } from 'vitest'
import { claim, pool } from '../provider/in-cluster/world.js'

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
      '  1. patch IPAddressClaim default/web (metadata.finalizers) if it has uid c-1 and version 7: the claim must not go before its address',
      '  2. create IPAddress default/web, unless there is one: 10.0.0.1 is the lowest that is free in InClusterIPPool default/pool',
      '  3. patch status of IPAddressClaim default/web (status.addressRef, status.conditions) if it has uid c-1 and version 7: the claim is Bound',
      '  4. tell of IPAddressClaim default/web: Normal AddressAllocated: 10.0.0.1/24',
    ].join('\n'),
  )
})

test('a plan without effects says so, and when it wants to be made again', () => {
  const outcome = { kind: 'releasing', message: '10.0.0.1 stays in use for another 40 s' }
  expect(explain({ outcome, effects: [], requeueAfterSeconds: 40 })).toBe(
    'releasing: 10.0.0.1 stays in use for another 40 s\n  nothing to do\n  look again in 40 s',
  )
})

test('a delete names the uid that it is for', () => {
  const ref = { apiVersion: 'v1', kind: 'Thing', name: 'x' }
  const plan = {
    outcome: { kind: 'released', message: 'gone' },
    effects: [{ kind: 'delete', ref, if: { uid: 'u-1' }, why: 'it is free again' }] as const,
  }
  expect(explain(plan)).toContain('1. delete Thing x if it has uid u-1: it is free again')
})
