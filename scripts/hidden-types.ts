import ts from 'typescript'
import type { PublicApi, PublicExport } from './public-api.js'

/** A type with a name that no entry exports, and that public signatures lead to. */
export interface HiddenType {
  readonly name: string
  /** The exported name that leads to it. */
  readonly from: string
  /**
   * How many named types lie between the two, this one included: `Parameters<typeof f>[0]` is 1, a
   * member of it 2.
   */
  readonly steps: number
}

interface Visit {
  readonly type: ts.Type
  readonly from: string
  readonly steps: number
}

const CONTAINERS = ts.SymbolFlags.ValueModule | ts.SymbolFlags.NamespaceModule

/**
 * The interfaces, classes and type aliases that users meet and cannot import, with the shortest way
 * to each. The declaration files of a user's module cannot name them.
 */
export function hiddenTypesIn({ checker, entries }: PublicApi): HiddenType[] {
  const names = namesIn(
    checker,
    entries.flatMap((entry) => entry.exports),
  )
  const found = new Map<ts.Symbol, HiddenType>()
  const seen = new Set<ts.Type>()
  let level: Visit[] = [...names].flatMap(([symbol, from]) =>
    typesOf(checker, symbol).map((type) => ({ type, from, steps: 0 })),
  )
  const roots = new Set(level.map(({ type }) => type))
  while (level.length > 0) {
    const next: Visit[] = []
    for (const visit of level) walk(visit)
    level = next

    function walk({ type, from, steps }: Visit): void {
      if (seen.has(type)) return
      seen.add(type)
      const alias = type.aliasSymbol
      for (const argument of type.aliasTypeArguments ?? []) walk({ type: argument, from, steps })
      if (alias !== undefined && names.has(alias) && !roots.has(type)) return
      if (alias !== undefined && !names.has(alias) && isOurs(alias)) {
        if (!found.has(alias)) found.set(alias, { name: alias.name, from, steps: steps + 1 })
        steps += 1
      }
      if (type.isUnionOrIntersection()) for (const one of type.types) walk({ type: one, from, steps })
      if (!(type.flags & ts.TypeFlags.Object)) return
      for (const argument of checker.getTypeArguments(type as ts.TypeReference)) walk({ type: argument, from, steps })
      const { symbol } = type
      if (symbol === undefined) return
      if (isNamed(symbol) && !roots.has(type)) {
        if (names.has(symbol) || !isOurs(symbol)) return
        if (!found.has(symbol)) found.set(symbol, { name: symbol.name, from, steps: steps + 1 })
        next.push(...partsOf(checker, type).map((part) => ({ type: part, from, steps: steps + 1 })))
      } else if (isOurs(symbol)) {
        for (const part of partsOf(checker, type)) walk({ type: part, from, steps })
      }
    }
  }
  return [...found.values()].sort((a, b) => b.steps - a.steps || (a.name < b.name ? -1 : 1))
}

/** A type that the functions and classes of an entry mention, and that the entry does not export. */
export interface MissingType {
  readonly entry: string
  readonly name: string
  /** The exported name whose signature mentions it. */
  readonly from: string
}

/** The types that an importer of an entry has to look for in another entry. */
export function missingTypesIn({ checker, entries }: PublicApi): MissingType[] {
  return entries.flatMap(({ specifier, exports }) => {
    const names = namesIn(checker, exports)
    const values = namesIn(
      checker,
      exports.filter(({ kind }) => kind !== 'type'),
    )
    const found = new Map<ts.Symbol, MissingType>()
    const seen = new Set<ts.Type>()
    for (const [symbol, from] of values) {
      if (!(symbol.flags & ts.SymbolFlags.Value) || symbol.flags & CONTAINERS) continue
      const instance = symbol.flags & ts.SymbolFlags.Class ? [checker.getDeclaredTypeOfSymbol(symbol)] : []
      for (const type of [checker.getTypeOfSymbol(symbol), ...instance]) {
        if (isNamedType(type) && !instance.includes(type)) look(type)
        else for (const part of partsOf(checker, type)) look(part)
      }

      function look(type: ts.Type): void {
        if (seen.has(type)) return
        seen.add(type)
        for (const argument of type.aliasTypeArguments ?? []) look(argument)
        const { aliasSymbol: alias, symbol: own } = type
        if (alias !== undefined && isOurs(alias)) {
          note(alias)
          return
        }
        if (type.isUnionOrIntersection()) for (const one of type.types) look(one)
        if (!(type.flags & ts.TypeFlags.Object)) return
        for (const argument of checker.getTypeArguments(type as ts.TypeReference)) look(argument)
        if (own === undefined || !isOurs(own)) return
        if (isNamed(own)) note(own)
        else for (const part of partsOf(checker, type)) look(part)
      }
      function note(one: ts.Symbol): void {
        if (!names.has(one)) found.set(one, { entry: specifier, name: one.name, from })
      }
    }
    return [...found.values()]
  })
}

/** What is exported, with the names under which it is, whole entries under a name aside. */
function namesIn(checker: ts.TypeChecker, exports: readonly PublicExport[]): Map<ts.Symbol, string> {
  const names = new Map<ts.Symbol, string>()
  const add = (symbol: ts.Symbol, name: string): void => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    if (names.has(target)) return
    names.set(target, name)
    if (!(target.flags & CONTAINERS)) return
    for (const member of checker.getExportsOfModule(target)) add(member, `${name}.${member.name}`)
  }
  for (const { name, kind, symbols } of exports) {
    if (kind !== 'namespace') for (const one of symbols) add(one, name)
  }
  return names
}

function isNamedType(type: ts.Type): boolean {
  return type.aliasSymbol !== undefined || (type.symbol !== undefined && isNamed(type.symbol))
}

function typesOf(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Type[] {
  if (symbol.flags & CONTAINERS) return []
  const isValue = symbol.flags & (ts.SymbolFlags.Value | ts.SymbolFlags.Class)
  const isType = symbol.flags & ts.SymbolFlags.Type
  return [
    ...(isValue ? [checker.getTypeOfSymbol(symbol)] : []),
    ...(isType ? [checker.getDeclaredTypeOfSymbol(symbol)] : []),
  ]
}

/** The types of the members, arguments and answers of a type. */
function partsOf(checker: ts.TypeChecker, type: ts.Type): ts.Type[] {
  const members = checker.getPropertiesOfType(type).filter((member) => !member.name.startsWith('#'))
  const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()]
  return [
    ...members.filter(isPublic).map((member) => checker.getTypeOfSymbol(member)),
    ...signatures.flatMap((signature) => [
      ...signature.getParameters().map((parameter) => checker.getTypeOfSymbol(parameter)),
      signature.getReturnType(),
    ]),
    ...checker.getIndexInfosOfType(type).map((info) => info.type),
  ]
}

function isPublic(member: ts.Symbol): boolean {
  return (member.declarations ?? []).every(
    (one) =>
      !(ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Private) &&
      // the declarations of the package do not have it
      !ts.getJSDocTags(one).some(({ tagName }) => tagName.text === 'internal'),
  )
}

function isNamed(symbol: ts.Symbol): boolean {
  return (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((one) => !one.getSourceFile().fileName.includes('/node_modules/'))
}
