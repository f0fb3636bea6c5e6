// Modules as users write them: each exports what the functions, classes and types of one entry give,
// without an annotation, so that the compiler has to name the types itself.
import ts from 'typescript'
import type { PublicApi, PublicEntry, PublicExport } from '../../scripts/public-api.js'

export interface ConsumerModule {
  /** `cidr-forms.ts` */
  readonly name: string
  readonly specifier: string
  /** One statement a line; a line begins with the export that it is about, as a comment. */
  readonly text: string
}

const HELPERS = [
  'declare function same<T>(value: T): T',
  'type KeyOf<T> = T extends unknown ? keyof T : never',
  'type At<T, K> = T extends unknown ? (K extends keyof T ? T[K] : never) : never',
  'declare function at<T, const K extends KeyOf<T>>(value: T, key: K): At<T, K>',
  'type Callable<T> = Extract<T, (...given: never) => unknown>',
]

/** One module for each entry, for all of its exports but whole entries under a name. */
export function consumerModules(api: PublicApi): ConsumerModule[] {
  const seen = new Set<ts.Symbol>()
  return api.entries.map((entry) => moduleOf(api.checker, entry, seen))
}

function moduleOf(checker: ts.TypeChecker, { specifier, exports }: PublicEntry, seen: Set<ts.Symbol>): ConsumerModule {
  const writer = new ConsumerWriter(checker, specifier, seen)
  for (const one of exports) writer.addExport(one)
  return {
    name: `${specifier.replaceAll('/', '-')}.ts`,
    specifier,
    text: [...writer.imports, ...HELPERS, ...writer.lines, 'export {}', ''].join('\n'),
  }
}

class ConsumerWriter {
  readonly imports: string[] = []
  readonly lines: string[] = []
  readonly #checker: ts.TypeChecker
  readonly #specifier: string
  /** The types whose members another module has, or this one. */
  readonly #seen: Set<ts.Symbol>
  #count = 0

  constructor(checker: ts.TypeChecker, specifier: string, seen: Set<ts.Symbol>) {
    this.#checker = checker
    this.#specifier = specifier
    this.#seen = seen
  }

  addExport({ name, kind, symbols }: PublicExport): void {
    // its functions are those of an entry of its own
    if (kind === 'namespace' && symbols[0]?.declarations?.[0]?.getSourceFile().fileName.endsWith('/index.ts')) return
    const value = kind === 'type' ? undefined : symbols.find(({ flags }) => flags & ts.SymbolFlags.Value)
    const type = symbols.find(({ flags }) => flags & ts.SymbolFlags.Type)
    if (value !== undefined) {
      const local = `${name}_`
      this.imports.push(`import { ${name} as ${local} } from '${this.#specifier}'`)
      this.#addValue(name, local, value)
    }
    if (type !== undefined) this.#addType(name, type)
  }

  #addValue(name: string, local: string, symbol: ts.Symbol): void {
    if (symbol.flags & ts.SymbolFlags.ValueModule) {
      for (const member of this.#checker.getExportsOfModule(symbol)) {
        const target = member.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(member) : member
        if (target.flags & ts.SymbolFlags.Value) {
          this.#addValue(`${name}.${member.name}`, `${local}.${member.name}`, target)
        }
      }
      return
    }
    const type = this.#checker.getTypeOfSymbol(symbol)
    if (type.getConstructSignatures().length > 0) {
      const given = this.#declare(name, `ConstructorParameters<typeof ${local}>`)
      this.#export(name, `same(${given})`)
      this.#export(name, `new ${local}(...${given})`)
    } else if (type.getCallSignatures().length > 0) {
      this.#addCalls(name, local, type)
    } else {
      this.#export(name, `same(${local})`)
    }
    for (const member of this.#membersOf(type)) this.#addMember(name, local, member)
  }

  /** A function: its arguments, what it returns, and what that returns if it is a function as well. */
  #addCalls(name: string, local: string, type: ts.Type): void {
    const given = this.#declare(name, `Parameters<typeof ${local}>`)
    this.#export(name, `same(${given})`)
    const result = this.#export(name, `${local}(...${given})`)
    const [signature] = type.getCallSignatures()
    const returned = signature?.getReturnType()
    if (returned !== undefined && returned.getCallSignatures().length > 0) {
      this.#addCalls(name, result, returned)
    }
  }

  #addType(name: string, symbol: ts.Symbol): void {
    const parameters = symbol.declarations?.flatMap((one) =>
      ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one) || ts.isClassDeclaration(one)
        ? [one.typeParameters ?? []]
        : [],
    )[0]
    const required = parameters?.filter((one) => one.default === undefined) ?? []
    const args = required.map((one) => (one.constraint === undefined ? 'unknown' : 'any'))
    const given = args.length === 0 ? '' : `<${args.join(', ')}>`
    const local = this.#declare(name, `import('${this.#specifier}').${name}${given}`)
    this.#export(name, `same(${local})`)
    if (this.#seen.has(symbol)) return
    this.#seen.add(symbol)
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol)
    const members = new Map<string, ts.Symbol>()
    for (const one of type.isUnion() ? type.types : [type]) {
      if (!(one.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) continue
      for (const member of this.#membersOf(one)) members.set(member.name, member)
    }
    for (const member of members.values()) {
      if (type.isUnion()) this.#export(`${name}.${member.name}`, `at(${local}, ${JSON.stringify(member.name)})`)
      else this.#addMember(name, local, member)
    }
  }

  #addMember(name: string, local: string, member: ts.Symbol): void {
    const whole = `${name}.${member.name}`
    const value = this.#export(whole, `at(${local}, ${JSON.stringify(member.name)})`)
    const type = this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(member))
    if (type.getCallSignatures().length === 0 || type.getConstructSignatures().length > 0) return
    this.#addCalls(whole, this.#declare(whole, `Callable<typeof ${value}>`), type)
  }

  #membersOf(type: ts.Type): ts.Symbol[] {
    return this.#checker
      .getPropertiesOfType(type)
      .filter(
        (member) =>
          /^\w+$/u.test(member.name) &&
          !member.name.startsWith('__') &&
          member.name !== 'prototype' &&
          (member.declarations ?? []).some(
            (one) =>
              !one.getSourceFile().isDeclarationFile &&
              !ts.getJSDocTags(one).some(({ tagName }) => tagName.text === 'internal') &&
              !(ts.getCombinedModifierFlags(one) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)),
          ),
      )
  }

  #declare(name: string, type: string): string {
    const local = `given${this.#count++}`
    this.lines.push(`/* ${name} */ declare const ${local}: ${type}`)
    return local
  }

  #export(name: string, expression: string): string {
    const local = `made${this.#count++}`
    this.lines.push(`/* ${name} */ export const ${local} = ${expression}`)
    return local
  }
}
