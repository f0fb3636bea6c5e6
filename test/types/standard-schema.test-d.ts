import type { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { Model, StandardResult, StandardSchema } from 'ipam-kit/crd/meta'
import { expectTypeOf, test } from 'vitest'
import type * as z from 'zod'

test('a model is a Standard Schema of its objects', () => {
  expectTypeOf<Model<InClusterIPPool>>().toExtend<StandardSchema<InClusterIPPool>>()
  expectTypeOf<ReturnType<Model<InClusterIPPool>['~standard']['validate']>>().toEqualTypeOf<
    StandardResult<InClusterIPPool>
  >()
})

test('a model is what zod calls a Standard Schema', () => {
  type Properties = z.core.$ZodStandardSchema<z.ZodType<InClusterIPPool, unknown>>
  expectTypeOf<Model<InClusterIPPool>['~standard']>().toExtend<
    Pick<Properties, 'version' | 'vendor' | 'validate' | 'types'>
  >()
})

test('the value is there only without issues', () => {
  type Answer = StandardResult<InClusterIPPool>
  expectTypeOf<Extract<Answer, { readonly value: unknown }>['issues']>().toEqualTypeOf<undefined>()
})
