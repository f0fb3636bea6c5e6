import { Prefix } from 'ipam-kit/cidr'
import {
  answerCni,
  CNI_ERRORS,
  type CniCommand,
  type CniOutcome,
  type CniRequest,
  cniErrorOf,
  readCniRequest,
  retryOfCniError,
} from 'ipam-kit/cni'
import { fail, IpamError, registry, unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const requestOf = (command: CniCommand, cniVersion = '1.1.0'): CniRequest => {
  const env = { CNI_COMMAND: command, CNI_CONTAINERID: 'c1', CNI_NETNS: '/x', CNI_IFNAME: 'net1', CNI_PATH: '/opt' }
  return unwrap(
    readCniRequest({ env, stdin: JSON.stringify({ cniVersion, name: 'n', 'cni.dev/valid-attachments': [] }) }),
  )
}
const ip = { address: Prefix.parse('10.4.0.1/24') }
const added: CniOutcome = { kind: 'added', result: { ips: [ip] } }
const done: CniOutcome = { kind: 'done' }
const failed: CniOutcome = { kind: 'failed', error: { code: 11, msg: 'wait', details: 'x' } }

describe('an answer', () => {
  test('to ADD is the result', () => {
    expect(answerCni(requestOf('ADD'), added)).toEqual({
      stdout: '{"cniVersion":"1.1.0","ips":[{"address":"10.4.0.1/24"}]}\n',
      exitCode: 0,
    })
  })

  test.each(['DEL', 'CHECK', 'GC', 'STATUS'] as const)('to %s that has succeeded is empty', (command) => {
    expect(answerCni(requestOf(command), done)).toEqual({ stdout: '', exitCode: 0 })
  })

  test('to VERSION has the versions', () => {
    expect(answerCni(requestOf('VERSION', '0.4.0'), done)).toEqual({
      stdout: '{"cniVersion":"0.4.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}\n',
      exitCode: 0,
    })
  })

  test('that is an error has the version, if it is known, and exit code 1', () => {
    const text = '{"cniVersion":"0.4.0","code":11,"msg":"wait","details":"x"}\n'
    expect(answerCni(requestOf('DEL', '0.4.0'), failed)).toEqual({ stdout: text, exitCode: 1 })
    const error = { code: 4, msg: 'no command' }
    expect(answerCni(undefined, { kind: 'failed', error })).toEqual({
      stdout: '{"code":4,"msg":"no command"}\n',
      exitCode: 1,
    })
  })

  test('that the version cannot express is an error, and never half of a result', () => {
    const { stdout, exitCode } = answerCni(requestOf('ADD', '0.2.0'), { kind: 'added', result: { ips: [ip, ip] } })
    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ cniVersion: '0.2.0', code: 7 })
  })

  test.each<[string, CniRequest | undefined, CniOutcome]>([
    ['ADD without a result', requestOf('ADD'), done],
    ['DEL with a result', requestOf('DEL'), added],
    ['VERSION with a result', requestOf('VERSION'), added],
    ['success without a request', undefined, done],
  ])('%s is a mistake of the caller', (_, request, outcome) => {
    expect(() => answerCni(request, outcome)).toThrow('answerCni: argument outcome.kind: expected')
  })
})

describe('the CNI error of', () => {
  test.each([
    [fail('INVALID_CNI_ENVIRONMENT', { variables: ['CNI_NETNS'], problem: 'required' }), 4],
    [fail('MALFORMED_JSON', { what: 'x', position: 0, problem: 'y' }), 6],
    [fail('INVALID_CNI_CONFIG', { path: 'name', problem: 'y' }), 7],
    [fail('INVALID_IPAM_CONFIG', { issues: [] }), 7],
    [fail('CNI_VERSION_MISMATCH', { version: '9', problem: 'y' }), 1],
    [fail('CNI_INPUT_LIMIT_EXCEEDED', { limit: 'bytes', max: 1 }), 5],
    [fail('CNI_RESULT_MISMATCH', { version: '0.2.0', path: 'ips[1]', problem: 'y' }), 7],
    [fail('STORE_IO', { operation: 'get', problem: 'reset' }), 11],
    [fail('STORE_CONFLICT', { object: 'Pool a', expected: '1', actual: '2' }), 11],
    [fail('INVALID_POOL_SPEC', { problems: ['x'] }), 101],
    [fail('STORE_OBJECT_TOO_LARGE', { object: 'Pool a', sizeBytes: 2, maxBytes: 1 }), 100],
    [fail('INVARIANT_BROKEN', { what: 'x' }), 999],
  ])('%o', ({ failure }, code) => {
    const error = cniErrorOf(failure)
    expect(error.code).toBe(code)
    expect(error.details).toBe(`${failure.code}, retry: ${registry[failure.code].retry}`)
    expect(cniErrorOf(new IpamError(failure))).toEqual(error)
  })

  test('anything else is 999', () => {
    expect(cniErrorOf(new TypeError('x is not a function'))).toEqual({ code: 999, msg: 'x is not a function' })
    expect(cniErrorOf(undefined)).toEqual({ code: 999, msg: 'an error without a message' })
    expect(cniErrorOf({ code: 'STORE_IO' }).code).toBe(999)
    expect(cniErrorOf({ code: 'toString' }).code).toBe(999)
  })

  test('STATUS is 50, unless it is about the request', () => {
    const command = 'STATUS'
    expect(cniErrorOf(fail('STORE_IO', { operation: 'get', problem: 'x' }).failure, { command }).code).toBe(50)
    expect(cniErrorOf(new Error('x'), { command }).code).toBe(50)
    expect(cniErrorOf(fail('INVALID_CNI_CONFIG', { path: 'a', problem: 'b' }).failure, { command }).code).toBe(7)
  })
})

test('each code says when a retry can help', () => {
  expect(CNI_ERRORS.map(({ code }) => code)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 50, 51, 100, 101, 999])
  expect(retryOfCniError(11)).toBe('after')
  expect(retryOfCniError(101)).toBe('on-pool-change')
  expect(retryOfCniError(150)).toBe('never')
})
