import type { Plan } from 'ipam-kit/plan'
import { type ConsumerOutcome, type MachineConfig, planClaims, releasePlan } from 'ipam-kit/provider/consumer'
import { expectTypeOf, test } from 'vitest'
import type { DeviceConfig } from '../../../src/provider/consumer/device-config.js'
import type { ConflictReason, Resolution } from '../../../src/provider/consumer/resolution.js'

test('where a claim stands is a union that a switch has to finish', () => {
  expectTypeOf<Resolution['kind']>().toEqualTypeOf<'missing' | 'pending' | 'bound' | 'deleting' | 'conflict'>()
  expectTypeOf<Extract<Resolution, { kind: 'conflict' }>['reason']>().toEqualTypeOf<ConflictReason>()
  expectTypeOf<Extract<Resolution, { kind: 'missing' }>>().not.toHaveProperty('claim')
})

test('and so are plans and settings', () => {
  expectTypeOf(planClaims).returns.toEqualTypeOf<Plan<ConsumerOutcome>>()
  expectTypeOf(releasePlan).returns.toEqualTypeOf<Plan<ConsumerOutcome>>()
  expectTypeOf<ConsumerOutcome['kind']>().toEqualTypeOf<
    'ready' | 'creating' | 'waiting' | 'terminating' | 'conflict' | 'paused' | 'holding' | 'released'
  >()
  expectTypeOf<DeviceConfig['kind']>().toEqualTypeOf<'configured' | 'invalid'>()
  expectTypeOf<MachineConfig['kind']>().toEqualTypeOf<'configured' | 'waiting' | 'invalid'>()
  // there are no settings before the problems were looked at
  expectTypeOf<Extract<DeviceConfig, { kind: 'invalid' }>>().not.toHaveProperty('addresses')
})
