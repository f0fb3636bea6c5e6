import { existsSync, readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { clients } from './clients/index.js'

/*
 * Every `@example` of the doc comments in src/ is run. In scope is what the entry of its folder exports, and the nouns of
 * ipam-kit/cidr; an example imports whatever else it needs, as a reader would have to (clients of databases and clusters are those of
 * clients/, which need no server). A line that is an expression, followed by
 * `// value` or with that on the next line, has that value; other lines need only run.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Example {
  /** `src/cidr/nouns/address-core.ts:41`: where its first line is. */
  readonly at: string
  /** The entry whose exports are in scope: `src/cidr/index.ts`. */
  readonly entry: string
  readonly code: string
}

const examples = sourceFiles().flatMap((file) => examplesOf(file, readFileSync(root + file, 'utf8')))

describe('every @example in src/ is true', () => {
  test.each(examples)('$at', async ({ entry, code }) => {
    await run(entry, code)
  })

  test('there are some in each of the first modules', () => {
    for (const folder of ['src/cidr/', 'src/allocator/']) {
      expect(examples.filter(({ at }) => at.startsWith(folder)).length, folder).toBeGreaterThan(1)
    }
  })
})

describe('an example fails', () => {
  const entry = 'src/cidr/index.ts'

  test.each([
    ['if its value is another one', "Address.format(Address.parse('::1')) // '::2'"],
    ['if the value on the next line is another one', "Address.parse('::1').family\n// 4"],
    ['if a bigint is a number', "Address.toBigInt(Address.parse('::1')) // 1"],
    ['if a part of a list is another one', "RangeSet.format(RangeSet.parse(['10.0.0.1'])) // ['10.0.0.1-10.0.0.2']"],
    ['if it uses a name that is not there', 'pool.allocate()'],
    ['if it throws', "Address.parse('x')"],
    ['if it rejects', "await Promise.reject(new Error('no'))"],
    ['if it does not parse', 'const = 5'],
    ['if its comment is not a value', "Address.parse('::1').family // the family"],
    ['if its value stands in an expression that goes on', '(1) // 1\n(2)'],
    ['if it imports what is not exported', "import { nothing } from 'ipam-kit/cidr'\nnothing"],
    ['if it imports from elsewhere', "import { readFileSync } from 'node:fs'\nreadFileSync"],
  ])('%s', async (_, code) => {
    await expect(run(entry, code)).rejects.toThrow()
  })

  test('and passes if all is as it says', async () => {
    const code = [
      "import { memoryStore as make } from 'ipam-kit/store/memory'",
      'const store = await make({ now: () => 0 }) // any words',
      'typeof store.get',
      "// 'function'",
      "const address: Address = Address.parse('10.0.0.1')",
      'Address.toBigInt(address) // 167772161n',
      "Array.of(address.family, -1, undefined, null, { a: `b` }) // [4, -1, undefined, null, { a: 'b' }]",
    ].join('\n')
    await run(entry, code)
  })

  test('and is found wherever a doc comment stands', () => {
    const source = [
      '/**\n * One.\n *\n * @example\n * 1\n * 2 // 2\n * @see nothing\n */\nexport const one = 1',
      '/** @example 3 */\nexport function three() {}',
      'export class Four {\n  /**\n   * @example\n   *   if (true) {\n   *     4\n   *   }\n   *\n   * @example\n   * 5\n   */\n  four() {}\n}',
      '/* @example no */\n// @example no',
    ].join('\n')
    expect(examplesOf('src/cidr/some.ts', source)).toEqual([
      { at: 'src/cidr/some.ts:5', entry, code: '1\n2 // 2' },
      { at: 'src/cidr/some.ts:10', entry, code: '3' },
      { at: 'src/cidr/some.ts:15', entry, code: '  if (true) {\n    4\n  }' },
      { at: 'src/cidr/some.ts:20', entry, code: '5' },
    ])
  })
})

function sourceFiles(): string[] {
  return ts.sys.readDirectory(`${root}src`, ['.ts']).map((file) => relative(root, file))
}

/** The examples of a file, by the doc comments that TypeScript finds in it. */
function examplesOf(file: string, source: string): Example[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, true)
  const comments = new Map<number, string>()
  const visit = (node: ts.Node): void => {
    for (const comment of ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc))
      comments.set(comment.pos, comment.getText())
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return [...comments].flatMap(([start, comment]) => {
    const first = tree.getLineAndCharacterOfPosition(start).line + 1
    return examplesIn(comment).map(({ line, code }) => ({ at: `${file}:${first + line}`, entry: entryOf(file), code }))
  })
}

/** The examples of one doc comment; `line` counts from its beginning. */
function examplesIn(comment: string): { line: number; code: string }[] {
  const lines = comment
    .replace(/\s*\*\/$/, '')
    .split('\n')
    .map((line, i) => line.replace(i === 0 ? /^\/\*\* ?/ : /^\s*\* ?/, ''))
  const found: { line: number; code: string[] }[] = []
  let open = false
  for (const [line, text] of lines.entries()) {
    const tag = /^\s*@(\w+) ?(.*)$/.exec(text)
    if (tag !== null) {
      open = tag[1] === 'example'
      if (open) found.push({ line: tag[2] === '' ? line + 1 : line, code: tag[2] === '' ? [] : [tag[2] as string] })
    } else if (open) found.at(-1)?.code.push(text)
  }
  return found.map(({ line, code }) => ({ line, code: code.join('\n').trimEnd() }))
}

function entryOf(file: string): string {
  let folder = dirname(file)
  while (!existsSync(`${root}${folder}/index.ts`)) folder = dirname(folder)
  return `${folder}/index.ts`
}

/** Runs an example. Rejects if a line of it throws or has not the value that it says. */
async function run(entry: string, code: string): Promise<void> {
  const tree = ts.createSourceFile('example.ts', code, ts.ScriptTarget.ES2022, true)
  const imported: Record<string, unknown> = {}
  const lines: string[] = []
  for (const statement of tree.statements) {
    const value = ts.isExpressionStatement(statement) ? valueBehind(code, statement) : undefined
    if (ts.isImportDeclaration(statement)) Object.assign(imported, await namesOf(statement))
    else if (value === undefined) lines.push(statement.getText())
    else lines.push(`check((${(statement as ts.ExpressionStatement).expression.getText()}), (${value}))`)
  }

  const scope = { ...(await load('src/cidr/index.ts')), ...(await load(entry)), ...imported, check }
  const body = `export const example = async ({ ${Object.keys(scope).join(', ')} }) => {\n${lines.join('\n')}\n}`
  const { outputText, diagnostics } = ts.transpileModule(body, {
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  if (diagnostics?.length) throw new SyntaxError(ts.flattenDiagnosticMessageText(diagnostics[0]?.messageText, '\n'))
  const module = await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(outputText)}`)
  await module.example(scope)
}

function check(actual: unknown, expected: unknown): void {
  expect(actual).toStrictEqual(expected)
}

/** What a comment right behind an expression, or alone on the next line, says its value is. */
function valueBehind(code: string, statement: ts.Statement): string | undefined {
  if (hasComment(statement.getText()))
    throw new SyntaxError(`a comment inside of an expression: ${statement.getText()}`)
  const [, comment] = /^[^\S\n]*(?:\n[^\S\n]*)?\/\/(.*)/.exec(code.slice(statement.getEnd())) ?? []
  if (comment === undefined) return undefined
  const value = ts.createSourceFile('value.ts', `(${comment})`, ts.ScriptTarget.ES2022, true).statements[0]
  const isValue = value && ts.isExpressionStatement(value) && ts.isParenthesizedExpression(value.expression)
  if (!isValue || !isLiteral(value.expression.expression)) throw new SyntaxError(`not a value: ${comment}`)
  return comment
}

function hasComment(code: string): boolean {
  const scanner = ts.createScanner(ts.ScriptTarget.ES2022, false, ts.LanguageVariant.Standard, code)
  for (let token = scanner.scan(); token !== ts.SyntaxKind.EndOfFileToken; token = scanner.scan()) {
    if (token === ts.SyntaxKind.SingleLineCommentTrivia) return true
  }
  return false
}

function isLiteral(node: ts.Expression): boolean {
  if (ts.isArrayLiteralExpression(node)) return node.elements.every(isLiteral)
  if (ts.isObjectLiteralExpression(node)) {
    return node.properties.every((property) => ts.isPropertyAssignment(property) && isLiteral(property.initializer))
  }
  if (ts.isPrefixUnaryExpression(node)) return ts.isLiteralExpression(node.operand)
  const words = [ts.SyntaxKind.TrueKeyword, ts.SyntaxKind.FalseKeyword, ts.SyntaxKind.NullKeyword]
  return ts.isLiteralExpression(node) || words.includes(node.kind) || node.getText() === 'undefined'
}

/**
 * The names that an import brings: of this package, or of a client that stands in for the real one.
 */
async function namesOf(declaration: ts.ImportDeclaration): Promise<Record<string, unknown>> {
  const { moduleSpecifier, importClause } = declaration
  const specifier = (moduleSpecifier as ts.StringLiteral).text
  const client = clients[specifier]
  if (client !== undefined) return namesOfClient(importClause, await client())
  const [, subpath] = /^ipam-kit(\/.+)?$/.exec(specifier) ?? []
  const bindings = importClause?.namedBindings
  if (!specifier.startsWith('ipam-kit') || bindings === undefined || !ts.isNamedImports(bindings)) {
    throw new SyntaxError(`not an import of names from ipam-kit: ${specifier}`)
  }
  const module = await load(`src${subpath ?? ''}/index.ts`)
  return Object.fromEntries(
    bindings.elements
      .filter((element) => !element.isTypeOnly)
      .map(({ propertyName, name }) => {
        const exported = (propertyName ?? name).text
        if (!(exported in module)) throw new SyntaxError(`${specifier} does not export ${exported}`)
        return [name.text, module[exported]]
      }),
  )
}

function namesOfClient(clause: ts.ImportClause | undefined, module: { readonly [name: string]: unknown }) {
  const bindings = clause?.namedBindings
  const names = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : []
  const wanted = names.map(({ propertyName, name }) => [name.text, (propertyName ?? name).text] as const)
  if (clause?.name !== undefined) wanted.push([clause.name.text, 'default'])
  if (wanted.length === 0) throw new SyntaxError('not an import of names')
  return Object.fromEntries(
    wanted.map(([name, exported]) => {
      if (!(exported in module)) throw new SyntaxError(`the client has no ${exported} here`)
      return [name, module[exported]]
    }),
  )
}

function load(entry: string): Promise<Record<string, unknown>> {
  return import(/* @vite-ignore */ pathToFileURL(root + entry).href)
}
