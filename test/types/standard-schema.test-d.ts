import type { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { Model } from 'ipam-kit/crd/meta'
import { expectTypeOf, test } from 'vitest'
import type * as z from 'zod'

type Validate = Model<InClusterIPPool>['~standard']['validate']

test('a model takes any value', () => {
  expectTypeOf<Parameters<Validate>>().toEqualTypeOf<[value: unknown]>()
})

test('a model is what zod calls a Standard Schema', () => {
  type Properties = z.core.$ZodStandardSchema<z.ZodType<InClusterIPPool, unknown>>
  expectTypeOf<Model<InClusterIPPool>['~standard']>().toExtend<
    Pick<Properties, 'version' | 'vendor' | 'validate' | 'types'>
  >()
})

test('the value is there only without issues', () => {
  type Answer = ReturnType<Validate>
  expectTypeOf<Extract<Answer, { readonly value: unknown }>['value']>().toEqualTypeOf<InClusterIPPool>()
  expectTypeOf<Extract<Answer, { readonly value: unknown }>['issues']>().toEqualTypeOf<undefined>()
})
