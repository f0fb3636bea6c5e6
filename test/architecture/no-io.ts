import ts from 'typescript'

/**
 * Finds what lets the outside world into the library: I/O, clocks, randomness, the host's locale,
 * and state that outlives a call. The compiler already refuses host globals in src/
 * (tsconfig.src.json has no Node and no DOM types); this adds what the language itself offers, and
 * says why.
 */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly what: string
}

/**
 * Globals of the language that may be named only in the way given here. Everything unknown to
 * ES2023 is refused anyway.
 */
const REFUSED_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['globalThis', 'globalThis: the global object'],
  ['eval', 'eval'],
  ['Intl', "Intl: reads the host's locale and time zone"],
  ['Atomics', 'Atomics: shared memory'],
  ['SharedArrayBuffer', 'SharedArrayBuffer: shared memory'],
  ['WeakRef', 'WeakRef: shows when the garbage collector runs'],
  ['FinalizationRegistry', 'FinalizationRegistry: shows when the garbage collector runs'],
])

/** What one file may take from the host, as it answers the same everywhere: UTF-8 and Base64. */
export const PLATFORM_FILE = 'src/bytes/platform.ts'
const PLATFORM_GLOBALS: readonly string[] = ['TextEncoder', 'TextDecoder', 'atob', 'btoa']

/**
 * What one folder may take from the host: the clock, timers and randomness that programs hand to
 * the rest of the library. No other folder may import it (.dependency-cruiser.cjs).
 */
export const NODE_FOLDER = 'src/node/'
const NODE_GLOBALS: readonly string[] = [
  ...['Date', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'crypto'],
]

/**
 * Host globals, for a better message than "unknown global", and for files that declare one by
 * themselves.
 */
const HOST_GLOBALS: ReadonlySet<string> = new Set([
  ...['process', 'console', 'crypto', 'performance', 'fetch', 'navigator', 'window', 'document', 'self', 'global'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask'],
  ...['requestAnimationFrame', 'requestIdleCallback', 'structuredClone', 'localStorage', 'sessionStorage', 'indexedDB'],
  ...['require', 'module', 'exports', '__dirname', '__filename', 'Buffer', 'XMLHttpRequest', 'WebSocket', 'Worker'],
  ...['MessageChannel', 'BroadcastChannel', 'Deno', 'Bun'],
  ...PLATFORM_GLOBALS,
])

/** Methods whose result depends on the host's locale or time zone. */
const HOST_METHODS = /^(toLocale\w*|localeCompare|getTimezoneOffset|toDateString|toTimeString)$/

const DATE_STATICS: ReadonlySet<string> = new Set(['UTC', 'parse'])

export function findIo(program: ts.Program, file: ts.SourceFile, name: string): Finding[] {
  const checker = program.getTypeChecker()
  const findings: Finding[] = []
  const report = (node: ts.Node, what: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    findings.push({ file: name, line: line + 1, what })
  }

  for (const statement of file.statements) checkModuleState(statement, report)
  visit(file)
  return findings

  function visit(node: ts.Node): void {
    checkImport(node, report)
    if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword) report(node, 'import.meta')
    if (isTopLevelAwait(node)) report(node, 'await at the top level of a module')
    if (ts.isPropertyAccessExpression(node) && HOST_METHODS.test(node.name.text)) {
      report(node, `${node.name.text}(): depends on the host's locale or time zone`)
    }
    if (ts.isPropertyDeclaration(node) && isMutableStatic(node))
      report(node, 'static field that is not readonly: global state')
    if (ts.isIdentifier(node) && isValueReference(node) && isGlobal(node)) checkGlobal(node)
    ts.forEachChild(node, visit)
  }

  /**
   * A name that no file of ours declares: the compiler does not know it, or knows it from a lib
   * file.
   */
  function isGlobal(node: ts.Identifier): boolean {
    const symbol = ts.isShorthandPropertyAssignment(node.parent)
      ? checker.getShorthandAssignmentValueSymbol(node.parent)
      : checker.getSymbolAtLocation(node)
    // `globalThis` and `undefined` are symbols without a declaration.
    const declarations = symbol?.declarations
    if (declarations === undefined || declarations.length === 0) return true
    return declarations.every((d) => isAmbient(d))
  }

  function isAmbient(declaration: ts.Declaration): boolean {
    if (program.isSourceFileDefaultLibrary(declaration.getSourceFile())) return true
    return ts.getCombinedModifierFlags(declaration) !== 0 && hasDeclareModifier(declaration)
  }

  function checkGlobal(node: ts.Identifier): void {
    const what = refusal(node)
    if (what !== undefined) report(node, what)
  }

  function refusal(node: ts.Identifier): string | undefined {
    const global = node.text
    if (global === 'undefined') return undefined
    if (name === PLATFORM_FILE && PLATFORM_GLOBALS.includes(global)) return undefined
    if (name.startsWith(NODE_FOLDER) && NODE_GLOBALS.includes(global)) return undefined
    if (global === 'Date') return refusalOfDate(node)
    if (global === 'Math') return refusalOfMath(node)
    if (global === 'Function') return isInstanceofOperand(node) ? undefined : 'Function: code from text'
    if (HOST_GLOBALS.has(global)) return `${global}: belongs to the host`
    if (REFUSED_GLOBALS.has(global)) return REFUSED_GLOBALS.get(global)
    return isKnown(node) ? undefined : `${global}: unknown to ES2023, so it belongs to the host`
  }

  function isKnown(node: ts.Identifier): boolean {
    return ts.isShorthandPropertyAssignment(node.parent) || checker.getSymbolAtLocation(node) !== undefined
  }
}

/** Dates are made from an argument, taken apart, and never asked for the time of day. */
function refusalOfDate(node: ts.Identifier): string | undefined {
  const { parent } = node
  if (isInstanceofOperand(node)) return undefined
  if (ts.isPropertyAccessExpression(parent)) {
    return DATE_STATICS.has(parent.name.text) ? undefined : `Date.${parent.name.text}: reads the clock`
  }
  if (ts.isCallExpression(parent) && parent.expression === node) return 'Date(): reads the clock'
  if (ts.isNewExpression(parent) && parent.expression === node) {
    const first = parent.arguments?.[0]
    const hasArgument = first !== undefined && !ts.isSpreadElement(first)
    return hasArgument ? undefined : 'new Date() without an argument: reads the clock'
  }
  return 'Date as a value: may read the clock'
}

function refusalOfMath({ parent }: ts.Identifier): string | undefined {
  if (!ts.isPropertyAccessExpression(parent)) return 'Math as a value: may be random'
  return parent.name.text === 'random' ? 'Math.random' : undefined
}

function checkImport(node: ts.Node, report: (node: ts.Node, what: string) => void): void {
  if (ts.isImportEqualsDeclaration(node)) report(node, 'import = require()')
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    report(node, 'dynamic import()')
  const specifier = ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : undefined
  if (specifier === undefined || !ts.isStringLiteral(specifier)) return
  if (ts.isImportDeclaration(node) && node.importClause === undefined) report(node, 'import for its side effects')
  if (/^[a-z]+:/.test(specifier.text) || BUILTINS.has(specifier.text.split('/')[0] ?? '')) {
    report(node, `import of '${specifier.text}': a module of the host`)
  }
}

/** Node's modules under their bare names. */
const BUILTINS: ReadonlySet<string> = new Set(
  (
    'assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs ' +
    'http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream ' +
    'string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib'
  ).split(' '),
)

/**
 * `let` and `var` of a module, and collections that start empty there, outlive a call: two callers
 * would share them.
 */
function checkModuleState(statement: ts.Statement, report: (node: ts.Node, what: string) => void): void {
  if (ts.isModuleDeclaration(statement) && statement.body !== undefined && ts.isModuleBlock(statement.body)) {
    for (const inner of statement.body.statements) checkModuleState(inner, report)
    return
  }
  if (!ts.isVariableStatement(statement)) {
    // A `var` in a top-level block or loop is a variable of the module.
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) || ts.isClassLike(node)) return
      if (ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.BlockScoped) === 0) {
        report(node, 'var at module level: global state')
      }
      ts.forEachChild(node, visit)
    }
    visit(statement)
    return
  }
  const { declarationList } = statement
  if (hasDeclareModifier(statement)) return
  if ((declarationList.flags & ts.NodeFlags.Const) === 0) {
    report(statement, 'let or var at module level: global state')
    return
  }
  for (const { initializer } of declarationList.declarations) {
    if (
      initializer !== undefined &&
      ts.isNewExpression(initializer) &&
      ts.isIdentifier(initializer.expression) &&
      ['Map', 'Set'].includes(initializer.expression.text) &&
      (initializer.arguments?.length ?? 0) === 0
    ) {
      report(initializer, `empty ${initializer.expression.text} at module level: global state`)
    }
  }
}

function hasDeclareModifier(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined && !ts.isSourceFile(at); at = at.parent) {
    if (ts.canHaveModifiers(at) && ts.getModifiers(at)?.some((m) => m.kind === ts.SyntaxKind.DeclareKeyword))
      return true
  }
  return false
}

function isMutableStatic(node: ts.PropertyDeclaration): boolean {
  const flags = ts.getCombinedModifierFlags(node)
  return (flags & ts.ModifierFlags.Static) !== 0 && (flags & ts.ModifierFlags.Readonly) === 0
}

function isInstanceofOperand(node: ts.Identifier): boolean {
  const { parent } = node
  return (
    ts.isBinaryExpression(parent) &&
    parent.right === node &&
    parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
  )
}

/**
 * Is this identifier a use of a variable, and not the name of a member, of a declaration or of a
 * type?
 */
function isValueReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isQualifiedName(parent) || ts.isTypeNode(parent) || ts.isTypeParameterDeclaration(parent)) return false
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return false
  if (ts.isNamespaceExport(parent)) return false
  if (ts.isExportSpecifier(parent)) return parent.parent.parent.moduleSpecifier === undefined && !parent.isTypeOnly
  if (ts.isShorthandPropertyAssignment(parent)) return true
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent)) return false
  if (ts.isBindingElement(parent)) return parent.initializer === node
  if (ts.isMetaProperty(parent) || ts.isNamedTupleMember(parent) || ts.isTypePredicateNode(parent)) return false
  if (isNamedDeclaration(parent) && parent.name === node) return false
  return !isInsideType(node)
}

function isNamedDeclaration(node: ts.Node): node is ts.Node & { readonly name: ts.Node } {
  return 'name' in node && node.name !== undefined
}

/** `import('x').Y`, `typeof y` and heritage of an interface stand in types only. */
function isInsideType(node: ts.Node): boolean {
  for (let at: ts.Node = node; !ts.isStatement(at) && !ts.isSourceFile(at); at = at.parent) {
    if (ts.isTypeNode(at) && !ts.isExpressionWithTypeArguments(at)) return true
  }
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isInterfaceDeclaration(at) || ts.isTypeAliasDeclaration(at)) return true
  }
  return false
}

function isTopLevelAwait(node: ts.Node): boolean {
  const awaits = ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined)
  if (!awaits) return false
  for (let at: ts.Node = node.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isFunctionLike(at) || ts.isClassStaticBlockDeclaration(at)) return false
  }
  return true
}
