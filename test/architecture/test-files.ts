import ts from 'typescript'

/** What a test must not do, and where. */
export interface TestFinding {
  readonly file: string
  readonly line: number
  readonly what: string
}

const PROPERTY_PACKAGE = '@fast-check/vitest'

/**
 * What measures time or memory. A busy machine makes it fail: it belongs to a file of
 * `npm run test:cost`.
 */
const MEASURES: ReadonlySet<string> = new Set(['performance.now', 'process.hrtime', 'process.cpuUsage', 'memoryUsage'])

/**
 * Finds two mistakes in a file of tests.
 *
 * 1. `test` or `it` of @fast-check/vitest without `.prop`: the package runs such a test once for
 *    each run of a property, 100 times. Plain tests come from vitest.
 * 2. A test of `npm test` that measures time or memory.
 */
export function findTestMistakes(name: string, source: string): TestFinding[] {
  // most files name none of it, and are not parsed
  if (![PROPERTY_PACKAGE, ...MEASURES].some((word) => source.includes(word))) return []
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.ES2022, true)
  const findings: TestFinding[] = []
  const report = (node: ts.Node, what: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    findings.push({ file: name, line: line + 1, what })
  }
  const runners = new Set(file.statements.flatMap(runnersOf))
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return
    if (ts.isIdentifier(node) && runners.has(node.text) && isReference(node) && !isProperty(node)) {
      report(node, `${node.text} of ${PROPERTY_PACKAGE} without .prop runs 100 times: import test from vitest`)
    }
    const measure = ts.isPropertyAccessExpression(node) || ts.isIdentifier(node) ? node.getText(file) : ''
    if (MEASURES.has(measure)) report(node, `${measure} measures the machine: move the test to a *.cost.ts file`)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return findings
}

/** The local names of `test` and `it` that an import brings; of a namespace, its own name. */
function runnersOf(statement: ts.Statement): string[] {
  if (!ts.isImportDeclaration(statement)) return []
  const { importClause, moduleSpecifier } = statement
  if (!ts.isStringLiteral(moduleSpecifier) || moduleSpecifier.text !== PROPERTY_PACKAGE) return []
  const bindings = importClause?.namedBindings
  if (bindings === undefined) return []
  if (ts.isNamespaceImport(bindings)) return [bindings.name.text]
  const runners = bindings.elements.filter(({ name, propertyName }) => /^(test|it)$/.test((propertyName ?? name).text))
  return runners.map(({ name }) => name.text)
}

/**
 * Whether this is a use of a variable, and not the name of a member: `test` in `x.test` or
 * `{ test: 1 }`.
 */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  return !(ts.isPropertyAssignment(parent) && parent.name === node)
}

/**
 * Whether `.prop` stands in the chain of members behind it: `test.prop`, `it.only.prop`,
 * `all.test.prop`.
 */
function isProperty(node: ts.Identifier): boolean {
  for (let at: ts.Node = node.parent; ts.isPropertyAccessExpression(at); at = at.parent) {
    if (at.name.text === 'prop' || at.name.text === 'fc') return true
  }
  return false
}
