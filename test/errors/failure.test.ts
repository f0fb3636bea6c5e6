import { createContext, runInContext } from 'node:vm'
import { describe as describeFailure, fail, IpamError, isIpamError, ok, type Result, unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { failure, ipamError } from '../../src/errors/failure.js'

const context = { first: '10.0.0.2', last: '10.0.0.1' }
const sentence = 'range ends before it begins: 10.0.0.2-10.0.0.1'

describe('a failure is plain data', () => {
  test('with a code and what the code carries', () => {
    expect(failure('INVALID_RANGE', context)).toStrictEqual({ code: 'INVALID_RANGE', context })
    expect(structuredClone(failure('INVALID_RANGE', context))).toStrictEqual({ code: 'INVALID_RANGE', context })
  })

  test('with its cause, if there is one', () => {
    const cause = new Error('below')
    expect(failure('INVALID_RANGE', context, cause)).toStrictEqual({ code: 'INVALID_RANGE', context, cause })
  })

  test('that has a sentence', () => {
    const busy = failure('STORE_IO', { operation: 'list', problem: 'down' })
    expect(describeFailure(busy)).toBe('list failed: down')
    expect(describeFailure(failure('INVALID_RANGE', context))).toBe(sentence)
  })
})

describe('a result', () => {
  test('is a value or a failure', () => {
    expect(ok(5)).toStrictEqual({ ok: true, value: 5 })
    expect(fail('INVALID_RANGE', context)).toStrictEqual({ ok: false, failure: { code: 'INVALID_RANGE', context } })
    const cause = new Error('below')
    expect(fail('INVALID_RANGE', context, cause).failure.cause).toBe(cause)
  })

  test('unwraps to its value, a falsy one too', () => {
    expect(unwrap(ok(0))).toBe(0)
    expect(unwrap(ok(undefined))).toBeUndefined()
  })

  test('or throws its failure, cause and all', () => {
    const cause = new Error('below')
    const failed: Result<number, 'INVALID_RANGE'> = fail('INVALID_RANGE', context, cause)
    expect(() => unwrap(failed)).toThrow(
      expect.objectContaining({ name: 'IpamError', code: 'INVALID_RANGE', context, cause, message: sentence }),
    )
  })
})

describe('what carrying a plan out comes to', () => {
  test('unwraps to itself, or throws the failure that it carries', () => {
    const done = { kind: 'done', changes: [] } as const
    expect(unwrap(done)).toBe(done)
    const stopped = { kind: 'failed', failure: failure('INVALID_RANGE', context), changes: [] } as const
    expect(() => unwrap(stopped)).toThrow(expect.objectContaining({ code: 'INVALID_RANGE', context }))
  })

  test.each([
    ['a promise', Promise.resolve(ok(1))],
    ['undefined', undefined],
    ['object', null],
    ['object', {}],
    ['string', 'ok'],
    ['object', { ok: 1 }],
    ['object', { ok: false, kind: 'done' }],
  ])('and %s is no result', (got, wrong) => {
    expect(() => unwrap(wrong as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: expect.objectContaining({ argument: 'result', got }),
      }),
    )
  })
})

describe('an IpamError', () => {
  test('is an Error with the code, the context and the sentence of its failure', () => {
    const error = ipamError('INVALID_RANGE', context)
    expect(error).toBeInstanceOf(Error)
    expect(error).toBeInstanceOf(IpamError)
    expect([error.name, error.code, error.context, error.message]).toEqual([
      'IpamError',
      'INVALID_RANGE',
      context,
      sentence,
    ])
    expect(String(error)).toBe(`IpamError: ${sentence}`)
    expect(error.stack).toMatch(/^IpamError: range ends/)
  })

  test('has a cause exactly if it was given one', () => {
    const cause = new Error('below')
    expect(ipamError('INVALID_RANGE', context, cause).cause).toBe(cause)
    expect('cause' in ipamError('INVALID_RANGE', context)).toBe(false)
  })
})

describe('isIpamError', () => {
  test('tells by the code', () => {
    const error = ipamError('INVALID_RANGE', context)
    expect(isIpamError(error)).toBe(true)
    expect(isIpamError(error, 'INVALID_RANGE')).toBe(true)
    expect(isIpamError(error, 'FAMILY_MISMATCH')).toBe(false)
  })

  test('knows the error of another copy of the package', () => {
    class Copy extends Error {
      override readonly name = 'IpamError'
      readonly code = 'INVALID_RANGE'
    }
    expect(isIpamError(new Copy())).toBe(true)
    expect(isIpamError(new Copy(), 'INVALID_RANGE')).toBe(true)
  })

  test('knows the error of another realm', () => {
    const code = "Object.assign(new Error('x'), { name: 'IpamError', code: 'INVALID_RANGE' })"
    const foreign: unknown = runInContext(code, createContext())
    expect(foreign instanceof Error).toBe(false)
    expect(isIpamError(foreign, 'INVALID_RANGE')).toBe(true)
  })

  test.each([
    undefined,
    null,
    'IpamError',
    new Error('x'),
    { name: 'IpamError' },
    { name: 'IpamError', code: 5 },
    { name: 'IpamError', code: 'NO_SUCH_CODE' },
    { name: 'IpamError', code: 'toString' },
    { name: 'IpamError', code: '__proto__' },
    { name: 'Error', code: 'INVALID_RANGE' },
    Object.assign(new Error('x'), { code: 'ENOENT' }),
  ])('takes no other value for one: %j', (value) => {
    expect(isIpamError(value)).toBe(false)
  })
})
