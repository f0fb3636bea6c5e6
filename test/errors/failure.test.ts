import { createContext, runInContext } from 'node:vm'
import { fail, IpamError, isIpamError, ok, type Result, unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { INVALID_RANGE, STORE_IO } from '../../src/errors/definitions.js'
import { failure, ipamError } from '../../src/errors/failure.js'

const context = { first: '10.0.0.2', last: '10.0.0.1' }
const sentence = 'range ends before it begins: 10.0.0.2-10.0.0.1'

describe('a failure is plain data', () => {
  test('with a code and what the code carries', () => {
    expect(failure(INVALID_RANGE, context)).toEqual({ code: 'INVALID_RANGE', context })
    expect(structuredClone(failure(INVALID_RANGE, context))).toStrictEqual({ code: 'INVALID_RANGE', context })
  })

  test('with its cause, if there is one', () => {
    const cause = new Error('below')
    expect(failure(INVALID_RANGE, context, cause)).toEqual({ code: 'INVALID_RANGE', context, cause })
  })

  test('that has a sentence', () => {
    const busy = failure(STORE_IO, { operation: 'list', problem: 'down' })
    expect(busy.message).toBe('list failed: down')
    expect(failure(INVALID_RANGE, context).message).toBe(sentence)
  })

  test('whose sentence is not one of its enumerable members', () => {
    const failed = failure(INVALID_RANGE, context)
    expect(Object.keys(failed)).toEqual(['code', 'context'])
    expect(JSON.stringify(failed)).toBe(JSON.stringify({ code: 'INVALID_RANGE', context }))
    expect({ ...failed }).not.toHaveProperty('message')
  })

  test('whose sentence is made when it is read', () => {
    let made = 0
    const template = () => `sentence ${++made}`
    const failed = failure({ ...INVALID_RANGE, template }, context)
    expect(made).toBe(0)
    expect(failed.message).toBe('sentence 1')
  })

  test.each([
    ['a code that is not in the registry', 'NO_SUCH_CODE', context, 'code'],
    ['the name of a method', 'toString', context, 'code'],
    ['no code', undefined, context, 'code'],
    ['no context', 'STORE_IO', undefined, 'context'],
    ['a context without its members', 'INVALID_OBJECT', {}, 'context'],
  ])('and `fail` refuses %s', (_, code, given, argument) => {
    expect(() => fail(code as never, given as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: expect.objectContaining({ function: 'fail', argument }),
      }),
    )
  })
})

describe('a result', () => {
  test('is a value or a failure', () => {
    expect(ok(5)).toStrictEqual({ ok: true, value: 5 })
    expect(fail('INVALID_RANGE', context)).toEqual({ ok: false, failure: { code: 'INVALID_RANGE', context } })
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
    const stopped = { kind: 'failed', failure: failure(INVALID_RANGE, context), changes: [] } as const
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
    const error = ipamError(INVALID_RANGE, context)
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

  test('of a failure that was copied has the code as its sentence', () => {
    const copy = structuredClone(failure(INVALID_RANGE, context))
    expect(new IpamError(copy)).toMatchObject({ code: 'INVALID_RANGE', context, message: 'INVALID_RANGE' })
  })

  test('has a cause exactly if it was given one', () => {
    const cause = new Error('below')
    expect(ipamError(INVALID_RANGE, context, cause).cause).toBe(cause)
    expect('cause' in ipamError(INVALID_RANGE, context)).toBe(false)
  })
})

describe('isIpamError', () => {
  test('tells by the code', () => {
    const error = ipamError(INVALID_RANGE, context)
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

  test('knows an error of a later version by its name and the form of its code', () => {
    const later = Object.assign(new Error('x'), { name: 'IpamError', code: 'NO_SUCH_CODE' })
    expect(isIpamError(later)).toBe(true)
    expect(isIpamError(later, 'INVALID_RANGE')).toBe(false)
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
    { name: 'IpamError', code: 'toString' },
    { name: 'IpamError', code: '__proto__' },
    { name: 'Error', code: 'INVALID_RANGE' },
    Object.assign(new Error('x'), { code: 'ENOENT' }),
  ])('takes no other value for one: %j', (value) => {
    expect(isIpamError(value)).toBe(false)
  })
})
