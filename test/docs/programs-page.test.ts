import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { outcomeTables, problemKinds } from '../../scripts/program-outcomes.js'
import { REASONS } from '../../scripts/program-reasons.js'
import { PROGRAMS, renderProgramsDoc } from '../../scripts/programs-doc.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The sources of folders of src/provider. */
function sourcesIn(folders: readonly string[]): readonly ts.SourceFile[] {
  return folders.flatMap((folder) => {
    const path = `${root}src/provider/${folder}`
    const names = readdirSync(path, { encoding: 'utf8', recursive: true }).filter((name) => name.endsWith('.ts'))
    return names.map((name) =>
      ts.createSourceFile(name, readFileSync(`${path}/${name}`, 'utf8'), ts.ScriptTarget.ES2022, true),
    )
  })
}

/** The texts within a node, down to those of conditions and unions. */
function textsOf(node: ts.Node): readonly string[] {
  if (ts.isStringLiteral(node)) return [node.text]
  if (ts.isLiteralTypeNode(node)) return textsOf(node.literal)
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(textsOf)
  if (ts.isUnionTypeNode(node)) return node.types.flatMap(textsOf)
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) return textsOf(node.expression)
  return []
}

/** The reasons that sources declare: members `reason`, and types whose names say so. */
function declaredIn(source: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const isMember = (ts.isPropertyAssignment(node) || ts.isPropertySignature(node)) && node.name.getText() === 'reason'
    if (isMember && ts.isPropertyAssignment(node)) found.push(...textsOf(node.initializer))
    if (isMember && ts.isPropertySignature(node) && node.type) found.push(...textsOf(node.type))
    if (ts.isTypeAliasDeclaration(node) && /(?:Reason|Refusal)$/.test(node.name.text)) found.push(...textsOf(node.type))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found.filter((text) => /^[A-Z]/.test(text))
}

test('docs/reference/programs.md is what the code says', async () => {
  expect(readFileSync(`${root}docs/reference/programs.md`, 'utf8')).toBe(await renderProgramsDoc())
})

test('each example with flags is a program of the page', () => {
  const withFlags = readdirSync(`${root}docs/examples`, { encoding: 'utf8', recursive: true })
    .filter((name) => /\/(?:flags|install-flags|admin|options)\.ts$/.test(name))
    .filter((name) => readFileSync(`${root}docs/examples/${name}`, 'utf8').includes('satisfies FlagOptions'))
    .map((name) => name.split('/')[0])
    .filter((folder) => folder !== 'program')
  expect(new Set(PROGRAMS.map(({ file }) => file.split('/')[0]))).toEqual(new Set(withFlags))
})

test('each flag says what it does', () => {
  for (const { flags, file } of PROGRAMS) {
    for (const [name, { about }] of Object.entries(flags)) expect(about.length, `${file} --${name}`).toBeGreaterThan(8)
  }
})

test('each outcome and each problem says what it means', () => {
  const all = [...outcomeTables(), { title: 'problems', kinds: problemKinds() }]
  for (const { title, kinds } of all) {
    expect(kinds.size, title).toBeGreaterThan(3)
    for (const [kind, meaning] of kinds) expect(meaning.length, `${title}: ${kind}`).toBeGreaterThan(10)
  }
})

describe.each(REASONS)('reasons: $title', ({ folders, rows, internal }) => {
  const sources = sourcesIn(folders)

  test('each reason that the code declares has a row', () => {
    const known = new Set([...rows.map(({ reason }) => reason), ...internal])
    expect(sources.flatMap(declaredIn).filter((reason) => !known.has(reason))).toEqual([])
  })

  test('each row has a reason that the code writes', () => {
    // names of upstream are constants of the definitions
    const names = [...sources, ...sourcesIn(['consumer', '../crd'])]
    const isWritten = (reason: string) => names.some(({ text }) => text.includes(`'${reason}'`))
    expect(rows.map(({ reason }) => reason).filter((reason) => !isWritten(reason))).toEqual([])
  })

  test('no reason is listed twice', () => {
    const keys = rows.map(({ reason, about, on }) => `${reason} ${about} ${on}`)
    expect(keys).toEqual([...new Set(keys)])
  })
})
