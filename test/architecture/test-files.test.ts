import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findTestMistakes } from './test-files.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What `npm test` runs, and the modules that its tests are made of. */
const files = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' })
  .map((name) => `test/${name.replaceAll('\\', '/')}`)
  .filter(
    (name) =>
      name.endsWith('.ts') && !/^test\/(real|acceptance)\/|node_modules|\.cost\.ts$|^test\/setup\/cost\.ts$/.test(name),
  )

test('the tests of the suite run once, and measure neither time nor memory', () => {
  expect(files.length).toBeGreaterThan(300)
  expect(files.flatMap((file) => findTestMistakes(file, readFileSync(root + file, 'utf8')))).toEqual([])
})

describe('a file of tests is refused', () => {
  const from = (names: string) => `import ${names} from '@fast-check/vitest'\n`

  test.each([
    ['a plain test', `${from('{ fc, test }')}test('x', () => {})`, 2],
    ['a plain it', `${from('{ it }')}it('x', () => {})`, 2],
    ['a test of another name', `${from('{ test as property }')}property('x', () => {})`, 2],
    ['a table', `${from('{ test }')}test.each([1])('%i', () => {})`, 2],
    ['only one', `${from('{ test }')}\ntest.only('x', () => {})`, 3],
    ['the function as a value', `${from('{ test }')}const run = test`, 2],
    ['a namespace', `${from('* as all')}all.test('x', () => {})`, 2],
    ['time', 'const start = performance.now()', 1],
    ['time of the process', 'const start =\n  process.hrtime()', 2],
    ['memory', "import { memoryUsage } from 'node:process'\nconst { heapUsed } = memoryUsage()", 2],
    ['memory of the process', 'const { heapUsed } = process.memoryUsage()', 1],
  ])('with %s', (_, source, line) => {
    expect(findTestMistakes('planted.test.ts', source)).toMatchObject([{ file: 'planted.test.ts', line }])
  })

  test.each([
    ['a property', `${from('{ fc, test }')}test.prop([fc.nat()])('x', () => {})`],
    ['a property of it', `${from('{ it }')}it.prop([])('x', () => {})`],
    ['only one property', `${from('{ test }')}test.only.prop([])('x', () => {})`],
    ['a property of a namespace', `${from('* as all')}all.test.prop([all.fc.nat()])('x', () => {})`],
    ['a test of vitest', "import { test } from 'vitest'\ntest('x', () => {})"],
    ['a member of that name', `${from('{ test }')}const all = { test: /x/.test('x') }\ntest.prop([])('x', () => {})`],
    ['words about it', "// performance.now()\nconst text = 'performance.now()'"],
  ])('but not with %s', (_, source) => {
    expect(findTestMistakes('planted.test.ts', source)).toEqual([])
  })
})
