import ts from 'typescript'

/** An expression whose value is a result that nothing looks at. */
export interface IgnoredResult {
  readonly file: string
  readonly line: number
  /** The expression. */
  readonly text: string
  readonly start: number
  readonly end: number
}

/**
 * The results of fallible operations that a file ignores: `Result` of stores, and what a plan came
 * to. An expression counts if its value, or what it resolves to, may be a failure, and if nothing
 * takes that value: it is a statement of its own, an operand of `void`, or what a callback returns
 * to a caller that wants nothing. Lists of results count as well.
 */
export function ignoredResults(checker: ts.TypeChecker, file: ts.SourceFile): readonly IgnoredResult[] {
  const found: IgnoredResult[] = []
  visit(file)
  return found

  function visit(node: ts.Node): void {
    const dropped = droppedIn(node)
    if (dropped !== undefined && mayFail(checker.getTypeAtLocation(dropped), dropped)) {
      const start = dropped.getStart(file)
      const { line } = file.getLineAndCharacterOfPosition(start)
      found.push({ file: file.fileName, line: line + 1, text: dropped.getText(file), start, end: dropped.end })
    }
    ts.forEachChild(node, visit)
  }

  /** The expression whose value a node throws away. */
  function droppedIn(node: ts.Node): ts.Expression | undefined {
    if (ts.isExpressionStatement(node)) return lastOf(node.expression)
    if (ts.isVoidExpression(node)) return lastOf(node.expression)
    if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return wantsNothing(node) ? lastOf(node.body) : undefined
    return undefined
  }

  /** Whether the caller of a callback throws away what it returns. */
  function wantsNothing(callback: ts.ArrowFunction): boolean {
    const signatures = checker.getContextualType(callback)?.getCallSignatures() ?? []
    return signatures.some((signature) => (signature.getReturnType().flags & ts.TypeFlags.Void) !== 0)
  }

  function mayFail(type: ts.Type, at: ts.Node): boolean {
    const awaited = checker.getAwaitedType(type) ?? type
    const item = checker.isArrayLikeType(awaited) ? checker.getIndexTypeOfType(awaited, ts.IndexKind.Number) : undefined
    if (item !== undefined) return mayFail(item, at)
    return awaited.isUnion() && awaited.types.some((part) => hasFailure(part))
  }

  /** A failed `Result`, or a plan that was not carried out to its end. */
  function hasFailure(type: ts.Type): boolean {
    return type.getProperty('failure') !== undefined
  }
}

/**
 * What an expression evaluates to, without parentheses; both sides of `a && b` are its right one.
 */
function lastOf(expression: ts.Expression): ts.Expression | undefined {
  if (ts.isParenthesizedExpression(expression)) return lastOf(expression.expression)
  if (ts.isVoidExpression(expression)) return undefined
  if (ts.isBinaryExpression(expression)) {
    const { kind } = expression.operatorToken
    const isAssignment = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment
    return isAssignment ? undefined : lastOf(expression.right)
  }
  return expression
}
