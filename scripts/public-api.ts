// What the entries of package.json export, read by the TypeScript compiler: values and types alike.
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { entries } from '../test/architecture/entries.js'

export type ExportKind = 'function' | 'class' | 'model' | 'constant' | 'type' | 'noun' | 'namespace' | 'member'

export interface PublicExport {
  readonly name: string
  /**
   * `noun`: functions and the type of their values under one name (`Prefix`). `namespace`: a whole
   * entry under a name. `model`: a kind of object, its schema and its type. `member`: a function or
   * the type of a noun, in the entry that has them by themselves.
   */
  readonly kind: ExportKind
  /** The first sentence of its doc comment; empty if it has none. */
  readonly says: string
  /**
   * Where it is declared, `src/plan/effect.ts#guard`: two exports that agree in it are one thing.
   */
  readonly declared: string
  /** What it is to the compiler: its value and its type, where they are declared apart. */
  readonly symbols: readonly ts.Symbol[]
}

export interface PublicEntry {
  /** `ipam-kit/cidr` */
  readonly specifier: string
  readonly exports: readonly PublicExport[]
}

export interface PublicApi {
  readonly checker: ts.TypeChecker
  readonly entries: readonly PublicEntry[]
}

const root = fileURLToPath(new URL('..', import.meta.url))

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts'],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
}

/** Of `sources`, by default of the entries of package.json. Takes seconds: call it once a file. */
export function publicApi(sources: readonly { specifier: string; source: string }[] = entries()): PublicApi {
  const program = ts.createProgram(
    sources.map(({ source }) => root + source),
    options,
  )
  const checker = program.getTypeChecker()
  const all = sources.map(({ specifier, source }) => {
    const file = program.getSourceFile(root + source)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${source} is not a module`)
    const found = checker.getExportsOfModule(module).map((symbol) => describeExport(checker, symbol))
    return { specifier, exports: found.sort((a, b) => (a.name < b.name ? -1 : 1)) }
  })
  const members = membersOfNouns(checker, all)
  return { checker, entries: all.map((entry) => ({ ...entry, exports: entry.exports.map(asMember(members)) })) }
}

/** What belongs to a noun, by what it is declared as. */
function membersOfNouns(checker: ts.TypeChecker, all: readonly PublicEntry[]): ReadonlySet<ts.Symbol> {
  const nouns = all.flatMap(({ exports }) => exports).filter(({ kind }) => kind === 'noun')
  return new Set(
    nouns.flatMap(({ symbols: [module] }) =>
      checker
        .getExportsOfModule(module as ts.Symbol)
        .map((one) => (one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one)),
    ),
  )
}

/** The second name of the type of a noun is no member: it is the name that the other entries export. */
function asMember(members: ReadonlySet<ts.Symbol>): (one: PublicExport) => PublicExport {
  return (one) => {
    const isMember = one.symbols.every(
      (symbol) => members.has(symbol) && (one.kind !== 'type' || symbol.name === one.name),
    )
    return isMember ? { ...one, kind: 'member' } : one
  }
}

export function namesOf(api: PublicApi, specifier: string): string[] {
  const entry = api.entries.find((one) => one.specifier === specifier)
  return entry?.exports.map(({ name }) => name) ?? []
}

function describeExport(checker: ts.TypeChecker, symbol: ts.Symbol): PublicExport {
  const symbols = meaningsOf(checker, symbol)
  const texts = symbols.map((one) => ts.displayPartsToString(one.getDocumentationComment(checker)))
  return {
    name: symbol.name,
    kind: isTypeOnly(symbol) ? 'type' : kindOf(checker, symbols),
    says: firstSentence(texts.find((text) => text !== '') ?? ''),
    declared: symbols.map(placeOf).join(' '),
    symbols,
  }
}

/**
 * The things that a name stands for. `import * as Address` with `type Address = ...` beside it,
 * exported together, is the namespace and the type.
 */
function meaningsOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol[] {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  if (!(target.flags & ts.SymbolFlags.TypeAlias)) return [target]
  const module = target.declarations?.find(ts.isNamespaceImport)
  const namespace = module && checker.getSymbolAtLocation(module.name)
  const type = checker.getDeclaredTypeOfSymbol(target)
  const named = type.aliasSymbol ?? type.symbol
  if (namespace === undefined) return [target]
  return [checker.getAliasedSymbol(namespace), ...(named === undefined ? [] : [named])]
}

function kindOf(checker: ts.TypeChecker, symbols: readonly ts.Symbol[]): ExportKind {
  const [first] = symbols as [ts.Symbol]
  const { flags } = first
  if (flags & ts.SymbolFlags.ValueModule) return symbols.length > 1 ? 'noun' : 'namespace'
  if (flags & ts.SymbolFlags.Class) return 'class'
  if (flags & ts.SymbolFlags.Function) return 'function'
  if (!(flags & ts.SymbolFlags.Variable)) return 'type'
  const type = checker.getTypeOfSymbol(first)
  if (type.getCallSignatures().length > 0) return 'function'
  return type.getProperty('info') && type.getProperty('safeParse') ? 'model' : 'constant'
}

/** Whether the entry exports it by `export type`: a class then is no value there. */
function isTypeOnly(symbol: ts.Symbol): boolean {
  return symbol.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) ?? false
}

/** `src/plan/effect.ts#guard` */
function placeOf(symbol: ts.Symbol): string {
  const declaration = symbol.declarations?.[0]
  if (declaration === undefined) return symbol.name
  const file = declaration.getSourceFile().fileName.slice(root.length)
  return ts.isSourceFile(declaration) ? file : `${file}#${symbol.name}`
}

/** Up to the full stop that ends a sentence, or up to a list, on one line. */
function firstSentence(text: string): string {
  const [prose = ''] = text.split(/\n\s*(?:- |\n)/)
  const line = prose.replace(/\s+/g, ' ').trim()
  const sentence = /^.*?[.:!?](?=\s+[A-Z`]|$)/.exec(line)?.[0] ?? line
  return sentence.replace(/\{@link (\S+?)\s*\}/g, '`$1`')
}

/** Names that mean different things in different entries: name -> where each is declared. */
export function clashesIn(api: PublicApi): Map<string, string[]> {
  const places = new Map<string, Set<string>>()
  for (const { name, kind, declared } of api.entries.flatMap((entry) => entry.exports)) {
    if (kind === 'member') continue
    places.set(name, (places.get(name) ?? new Set()).add(declared))
  }
  return new Map([...places].filter(([, set]) => set.size > 1).map(([name, set]) => [name, [...set].sort()]))
}
