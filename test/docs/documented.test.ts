import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

// Every function that /cidr and /cidr/forms export says what it does and shows it: examples.test.ts
// runs what it shows.

const root = fileURLToPath(new URL('../..', import.meta.url))
const entries = [
  ['/cidr', 'src/cidr/index.ts', ['Address', 'Prefix', 'Range', 'RangeSet', 'PrefixMap'], 10],
  ['/cidr/forms', 'src/cidr/forms/index.ts', ['ReverseName', 'UrlHost', 'Teredo', 'SixToFour', 'Nat64'], 0],
] as const

interface Exported {
  /** `Prefix.split`. */
  readonly name: string
  /** `src/cidr/nouns/prefix-math.ts`. */
  readonly file: string
  readonly text: string
  readonly hasExample: boolean
}

describe.each(entries)('what %s exports', (_, entry, nouns, fewest) => {
  const exported = functionsOf(root + entry)

  test('are functions of every noun', () => {
    for (const noun of nouns) {
      expect(exported.filter(({ name }) => name.startsWith(`${noun}.`)).length, noun).toBeGreaterThan(fewest)
    }
  })

  test.each(exported)('$name is documented, with an example', ({ text, hasExample }) => {
    expect(text).toMatch(/\w.*\./)
    expect(hasExample).toBe(true)
  })
})

test('the check sees what is missing', () => {
  const found = functionsOf(`${root}test/docs/fixtures/undocumented.ts`)
  expect(found.map(({ name, text, hasExample }) => [name, text !== '', hasExample])).toEqual([
    ['bare', false, false],
    ['described', true, false],
    ['shown', true, true],
    ['Box.value', false, false],
  ])
})

/** The functions that a module exports, those of its namespaces, and the methods of its classes. */
function functionsOf(file: string): Exported[] {
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    noLib: true,
  })
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)
  if (module === undefined) throw new Error(`no module ${file}`)
  return checker.getExportsOfModule(module).flatMap((symbol) => functionsIn(checker, symbol, ''))
}

function functionsIn(checker: ts.TypeChecker, symbol: ts.Symbol, path: string): Exported[] {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const name = `${path}${symbol.name}`
  // a noun is a namespace and a type of the same name: its functions are those of the value
  const members = target.flags & (ts.SymbolFlags.ValueModule | ts.SymbolFlags.Alias) ? namespaceOf(checker, target) : []
  if (members.length > 0) return members.flatMap((member) => functionsIn(checker, member, `${name}.`))
  if (target.flags & ts.SymbolFlags.Class) {
    const methods = [...(target.members?.values() ?? [])].filter(
      (member) => member.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.GetAccessor),
    )
    return methods
      .filter((member) => !member.name.startsWith('#') && !member.name.startsWith('__'))
      .map((member) => describeSymbol(checker, member, `${name}.${member.name}`))
  }
  return target.flags & ts.SymbolFlags.Function ? [describeSymbol(checker, target, name)] : []
}

function namespaceOf(checker: ts.TypeChecker, symbol: ts.Symbol): readonly ts.Symbol[] {
  return checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol))
}

function describeSymbol(checker: ts.TypeChecker, symbol: ts.Symbol, name: string): Exported {
  return {
    name,
    file: relative(root, symbol.declarations?.[0]?.getSourceFile().fileName ?? ''),
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
    hasExample: symbol.getJsDocTags(checker).some((tag) => tag.name === 'example'),
  }
}
