import ts from 'typescript'
import type { PublicApi } from './public-api.js'

/** An interface or a class that no entry exports, and that public signatures lead to. */
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
 * The interfaces and classes that users meet and cannot import, with the shortest way to each. Type
 * aliases are not among them: the compiler writes out what they stand for.
 */
export function hiddenTypesIn({ checker, entries }: PublicApi): HiddenType[] {
  const names = new Map<ts.Symbol, string>()
  const add = (symbol: ts.Symbol, name: string): void => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    if (names.has(target)) return
    names.set(target, name)
    if (!(target.flags & CONTAINERS)) return
    for (const member of checker.getExportsOfModule(target)) add(member, `${name}.${member.name}`)
  }
  const exported = entries.flatMap((entry) => entry.exports).filter(({ kind }) => kind !== 'namespace')
  for (const { name, symbols } of exported) for (const one of symbols) add(one, name)

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
  return (member.declarations ?? []).every((one) => !(ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Private))
}

function isNamed(symbol: ts.Symbol): boolean {
  return (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((one) => !one.getSourceFile().fileName.includes('/node_modules/'))
}
