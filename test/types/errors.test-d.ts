import { type ErrorCode, type Failure, type IpamError, isIpamError, type Result } from 'ipam-kit/errors'
import { expectTypeOf, test } from 'vitest'
import type { ErrorContexts } from '../../src/errors/codes.js'

test('a failure narrows by its code', () => {
  const context = (failure: Failure<'MALFORMED_ADDRESS' | 'FAMILY_MISMATCH'>) => {
    switch (failure.code) {
      case 'MALFORMED_ADDRESS':
        expectTypeOf(failure.context).toEqualTypeOf<ErrorContexts['MALFORMED_ADDRESS']>()
        return failure.context.position
      case 'FAMILY_MISMATCH':
        expectTypeOf(failure.context.left).toEqualTypeOf<string>()
        return failure.context.left
      default:
        expectTypeOf(failure).toEqualTypeOf<never>()
        return failure
    }
  }
  expectTypeOf(context).returns.toEqualTypeOf<number | string>()
})

test('a result narrows by ok', () => {
  const value = (result: Result<number, 'FAMILY_MISMATCH'>) => {
    if (result.ok) return result.value
    expectTypeOf(result.failure.code).toEqualTypeOf<'FAMILY_MISMATCH'>()
    return undefined
  }
  expectTypeOf(value).returns.toEqualTypeOf<number | undefined>()
})

test('every code has a context, and an exception carries both', () => {
  expectTypeOf<ErrorCode>().toEqualTypeOf<keyof ErrorContexts>()
  expectTypeOf<IpamError<'INVALID_RANGE'>['code']>().toEqualTypeOf<'INVALID_RANGE'>()
  expectTypeOf<IpamError<'INVALID_RANGE'>['context']>().toEqualTypeOf<ErrorContexts['INVALID_RANGE']>()
  expectTypeOf<IpamError>().toExtend<Error>()
  expectTypeOf(isIpamError).toBeFunction()
})
