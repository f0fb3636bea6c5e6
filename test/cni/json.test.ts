import { fc, test as propertyTest } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { parseJson } from '../../src/cni/json.js'

const problemOf = (text: string) => {
  const result = parseJson(text, 'x')
  return result.ok ? undefined : result.failure.context
}

describe('parseJson', () => {
  test.each([
    ['', 0, 'unexpected end of JSON input'],
    ['{"cniVersion":"1.0.0",', 22, 'unexpected end of JSON input'],
    ['{"a":1} {}', 8, "invalid character '{' after top-level value"],
    ['{"a":1,"b":{"c":2,"c":3}}', 18, 'the name "c" stands twice in one object'],
    // the same name, written in another way
    ['{"a":1,"\\u0061":2}', 7, 'the name "a" stands twice in one object'],
    ['{"a" 1}', 5, "invalid character '1' after object key"],
    ['{a:1}', 1, "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', 7, "invalid character '}' looking for beginning of object key string"],
    ['[1,]', 3, "invalid character ']' looking for beginning of value"],
    ['[1 2]', 3, "invalid character '2' after array element"],
    ['{"a":1]', 6, "invalid character ']' after object key:value pair"],
    ['\ufeff{}', 0, "invalid character 'ï' looking for beginning of value"],
    ['"a\nb"', 2, "invalid character '\\n' in string literal"],
    ['"\\x"', 2, "invalid character 'x' in string escape code"],
    ['01', 1, "invalid character '1' after top-level value"],
    ['NaN', 0, "invalid character 'N' looking for beginning of value"],
  ])('%s', (text, position, problem) => {
    expect(problemOf(text)).toEqual({ what: 'x', position, problem })
  })

  test('reads 100 levels and refuses 101', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    expect(problemOf(nested(100))).toBeUndefined()
    expect(problemOf(nested(101))).toEqual({ what: 'x', position: 100, problem: 'it nests deeper than 100 levels' })
    expect(problemOf('['.repeat(1_000_000))).toBeDefined()
  })

  test('reads texts and numbers of a million characters', () => {
    expect(problemOf(JSON.stringify(`${'a\\"'.repeat(300_000)}`))).toBeUndefined()
    expect(problemOf('1'.repeat(1_000_000))).toBeUndefined()
    expect(problemOf(`"${'a'.repeat(1_000_000)}`)).toBeDefined()
  })

  test('keeps a member named __proto__ as a member', () => {
    const result = parseJson('{"__proto__":{"a":1}}', 'x')
    expect(result.ok && Object.keys(result.value as object)).toEqual(['__proto__'])
  })

  propertyTest.prop([fc.json(), fc.constantFrom('', ' ', '\n\t')])('reads all that JSON.parse reads', (text, space) => {
    expect(parseJson(space + text + space, 'x')).toEqual({ ok: true, value: JSON.parse(text) })
  })

  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '"',
    '\\',
    '1',
    '-',
    '.5',
    'e1',
    'null',
    'tru',
    ' ',
    '\u0001',
  ]
  propertyTest.prop([fc.array(fc.constantFrom(...pieces), { maxLength: 12 })])(
    'refuses all that JSON.parse refuses, and else only a name that stands twice',
    (parts) => {
      const text = parts.join('')
      const problem = problemOf(text)
      const isJson = parses(text)
      if (!isJson) expect(problem).toBeDefined()
      else if (problem !== undefined) expect(problem.problem).toMatch(/stands twice/)
    },
  )
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
