import { readFileSync } from 'node:fs'
import { type ErrorCode, registry } from 'ipam-kit/errors'
import ts from 'typescript'

const retryWords = {
  now: 'at once, after finding out what is stored',
  after: 'later, with back-off',
  'on-pool-change': 'when the pool or its addresses change',
  never: 'no: the input has to change',
} as const

/**
 * The page docs/reference/errors.md: every code with what it means, what it carries, and whether
 * trying again helps.
 */
export function renderErrorsDoc(): string {
  const contexts = readContexts()
  const rows = [...contexts].map(([code, { meaning, fields }]) => {
    const { retry, conditionReason } = registry[code]
    return `| \`${code}\` | ${meaning} | ${fields} | ${retryWords[retry]} | ${conditionReason} |`
  })
  return [
    '# Errors',
    '',
    'Made from the registry in `src/errors` by `npm run docs:errors`. Codes are append-only.',
    '',
    'Every failure is plain data, `{ code, context, cause? }`, and has its sentence as `message`. Functions named `safeX` return it in a `Result`, the others throw it in an',
    '`IpamError`, which has the same `code` and `context`. Tell errors by their code (`isIpamError(error, code)`), not by `instanceof`:',
    'two copies of a package have two classes. What a controller has to act on, such as an exhausted pool, is no error but a member of an',
    'outcome union.',
    '',
    '| code | meaning | context | try again? | condition reason |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** The doc comment and the fields of each code, from the source of `ErrorContexts`. */
function readContexts(): Map<ErrorCode, { readonly meaning: string; readonly fields: string }> {
  const file = new URL('../src/errors/codes.ts', import.meta.url)
  const source = ts.createSourceFile('codes.ts', readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022, true)
  const found = new Map<ErrorCode, { meaning: string; fields: string }>()
  source.forEachChild((node) => {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== 'ErrorContexts') return
    for (const member of node.members) {
      if (!ts.isPropertySignature(member) || !ts.isIdentifier(member.name)) continue
      const comment = ts.getJSDocCommentsAndTags(member)[0]
      const meaning =
        comment !== undefined && ts.isJSDoc(comment) ? ts.getTextOfJSDocComment(comment.comment) : undefined
      const fields = fieldsOf(member.type, source)
        .map((field) => `\`${field.name?.getText(source)}\``)
        .join(', ')
      found.set(member.name.text as ErrorCode, {
        meaning: (meaning ?? '').replace(/\s+/g, ' ').replaceAll('|', '\\|'),
        fields,
      })
    }
  })
  return found
}

/**
 * The fields of a type: those that it lists, and those of the types of the same file that it is
 * made of.
 */
function fieldsOf(type: ts.TypeNode | undefined, source: ts.SourceFile): readonly ts.TypeElement[] {
  if (type === undefined) return []
  if (ts.isTypeLiteralNode(type)) return type.members
  if (ts.isIntersectionTypeNode(type)) return type.types.flatMap((part) => fieldsOf(part, source))
  const isNamed = (node: ts.Node): node is ts.InterfaceDeclaration =>
    ts.isInterfaceDeclaration(node) && ts.isTypeReferenceNode(type) && node.name.text === type.typeName.getText(source)
  return source.statements.filter(isNamed).flatMap(({ members }) => members)
}
