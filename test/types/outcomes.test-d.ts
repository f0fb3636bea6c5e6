import type { AllocationOutcome } from 'ipam-kit/allocator'
import type { Address } from 'ipam-kit/cidr'
import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { GlobalInClusterPrefixPool, InClusterPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Effect, Plan, Planner } from 'ipam-kit/plan'
import { inCluster, planClaim } from 'ipam-kit/provider/in-cluster'
import type { Store, StoreErrorCode } from 'ipam-kit/store'
import { describe, expectTypeOf, test } from 'vitest'
import type { Condition as ClaimCondition } from '../../src/claim/conditions.js'
import type { ClaimStatusLike } from '../../src/claim/state.js'
import type { Condition as CrdCondition } from '../../src/crd/meta/schema.js'
import type { ClaimOutcome } from '../../src/provider/claims/outcome.js'
import type { RunResult } from '../../src/run/plan/run-plan.js'

describe('outcomes are unions that a switch has to finish', () => {
  test('of an allocation', () => {
    const addressOf = (outcome: AllocationOutcome): Address | undefined => {
      switch (outcome.kind) {
        case 'allocated':
        case 'already':
        case 'taken':
        case 'cooldown':
        case 'outOfPool':
        case 'refused':
          return outcome.address
        case 'exhausted':
          return undefined
        default:
          return outcome satisfies never
      }
    }
    expectTypeOf(addressOf).returns.toEqualTypeOf<Address | undefined>()
  })

  test('of a claim', () => {
    expectTypeOf<ClaimOutcome['kind']>().toEqualTypeOf<
      'ignored' | 'paused' | 'waiting' | 'bound' | 'held' | 'releasing' | 'released' | 'orphaned' | 'swept'
    >()
    expectTypeOf<Extract<ClaimOutcome, { kind: 'bound' }>['address']>().toEqualTypeOf<string>()
    expectTypeOf(planClaim).returns.toEqualTypeOf<Plan<ClaimOutcome>>()
  })

  test('of a run', () => {
    expectTypeOf<RunResult['kind']>().toEqualTypeOf<'done' | 'conflict' | 'failed'>()
    expectTypeOf<Extract<RunResult, { kind: 'failed' }>['effect']>().toEqualTypeOf<Effect>()
  })
})

describe('every write carries its precondition', () => {
  test('a delete names the uid', () => {
    type Delete = Extract<Effect, { kind: 'delete' }>
    expectTypeOf<Delete['if']['uid']>().toEqualTypeOf<string>()
  })

  test('a patch has a condition, if an empty one', () => {
    expectTypeOf<Extract<Effect, { kind: 'patch' }>>().toHaveProperty('if')
  })
})

describe('objects', () => {
  test('typed ones are Kubernetes objects', () => {
    expectTypeOf<IPAddressClaim>().toExtend<KubeObject>()
    expectTypeOf<InClusterPool>().toExtend<KubeObject>()
    expectTypeOf<GlobalInClusterPrefixPool>().toExtend<InClusterPool>()
  })

  test('a claim of Cluster API is one that the claim machine reads', () => {
    expectTypeOf<IPAddressClaim>().toExtend<ClaimStatusLike>()
  })

  test('a condition is the same thing in the claim machine and in the models', () => {
    expectTypeOf<ClaimCondition>().toEqualTypeOf<CrdCondition>()
  })

  test('what is read is readonly', () => {
    const claim = {} as IPAddressClaim
    // @ts-expect-error a typed object is not changed in place
    claim.spec.poolRef.name = 'other'
  })
})

test('a provider is a planner, whatever its outcomes', () => {
  expectTypeOf(inCluster).returns.toExtend<Planner>()
})

test('a store answers with a closed set of codes', () => {
  expectTypeOf<StoreErrorCode>().toEqualTypeOf<
    | 'STORE_NOT_FOUND'
    | 'STORE_ALREADY_EXISTS'
    | 'STORE_CONFLICT'
    | 'STORE_INVALID'
    | 'STORE_OBJECT_TOO_LARGE'
    | 'STORE_VERSION_GONE'
    | 'STORE_IO'
    | 'STORE_OUTCOME_UNKNOWN'
    | 'STORE_WRITE_WITHHELD'
  >()
  type Got = Awaited<ReturnType<Store['get']>>
  expectTypeOf<Extract<Got, { ok: true }>['value']>().toEqualTypeOf<KubeObject>()
})
