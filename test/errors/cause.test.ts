import { type ErrorCode, fail } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { errorText } from '../../src/errors/cause.js'
import type { ErrorContexts } from '../../src/errors/codes.js'

const refused = 'connect ECONNREFUSED 127.0.0.1:6443'
const url = 'https://127.0.0.1:6443/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddressclaims?limit=500'
const user = `system:serviceaccount:${'n'.repeat(63)}:${'a'.repeat(253)}`
const forbidden =
  `ipaddressclaims.ipam.cluster.x-k8s.io is forbidden: User "${user}" cannot list resource "ipaddressclaims" ` +
  'in API group "ipam.cluster.x-k8s.io" at the cluster scope'

/** What the store has to say, by the codes whose contexts carry such words. */
const contexts: { readonly [C in ErrorCode]?: (problem: string) => ErrorContexts[C] } = {
  STORE_IO: (problem) => ({ operation: 'list (kubernetes)', problem }),
  STORE_OUTCOME_UNKNOWN: (problem) => ({ operation: 'create (kubernetes)', object: 'IPAddress default/a', problem }),
  STORE_INVALID: (problem) => ({ object: 'IPAddress default/a', path: 'object', problem }),
  STORE_CONFLICT: (actual) => ({ object: 'IPAddress default/a', expected: 'version 1', actual }),
}

function sentence(code: ErrorCode, problem: string): string {
  const context = contexts[code]?.(problem) as ErrorContexts[ErrorCode]
  return fail(code, context).failure.message
}

describe.each(Object.keys(contexts) as ErrorCode[])('the sentence of %s', (code) => {
  test.each([
    ['a request that failed', `request to ${url} failed, reason: ${refused}`],
    ['a right that is missing', forbidden],
    ['a webhook', `admission webhook "validate.example.com" denied the request: ${'why '.repeat(150)}last`],
  ])('has the whole cause of %s', (_, problem) => {
    expect(sentence(code, problem)).toContain(problem)
  })

  test('has the beginning and the end of a cause without end, in one line', () => {
    const told = sentence(code, `first\n${'<p>page</p>\n'.repeat(10_000)}${refused}`)
    expect(told).toContain('first <p>page</p>')
    expect(told).toContain(refused)
    expect(told.length).toBeLessThan(1_200)
    expect(told).not.toMatch(/[\n\r]/)
  })

  test('cannot be forged by a cause', () => {
    const control = String.fromCharCode(0x1b)
    expect(sentence(code, `a${control}[2J\u2028b`)).toContain('a\\u001b[2J b')
  })
})

describe('an error in words', () => {
  test.each([
    ['its causes', new Error('fetch failed', { cause: new Error(refused) }), `fetch failed: ${refused}`],
    [
      'what it says of its cause already',
      new Error(`failed: ${refused}`, { cause: new Error(refused) }),
      `failed: ${refused}`,
    ],
    [
      'the errors that it groups, of both families',
      new TypeError('fetch failed', {
        cause: Object.assign(new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error(refused)]), {
          code: 'ECONNREFUSED',
        }),
      }),
      `fetch failed: connect ECONNREFUSED ::1:1: ${refused}`,
    ],
    ['its code, where it has no message', Object.assign(new Error(), { code: 'ECONNRESET' }), 'ECONNRESET'],
    ['its name, where it has neither', new TypeError(), 'TypeError'],
    ['a text', 'down', 'down'],
    ['a number', 7, '7'],
    ['nothing', undefined, 'an error without a message'],
    ['several lines', new Error('login failed:\n  no such file\n'), 'login failed: no such file'],
  ])('has %s', (_, error, words) => {
    expect(errorText(error)).toBe(words)
  })

  test('has the innermost cause behind a long message', () => {
    const error = new Error(`request to ${url.repeat(50)} failed`, { cause: new Error(refused) })
    expect(errorText(error)).toContain(refused)
  })

  test('ends where causes go round in a circle', () => {
    const error = new Error('round')
    error.cause = new Error('and round', { cause: error })
    expect(errorText(error)).toBe('round: and round')
  })
})
