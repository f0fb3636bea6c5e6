import { type ErrorCode, type Failure, type IpamError, isIpamError, type Result, unwrap } from 'ipam-kit/errors'
import type { runKey, runPlan, runTask } from 'ipam-kit/run'
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

type RunResult = Awaited<ReturnType<typeof runPlan>>
type TaskResult = Awaited<ReturnType<typeof runTask>>
type KeyResult = Awaited<ReturnType<typeof runKey>>

test('unwrap gives the value of a result, and of an answer what has no failure', () => {
  const unwrapped = (
    result: Result<number, 'FAMILY_MISMATCH'>,
    ran: RunResult,
    task: TaskResult,
    key: KeyResult,
    late: Promise<RunResult>,
    results: Result<string>[],
  ) => {
    expectTypeOf(unwrap(result)).toEqualTypeOf<number>()
    expectTypeOf(results.map(unwrap)).toEqualTypeOf<string[]>()
    expectTypeOf(unwrap(ran)).toEqualTypeOf<Extract<RunResult, { kind: 'done' }>>()
    expectTypeOf(unwrap(task)).toEqualTypeOf<Extract<TaskResult, { kind: 'done' }>>()
    expectTypeOf(unwrap(key)).toEqualTypeOf<Extract<KeyResult, { kind: 'done' }>>()
    // @ts-expect-error: a promise is not a result yet
    unwrap(late)
  }
  expectTypeOf(unwrapped).toBeFunction()
})
