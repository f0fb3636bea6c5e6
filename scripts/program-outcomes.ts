import { readFileSync } from 'node:fs'
import ts from 'typescript'

/** Values of `kind`, and what each means. */
export type Kinds = ReadonlyMap<string, string>

/** A title, and the type whose kinds are listed. */
const OUTCOMES: readonly (readonly [title: string, file: string, type: string])[] = [
  ['claim of Cluster API', 'provider/claims/outcome.ts', 'ClaimOutcome'],
  ['in-cluster pool', 'provider/in-cluster/outcome.ts', 'PoolOutcome'],
  ['pool of floating IPs', 'provider/external/definition.ts', 'ExternalPoolOutcome'],
  ['OpenStackServer', 'provider/openstack/outcome.ts', 'FloatingServerOutcome'],
  ['Node', 'provider/node-ipam/outcome.ts', 'NodeOutcome'],
  ['ClusterCIDR', 'provider/node-ipam/outcome.ts', 'RangeOutcome'],
  ['NodeSlicePool', 'provider/whereabouts/slices/outcome.ts', 'SlicePoolOutcome'],
  ['claims of a workload', 'provider/persistent-ip/workload/outcome.ts', 'PersistentClaimsOutcome'],
  ['IPAMClaim or Pod', 'provider/persistent-ip/serving/outcome.ts', 'PersistentIPsOutcome'],
]

/** The outcomes of plans, by the object that was planned. */
export function outcomeTables(): readonly { readonly title: string; readonly kinds: Kinds }[] {
  return OUTCOMES.map(([title, file, type]) => ({ title, kinds: kindsOf(file, type) }))
}

/** The kinds of problems of a controller. */
export function problemKinds(): Kinds {
  return kindsOf('run/controller/controller.ts', 'ControllerProblem')
}

/**
 * The values of `kind` of a type, in their order. A meaning is the first paragraph of the comment
 * before the member of a union, or the entry of the list in the comment of the type.
 */
function kindsOf(file: string, type: string): Kinds {
  const text = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true)
  const declaration = source.statements.find(
    (node) => (ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.name.text === type,
  )
  if (declaration === undefined) throw new Error(`src/${file} has no type ${type}`)
  const listed = listedIn(text.slice(declaration.pos, declaration.getStart()))
  const found = new Map<string, string>()
  for (const [, comment = '', names = ''] of declaration
    .getText()
    .matchAll(
      /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?(?:\|\s*\(?(?:Outcome & )?\{\s*)?readonly kind:((?:\s*\|?\s*'\w+')+)/g,
    )) {
    for (const [, name = ''] of names.matchAll(/'(\w+)'/g)) found.set(name, listed.get(name) ?? paragraphOf(comment))
  }
  return found
}

/** The entries of a list in a comment: "- `kind`: meaning". */
function listedIn(comment: string): Kinds {
  const entries = flat(comment.replaceAll(/\n\s*\*\s*\n/g, ' */ ')).matchAll(
    / - ((?:`\w+`(?:, )?)+): (.*?)(?= - `| \*\/|$)/g,
  )
  return new Map(
    [...entries].flatMap(([, names = '', meaning = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, meaning] as const),
    ),
  )
}

/** The first paragraph of a comment, without the dot at its end. */
function paragraphOf(comment: string): string {
  const [paragraph = ''] = comment.split(/\n\s*\*\s*\n/, 1)
  return flat(paragraph)
    .trim()
    .replace(/\.$/, '')
    .replaceAll(/\{@link (\w+)\}/g, '$1')
}

function flat(comment: string): string {
  return comment.replaceAll(/\n\s*\*(?!\/) ?/g, ' ').replaceAll(/\s+/g, ' ')
}
