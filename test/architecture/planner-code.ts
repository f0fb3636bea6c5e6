import ts from 'typescript'

/**
 * What every planner has from the object cache and from `Absences`, and is not to have of its own.
 */
export type Rule = 'version filter' | 'index' | 'times' | 'absence'

export interface Finding {
  readonly rule: Rule
  readonly line: number
  readonly text: string
}

/** Types of objects that were read: a field that maps to them is an index by hand. */
const READ = ['KubeObject', 'BlockBook', 'ParsedPool', 'GraphNode', 'SeenAddress']
const COMPARISONS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
])

/** The places of a file that do what the object cache or `Absences` does. */
export function findOwnCode(fileName: string, source: string): readonly Finding[] {
  const file = ts.createSourceFile(fileName, source, ts.ScriptTarget.Latest, true)
  const read = new Set([...READ, ...importedFromCrd(file)])
  const interfaces = new Map(
    file.statements.filter(ts.isInterfaceDeclaration).map((each) => [each.name.text, each.getText()]),
  )
  const textOf = (type: ts.TypeNode) =>
    [type.getText(), ...namesIn(type).map((name) => interfaces.get(name) ?? '')].join()
  const findings: Finding[] = []
  const add = (rule: Rule, node: ts.Node) => {
    const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1
    findings.push({ rule, line, text: node.getText().split('\n')[0] as string })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && COMPARISONS.has(node.operatorToken.kind) && comparesVersions(node)) {
      add('version filter', node)
    }
    if (ts.isCallExpression(node) && isVersionCall(node)) add('version filter', node)
    if (ts.isPropertyDeclaration(node) || ts.isPropertySignature(node)) {
      const type = valueTypeOf(node)
      if (type !== undefined && namesIn(type).some((name) => read.has(name))) add('index', node)
      if (type !== undefined && (/\b(since|at|due)Ms\b/.test(textOf(type)) || isTimes(node, type))) add('times', node)
    }
    if (ts.isObjectLiteralExpression(node) && isAbsentEffect(node)) add('absence', node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return findings
}

function importedFromCrd(file: ts.SourceFile): readonly string[] {
  return file.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || !statement.moduleSpecifier.getText().includes('/crd/')) return []
    const bindings = statement.importClause?.namedBindings
    return bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name.text) : []
  })
}

/** The type of the values of a field that is a Map: `new Map<K, V>()`, or `: Map<K, V>`. */
function valueTypeOf(node: ts.PropertyDeclaration | ts.PropertySignature): ts.TypeNode | undefined {
  const made = ts.isPropertyDeclaration(node) ? node.initializer : undefined
  if (made !== undefined && ts.isNewExpression(made) && made.expression.getText() === 'Map')
    return made.typeArguments?.[1]
  const { type } = node
  const isMap = type !== undefined && ts.isTypeReferenceNode(type) && /^(Readonly)?Map$/.test(type.typeName.getText())
  return isMap ? type.typeArguments?.[1] : undefined
}

/** Names of the values themselves: of `ObjectRef` or of a name in an object nothing is an index. */
function namesIn(type: ts.TypeNode): readonly string[] {
  if (ts.isTypeReferenceNode(type)) {
    return [type.typeName.getText(), ...(type.typeArguments ?? []).flatMap(namesIn)].filter(
      (name) => name !== 'ObjectRef' && name !== 'KindInfo',
    )
  }
  if (ts.isUnionTypeNode(type)) return type.types.flatMap(namesIn)
  if (ts.isTypeLiteralNode(type)) {
    return type.members.flatMap((member) => (ts.isPropertySignature(member) && member.type ? namesIn(member.type) : []))
  }
  return []
}

function isTimes(node: ts.PropertyDeclaration | ts.PropertySignature, type: ts.TypeNode): boolean {
  return /Ms$/.test(node.name.getText()) && type.kind === ts.SyntaxKind.NumberKeyword
}

function comparesVersions({ left, right }: ts.BinaryExpression): boolean {
  if ([left, right].some((side) => side.getText() === 'undefined')) return false
  return [left, right].some(isVersion)
}

function isVersion(node: ts.Expression): boolean {
  const name = ts.isPropertyAccessExpression(node) ? node.name.text : ts.isIdentifier(node) ? node.text : ''
  return name === 'resourceVersion'
}

function isVersionCall({ expression, arguments: given }: ts.CallExpression): boolean {
  const name = expression.getText()
  return name === 'isOlderVersion' || (['Number', 'BigInt', 'parseInt'].includes(name) && given.some(isVersion))
}

/** An `absent` effect that is written out: a change of that kind has no reason. */
function isAbsentEffect({ properties }: ts.ObjectLiteralExpression): boolean {
  const names = properties.map((property) => property.name?.getText())
  const kind = properties.find((property) => property.name?.getText() === 'kind')
  return names.includes('why') && kind !== undefined && /'absent'/.test(kind.getText())
}
