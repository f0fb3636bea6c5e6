// The rules of test/docs/plain-english.test.ts for texts that people read. Prints what they refuse:
// npx tsx scripts/plain-english.ts
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A text that the rules refuse. */
export interface Finding {
  /** The file and the line, from 1: `src/plan/task.ts:12`. */
  readonly at: string
  readonly what: string
}

/** A piece of prose, and the line on which it begins. */
interface Prose {
  readonly text: string
  readonly line: number
}

/**
 * Words that name no component, and forms that have to be read twice, with what to write instead.
 */
export const patterns: readonly (readonly [refused: RegExp, instead: string])[] = [
  [/\bcan not\b/i, 'write "cannot"'],
  [/\b(?:nobody|somebody|someone|anybody|anyone|whoever|whomever)\b/i, 'name the component that does it'],
  [
    /\b(?:to|for|by|of|with|from|than|as|that|those|one|ones|others?|all|none|them|everyone) who\b/i,
    'name the component, not "who"',
  ],
  [/(?:^|[.:;,(] )who\b(?! (?:am|are you))/i, 'name the component, not "who"'],
  [/\b(?:goes|go|went|going) on\b/i, 'write "continues"'],
  [/\bso (?:many|much|long)\b(?! (?:as|that))/i, 'give the number, or write "up to N"'],
  [/\bthe outside\b/i, 'write "the external system"'],
  [/\b(?:has|have|had) gone\b/i, 'write "does not exist" or "is deleted"'],
  [/\b(?:is|are|was|were) over\b(?! \d)/i, 'write "ends" or "has ended"'],
]

/** The patterns, and those for names of tests alone. */
export const namePatterns: typeof patterns = [...patterns, [/\bwho\b/i, 'name the component, not "who"']]

/** Words of a sentence on a page, at most. */
const MAX_WORDS = 35
/** Columns of a line of a comment, at most. */
const MAX_COLUMNS = 100

const root = fileURLToPath(new URL('../', import.meta.url))

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(root + folder, { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
    .sort()
}

/** Made from the doc comments of the sources. */
const GENERATED = new Set(['docs/reference/exports.md'])

/** The findings in all files, in the order of files. */
export function findings(): Finding[] {
  const pages = [
    ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
    ...['.changeset', 'docs/adr', 'docs/guides', 'docs/reference'].flatMap((folder) => filesIn(folder, '.md')),
  ].filter((file) => !GENERATED.has(file))
  const read = (file: string) => readFileSync(root + file, 'utf8')
  return [
    ...pages.flatMap((file) => findingsInPage(file, read(file))),
    ...filesIn('src', '.ts').flatMap((file) => findingsInSource(file, read(file))),
    ...filesIn('test', '.ts').flatMap((file) => findingsInTestNames(file, read(file))),
  ]
}

/** Findings in a page of Markdown. Code is skipped; rows of tables are not checked for length. */
export function findingsInPage(file: string, text: string): Finding[] {
  const short = [...headingsOf(text), ...rowsOf(text)]
  return [
    ...short.flatMap((prose) => refused(file, prose)),
    ...paragraphsOf(text).flatMap((prose) => inParagraph(file, prose)),
  ]
}

function inParagraph(file: string, { text, line }: Prose): Finding[] {
  return [
    ...refused(file, { text, line }),
    ...sentencesOf(text)
      .filter((sentence) => sentence.split(' ').length > MAX_WORDS)
      .map((sentence) => {
        const words = sentence.split(' ')
        return { at: `${file}:${line}`, what: `${words.length} words: ${words.slice(0, 8).join(' ')} ...` }
      }),
  ]
}

/** Findings in the comments of a source file, and in its texts in quotes. */
export function findingsInSource(file: string, text: string): Finding[] {
  const found: Finding[] = []
  let [isExample, isBlock] = [false, false]
  let before = ''
  text.split('\n').forEach((content, index) => {
    const line = index + 1
    const begin = isBlock ? /^\s*\*?\s?(.*?)(?:\*\/)?$/ : /^\s*(?:\/\/|\/\*\*?)\s?(.*?)(?:\*\/)?$/
    const comment = begin.exec(content)?.[1]
    isBlock = (isBlock || /^\s*\/\*/.test(content)) && !content.includes('*/')
    if (comment === undefined) {
      isExample = false
      before = ''
      const quoted = [...content.matchAll(/'[^']*'|"[^"]*"|`[^`]*`/g)].map(([text]) => text)
      const texts = quoted.map((text) => text.replace(/\$\{[^}]*\}/g, '0'))
      for (const text of texts) found.push(...refused(file, { text, line }))
      return
    }
    if (/^\s*@/.test(comment)) isExample = comment.trimStart().startsWith('@example')
    if (isExample) return
    const findings = refused(file, { text: comment, line })
    found.push(...(findings.length > 0 ? findings : refusedAcross(file, { text: comment, line }, before)))
    before = comment.trim()
    const isTable = /\S {2,}\S|^\s*\|/.test(comment)
    if (content.length > MAX_COLUMNS && !isTable && content.trim().includes(' ')) {
      found.push({ at: `${file}:${line}`, what: `${content.length} columns` })
    }
  })
  return found
}

/** Findings in the names of the tests of a source file, and of the groups of tests. */
export function findingsInTestNames(file: string, text: string): Finding[] {
  // to parse all files takes long, and few of them have such words
  if (!namePatterns.some(([pattern]) => pattern.test(text))) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: Finding[] = []
  const visit = (node: ts.Node): void => {
    const [name] = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments : []
    if (name !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(name.getStart(source))
      const literals = nameIn(name).map((content) => ({ text: content, line: line + 1 }))
      found.push(...literals.flatMap((prose) => refused(file, prose, namePatterns)))
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const TESTS = new Set(['test', 'it', 'describe'])

/** Whether a function declares a test or a group: `test`, `it.each(rows)`, `report.test`. */
function isTest(called: ts.Expression): boolean {
  if (ts.isIdentifier(called)) return TESTS.has(called.text)
  if (ts.isCallExpression(called)) return isTest(called.expression)
  if (ts.isTaggedTemplateExpression(called)) return isTest(called.tag)
  if (!ts.isPropertyAccessExpression(called)) return false
  const { expression, name } = called
  if (name.text === 'test' && ts.isIdentifier(expression) && expression.text === 'report') return true
  return isTest(expression)
}

/** The name of a test. An expression in it counts as `0`. */
function nameIn(name: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(name)) return [name.text]
  if (!ts.isTemplateExpression(name)) return []
  return [name.head.text + name.templateSpans.map(({ literal }) => `0${literal.text}`).join('')]
}

function refused(file: string, { text, line }: Prose, by = patterns): Finding[] {
  return by.flatMap(([pattern, instead]) => {
    const [match] = pattern.exec(text) ?? []
    return match === undefined ? [] : [{ at: `${file}:${line}`, what: `"${match.trim()}": ${instead}` }]
  })
}

function headingsOf(text: string): Prose[] {
  return proseLinesOf(text, /^#+\s+(.*)$/)
}

function rowsOf(text: string): Prose[] {
  return proseLinesOf(text, /^\s*\|(.*)\|\s*$/)
}

/** The lines of a form, outside of code. */
function proseLinesOf(text: string, form: RegExp): Prose[] {
  let isCode = false
  return text.split('\n').flatMap((content, index) => {
    if (/^\s*(?:```|~~~)/.test(content)) isCode = !isCode
    const [, found] = (isCode ? null : form.exec(content)) ?? []
    return found === undefined ? [] : [{ text: found.replace(/`[^`]*`/g, 'code'), line: index + 1 }]
  })
}

/** What is refused in a line of a comment together with the line before it. */
function refusedAcross(file: string, { text, line }: Prose, before: string): Finding[] {
  const end = before.split(' ').slice(-2).join(' ')
  if (end === '' || refused(file, { text: end, line }).length > 0) return []
  return refused(file, { text: `${end} ${text.trim()}`, line })
}

/** The paragraphs and the entries of lists. */
function paragraphsOf(text: string): Prose[] {
  const found: { text: string; line: number }[] = []
  let [isCode, isOpen] = [false, false]
  text.split('\n').forEach((content, index) => {
    if (/^\s*(?:```|~~~)/.test(content)) isCode = !isCode
    const isProse = !isCode && !/^\s*(?:```|~~~|#|\||<|$)/.test(content)
    if (!isProse) {
      isOpen = false
      return
    }
    const begins = /^\s*(?:[-*]|\d+\.)\s+/.exec(content)
    const part = content.slice(begins?.[0].length ?? 0).trim()
    const last = found.at(-1)
    if (isOpen && begins === null && last !== undefined) last.text += ` ${part}`
    else found.push({ text: part, line: index + 1 })
    isOpen = true
  })
  return found
}

/** The sentences of a paragraph. Code counts as one word. */
function sentencesOf(text: string): string[] {
  return text
    .replace(/`[^`]*`/g, 'code')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/(?<=[.!?:;])\s+/)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const all = findings()
  for (const { at, what } of all) console.log(`${at}: ${what}`)
  console.log(`${all.length} findings`)
}
