import type { Planner } from 'ipam-kit/plan'
import { type GcOutcome, gcPlanner } from 'ipam-kit/provider/gc'
import { expectTypeOf, test } from 'vitest'

test('outcomes are a union that a switch has to finish', () => {
  expectTypeOf<GcOutcome['kind']>().toEqualTypeOf<
    'kept' | 'pruned' | 'collected' | 'held' | 'unblocked' | 'finished' | 'leaving' | 'unlisted'
  >()
  expectTypeOf<Extract<GcOutcome, { kind: 'held' }>['by']>().toEqualTypeOf<'foregroundDeletion' | 'orphan'>()
})

test('the collector is a planner like any other', () => {
  expectTypeOf(gcPlanner).returns.toExtend<Planner<GcOutcome>>()
})
