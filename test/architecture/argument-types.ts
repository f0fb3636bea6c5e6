import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { entries } from './entries.js'

// What the TypeScript types of the public signatures say of each argument, as trees.

/** What a type takes, as far as a caller can get it wrong. */
export interface ArgumentType {
  readonly kind:
    | 'text'
    | 'number'
    | 'bigint'
    | 'flag'
    | 'choice'
    | 'function'
    | 'list'
    | 'iterable'
    | 'dictionary'
    | 'object'
    | 'union'
    | 'any'
  /** The name of the type, where it has one. */
  readonly name: string
  /** The file of the declaration: `src/crd/core/node.ts`. */
  readonly file: string
  /** Whether `undefined` and `null` are right values. */
  readonly isOptional: boolean
  readonly isNullable: boolean
  /** The right values of a choice. */
  readonly values: readonly unknown[]
  readonly isClass: boolean
  /** The members of an object; the alternatives of a union; `[]` of a list; the result of a function. */
  readonly members: () => readonly Member[]
}

export interface Member {
  readonly name: string
  readonly type: ArgumentType
}

export interface Signature {
  readonly parameters: readonly Member[]
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The signatures of everything that the entries export, by the names of `publicCalls`. */
export function publicSignatures(): (name: string) => Signature | undefined {
  const files = entries().map(({ source }) => `${root}${source}`)
  const { config } = ts.readConfigFile(`${root}tsconfig.base.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const program = ts.createProgram(files, { ...options, types: [] })
  const reader = new TypeReader(program.getTypeChecker())
  const byEntry = new Map(
    entries().map(({ specifier, source }) => [specifier, program.getSourceFile(`${root}${source}`)!]),
  )
  return (name) => {
    const [, isNew, specifier, path] = /^(new )?(\S+) (.+)$/u.exec(name)!
    return reader.signatureOf(byEntry.get(specifier!)!, path!, isNew !== undefined)
  }
}

class TypeReader {
  readonly #checker: ts.TypeChecker

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  signatureOf(file: ts.SourceFile, path: string, isNew: boolean): Signature | undefined {
    const checker = this.#checker
    const [outer, method] = path.split('#')
    const [first, ...members] = outer!.split('.')
    const module = checker.getSymbolAtLocation(file)!
    const exported = checker.getExportsOfModule(module).find(({ name }) => name === first)
    if (exported === undefined) return undefined
    const value = (exported.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(exported) : exported
    let type = checker.getTypeOfSymbolAtLocation(value, file)
    for (const member of members) {
      const property = checker.getPropertyOfType(type, member)
      if (property === undefined) return undefined
      type = checker.getTypeOfSymbolAtLocation(property, file)
    }
    if (method !== undefined) {
      const made = type.getConstructSignatures()[0]?.getReturnType()
      const property = made === undefined ? undefined : checker.getPropertyOfType(made, method)
      if (property === undefined) return undefined
      type = checker.getTypeOfSymbolAtLocation(property, file)
    }
    const signature = (isNew ? type.getConstructSignatures() : type.getCallSignatures())[0]
    if (signature === undefined) return undefined
    return {
      parameters: signature.parameters.map((parameter) => {
        const declared = parameter.valueDeclaration
        const isRest = declared !== undefined && ts.isParameter(declared) && declared.dotDotDotToken !== undefined
        const type = checker.getTypeOfSymbolAtLocation(parameter, file)
        const isOptional = declared !== undefined && ts.isParameter(declared) && checker.isOptionalParameter(declared)
        const read = this.#read(isRest ? (checker.getTypeArguments(type as ts.TypeReference)[0] ?? type) : type, file)
        return { name: parameter.name, type: isOptional || isRest ? { ...read, isOptional: true } : read }
      }),
    }
  }

  #read(given: ts.Type, at: ts.Node): ArgumentType {
    const checker = this.#checker
    const type =
      (given.flags & ts.TypeFlags.TypeParameter) !== 0 ? (checker.getBaseConstraintOfType(given) ?? given) : given
    const parts = type.isUnion() ? type.types : [type]
    const isOptional = parts.some(({ flags }) => (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) !== 0)
    const isNullable = parts.some(({ flags }) => (flags & ts.TypeFlags.Null) !== 0)
    const rest = parts.filter(
      ({ flags }) => (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Void)) === 0,
    )
    return { ...this.#present(rest, type, at), isOptional, isNullable }
  }

  #present(parts: readonly ts.Type[], whole: ts.Type, at: ts.Node): ArgumentType {
    const has = (flags: ts.TypeFlags) => parts.length > 0 && parts.every((part) => (part.flags & flags) !== 0)
    const checker = this.#checker
    const symbol = whole.aliasSymbol ?? whole.symbol
    if (has(ts.TypeFlags.BooleanLike)) {
      return parts.length > 1
        ? leaf('flag')
        : { ...leaf('choice'), values: [checker.typeToString(parts[0]!) === 'true'] }
    }
    if (has(ts.TypeFlags.StringLiteral) || has(ts.TypeFlags.NumberLiteral)) {
      return { ...leaf('choice'), values: parts.map((part) => (part as ts.LiteralType).value) }
    }
    if (has(ts.TypeFlags.StringLike)) return leaf('text')
    if (has(ts.TypeFlags.NumberLike)) return leaf('number')
    if (has(ts.TypeFlags.BigIntLike)) return leaf('bigint')
    if (parts.length === 0 || has(ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return leaf('any')
    const name = symbol?.name ?? ''
    const file = symbol?.declarations?.[0]?.getSourceFile().fileName.replace(root, '') ?? ''
    if (parts.length > 1) {
      const members = () => groups(parts).map((one, nth) => ({ name: `|${nth}`, type: this.#alternative(one, at) }))
      return { ...leaf('union'), name, file, members }
    }
    return this.#object(parts[0]!, name, file, at)
  }

  #alternative(parts: readonly ts.Type[], at: ts.Node): ArgumentType {
    return this.#present(parts, parts[0]!, at)
  }

  #object(type: ts.Type, named: string, declared: string, at: ts.Node): ArgumentType {
    const checker = this.#checker
    const symbol = type.aliasSymbol ?? type.symbol
    const name = named || symbol?.name || ''
    const file = declared || (symbol?.declarations?.[0]?.getSourceFile().fileName.replace(root, '') ?? '')
    const ofArgument = (nth: number) => () => {
      const argument = checker.getTypeArguments(type as ts.TypeReference)[nth]
      return argument === undefined ? [] : [{ name: '[]', type: this.#read(argument, at) }]
    }
    if (type.getCallSignatures().length > 0) {
      const result = () => [{ name: '()', type: this.#read(type.getCallSignatures()[0]!.getReturnType(), at) }]
      return { ...leaf('function'), name, file, members: result }
    }
    if (checker.isArrayType(type) || checker.isTupleType(type)) return { ...leaf('list'), members: ofArgument(0) }
    if (/^(?:Iterable|AsyncIterable|ReadonlySet|Set|IterableIterator)$/u.test(type.symbol?.name ?? '')) {
      return { ...leaf('iterable'), name: type.symbol.name, members: ofArgument(0) }
    }
    if (/^(?:ReadonlyMap|Map)$/u.test(type.symbol?.name ?? '')) return { ...leaf('iterable'), name: 'Map' }
    if (type.symbol?.name === 'Promise') return { ...leaf('object'), name: 'Promise', members: ofArgument(0) }
    const properties = checker.getPropertiesOfType(type)
    const index = checker.getIndexInfosOfType(type)[0]
    if (properties.length === 0 && index !== undefined) {
      return { ...leaf('dictionary'), name, file, members: () => [{ name: 'x', type: this.#read(index.type, at) }] }
    }
    const isClass = ((type.symbol?.flags ?? 0) & ts.SymbolFlags.Class) !== 0
    const members = () =>
      properties
        .filter((property) => !property.name.startsWith('__'))
        .map((property) => {
          const read = this.#read(checker.getTypeOfSymbolAtLocation(property, at), at)
          const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
          return { name: property.name, type: isOptional ? { ...read, isOptional } : read }
        })
    return { ...leaf('object'), name, file, isClass, members }
  }
}

/** The alternatives of a union: literals of one kind are one. */
function groups(parts: readonly ts.Type[]): ts.Type[][] {
  const found = new Map<unknown, ts.Type[]>()
  for (const part of parts) {
    const kinds = [ts.TypeFlags.BooleanLike, ts.TypeFlags.StringLiteral, ts.TypeFlags.NumberLiteral]
    const key = kinds.find((flags) => (part.flags & flags) !== 0) ?? part
    found.set(key, [...(found.get(key) ?? []), part])
  }
  return [...found.values()]
}

function leaf(kind: ArgumentType['kind']): ArgumentType {
  return {
    kind,
    name: '',
    file: '',
    isOptional: false,
    isNullable: false,
    values: [],
    isClass: false,
    members: () => [],
  }
}
