import type { ExportKind, PublicApi, PublicEntry } from './public-api.js'

const KINDS: readonly ExportKind[] = ['noun', 'class', 'function', 'model', 'constant', 'type', 'namespace']

/** docs/reference/exports.md: what every entry exports. */
export function renderExportsDoc(api: PublicApi): string {
  const things = new Set(
    api.entries.flatMap((entry) => entry.exports.map(({ name, declared }) => `${name} ${declared}`)),
  )
  const all = api.entries.reduce((sum, entry) => sum + entry.exports.length, 0)
  const rows = api.entries.map(({ specifier, exports }) => [
    `[\`${specifier}\`](#${anchorOf(specifier)})`,
    exports.length,
    ...KINDS.map((kind) => exports.filter((one) => one.kind === kind).length || ''),
  ])
  const sums = KINDS.map(
    (kind) => api.entries.flatMap((entry) => entry.exports).filter((one) => one.kind === kind).length,
  )
  return [
    '# Exports',
    '',
    'What each entry of the package exports, values and types together, with the first sentence of its doc comment.',
    'Made from the sources by `npm run docs:exports`.',
    '',
    'A *noun* is a set of functions and the type of their values under one name (`Prefix.parse`, `Prefix`). A *model* is a kind of',
    'Kubernetes object: its schema, its functions and its type. A *namespace* is a whole entry under one name.',
    '',
    `**${things.size} exports.** The rows below add up to ${all}, because some entries pass on what another one exports.`,
    '',
    `| entry | exports | ${KINDS.join(' | ')} |`,
    `|---|${'---:|'.repeat(KINDS.length + 1)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    `| all rows | ${[all, ...sums].join(' | ')} |`,
    '',
    ...api.entries.flatMap(sectionOf),
  ].join('\n')
}

function sectionOf({ specifier, exports }: PublicEntry): string[] {
  return [
    `## ${specifier}`,
    '',
    '| name | kind | what it is |',
    '|---|---|---|',
    ...exports.map(({ name, kind, says }) => `| \`${name}\` | ${kind} | ${says.replaceAll('|', '\\|')} |`),
    '',
  ]
}

/** The anchor that a heading gets on a page. */
function anchorOf(heading: string): string {
  return heading.replaceAll('/', '')
}
