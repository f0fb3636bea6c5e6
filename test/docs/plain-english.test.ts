import { describe, expect, test } from 'vitest'
import {
  findings,
  findingsInPage,
  findingsInSource,
  findingsInTestNames,
  namePatterns,
  patterns,
} from '../../scripts/plain-english.js'

test('pages, decisions, comments, messages and names of tests are in plain English', () => {
  expect(findings().map(({ at, what }) => `${at}: ${what}`)).toEqual([])
})

const found = (text: string) => findingsInPage('page.md', text).map(({ at, what }) => `${at}: ${what}`)

/** A sentence that is refused, and the same in plain English. */
const SENTENCES: readonly (readonly [refused: string, plain: string, instead: string])[] = [
  ['An address can not be parsed.', 'An address cannot be parsed.', 'write "cannot"'],
  ['Nobody holds the lease.', 'No process holds the lease.', 'name the component that does it'],
  ['Somebody else writes the row.', 'Another writer writes the row.', 'name the component that does it'],
  ['Someone else writes the row.', 'Another writer writes the row.', 'name the component that does it'],
  ['It is given to anyone.', 'It is given to any claim.', 'name the component that does it'],
  ['It is given to anybody.', 'It is given to any claim.', 'name the component that does it'],
  ['Whoever holds the lease writes.', 'The leader writes.', 'name the component that does it'],
  ['It is given to whomever asks.', 'It is given to each caller.', 'name the component that does it'],
  ['It is for those who watch.', 'It is for callers with a watch.', 'name the component, not "who"'],
  ['Who was faster is unknown.', 'The first writer is unknown.', 'name the component, not "who"'],
  ['The status says, who has it.', 'The status names the owner.', 'name the component, not "who"'],
  ['The watch goes on.', 'The watch continues.', 'write "continues"'],
  ['The run went on.', 'The run has continued.', 'write "continues"'],
  ['It waits for so many seconds.', 'It waits for 5 seconds.', 'give the number, or write "up to N"'],
  ['It asks the outside.', 'It asks the external system.', 'write "the external system"'],
  ['The Pod has gone.', 'The Pod is deleted.', 'write "does not exist" or "is deleted"'],
  ['The wait is over.', 'The wait has ended.', 'write "ends" or "has ended"'],
]

describe('a sentence', () => {
  test.each(SENTENCES)('%s', (refused, plain, instead) => {
    expect(found(refused)).toEqual([expect.stringMatching(/^page\.md:1: /)])
    expect(found(refused)[0]).toContain(instead)
    expect(found(plain)).toEqual([])
  })

  test('each pattern refuses one of them', () => {
    expect(withoutExample(patterns, SENTENCES)).toEqual([])
  })

  test.each([
    'A wait that is as long as it has to be, so long as the lease lasts.',
    'Run `kubectl auth whoami` to see who you are, or ask: who am I?',
    'The quota is over 5 addresses.',
    'Outside of the pool nothing is allocated.',
  ])('that looks alike is plain: %s', (plain) => expect(found(plain)).toEqual([]))

  const words = (count: number) => `${Array.from({ length: count }, () => 'word').join(' ')}.`

  test('has at most 35 words, and code counts as one', () => {
    expect(found(words(35))).toEqual([])
    expect(found(words(36))).toEqual(['page.md:1: 36 words: word word word word word word word word ...'])
    expect(found(`${words(34).slice(0, -1)} \`a b c d e f\`.`)).toEqual([])
    expect(found(`${words(20)} ${words(20)}`)).toEqual([])
  })

  test('may go over several lines of a paragraph, and ends with it', () => {
    const half = words(20).slice(0, -1)
    expect(found(`# Title\n\n${half}\n${half}`)).toEqual([expect.stringMatching(/^page\.md:3: 40 words/)])
    expect(found(`${half}\n\n${half}`)).toEqual([])
    expect(found(`- ${half}\n- ${half}`)).toEqual([])
    expect(found('It is told to those\nwho watch.')).toEqual([expect.stringMatching(/^page\.md:1: "those who"/)])
  })
})

describe('a page', () => {
  test('is refused for its headings and the rows of its tables too', () => {
    expect(found('## Nobody waits')).toEqual(['page.md:1: "Nobody": name the component that does it'])
    expect(found('| a | b |\n|---|---|\n| the lease | nobody has it |')).toEqual([
      expect.stringMatching(/^page\.md:3: /),
    ])
  })

  test('is not refused for its code', () => {
    expect(found('```\n# nobody\n| nobody | can not |\n```')).toEqual([])
    expect(found('| `nobody` | a user of Linux |')).toEqual([])
  })
})

describe('a source file', () => {
  const inSource = (text: string) => findingsInSource('file.ts', text).map(({ at }) => at)

  test('is refused for its comments', () => {
    expect(inSource('// nobody\nconst a = 1 // a\n/** It goes on. */\n/*\n * can not\n */')).toEqual([
      'file.ts:1',
      'file.ts:3',
      'file.ts:5',
    ])
  })

  test('is refused for words that stand on two lines of a comment', () => {
    expect(inSource('// it goes\n// on')).toEqual(['file.ts:2'])
    expect(inSource('/**\n * It is told to those\n * who watch.\n */')).toEqual(['file.ts:3'])
    expect(inSource('// it goes\nconst a = 1\n// on')).toEqual([])
    expect(inSource('// nobody\n// knows')).toEqual(['file.ts:1'])
  })

  test('is refused for texts in quotes, and not for its code', () => {
    expect(inSource("const nobody = 'nobody has it'\nconst b = `it goes on: $" + '{nobody}`')).toEqual([
      'file.ts:1',
      'file.ts:2',
    ])
    expect(inSource('const nobody = goesOn(somebody)')).toEqual([])
  })

  test('is not refused for examples', () => {
    expect(inSource('/**\n * A pool.\n *\n * @example\n * nobody()\n * @returns a pool\n */')).toEqual([])
    expect(inSource('/**\n * @example\n * nobody()\n * @returns nobody\n */')).toEqual(['file.ts:4'])
    expect(inSource('/**\n * @example\n * nobody()\n */\nconst a = 1\n// nobody')).toEqual(['file.ts:6'])
  })

  test('has comments of at most 100 columns, but for tables', () => {
    const word = 'x'.repeat(89)
    expect(inSource(`// ${word} 12345 7`)).toEqual([])
    expect(inSource(`// ${word} 12345 78`)).toEqual(['file.ts:1'])
    expect(inSource(`/**\n * | ${word} | 12345678 |\n */`)).toEqual([])
    expect(inSource(`//   ${word}  12345678`)).toEqual([])
    expect(inSource(`  *values(${word}: string, after: string): Generator<string> {`)).toEqual([])
    expect(inSource(`const ${word} = 12345678901234567`)).toEqual([])
  })
})

/** The name of a test that is refused, and the same in plain English. */
const NAMES: readonly (readonly [refused: string, plain: string, instead: string])[] = [
  ['what can not be read', 'what cannot be read', 'write "cannot"'],
  ['nobody has the lease', 'no candidate has the lease', 'name the component that does it'],
  ['is given to those who ask', 'is given to callers that ask', 'name the component, not "who"'],
  ['who knows nothing', 'a writer that knows nothing', 'name the component, not "who"'],
  ['the watch goes on', 'the watch continues', 'write "continues"'],
  ['waits for so many seconds', 'waits for 5 seconds', 'give the number, or write "up to N"'],
  ['asks the outside', 'asks the external system', 'write "the external system"'],
  ['a Pod that has gone', 'a Pod that is deleted', 'write "does not exist" or "is deleted"'],
  ['when the wait is over', 'when the wait ends', 'write "ends" or "has ended"'],
  ['wakes who waits', 'wakes a waiting reader', 'name the component, not "who"'],
]

describe('the name of a test', () => {
  const inTests = (text: string) => findingsInTestNames('a.test.ts', text)

  test.each(NAMES)('%s', (refused, plain, instead) => {
    expect(inTests(`\ntest('${refused}', () => {})`)[0]).toMatchObject({
      at: 'a.test.ts:2',
      what: expect.stringContaining(instead),
    })
    expect(inTests(`\ntest('${plain}', () => {})`)).toEqual([])
  })

  test('has an example of each pattern', () => {
    expect(withoutExample(namePatterns, NAMES)).toEqual([])
  })

  test.each([
    "it('nobody')",
    "describe('a', () => test('nobody'))",
    "test.prop([a])('nobody')",
    "it.each(['a'])('nobody')",
    'describe.each`a`("nobody")',
    "test.skipIf(a)('nobody')",
    "await report.test('nobody')",
    'test(`nobody ' + '$' + '{a}`)',
  ])('is found in %s', (text) => expect(inTests(text)).toHaveLength(1))

  test.each([
    "test('a', () => give('nobody'))",
    "test.each(['nobody'])('a')",
    "pattern.test('nobody')",
    '// nobody',
    'test(nobody)',
    "/a/.test('nobody')",
  ])('is not %s', (text) => expect(inTests(text)).toEqual([]))
})

/** The patterns that refuse none of these examples. */
function withoutExample(
  all: readonly (readonly [pattern: RegExp, ...rest: unknown[]])[],
  examples: readonly (readonly [refused: string, ...rest: unknown[]])[],
): readonly string[] {
  return all
    .filter(([pattern]) => !examples.some(([refused]) => pattern.test(refused)))
    .map(([pattern]) => pattern.source)
}
