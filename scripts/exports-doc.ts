import type { ExportKind, PublicApi, PublicEntry, PublicExport } from './public-api.js'

const KINDS: readonly ExportKind[] = ['noun', 'class', 'function', 'model', 'constant', 'type', 'namespace', 'member']

/** docs/reference/exports.md: what every entry exports. */
export function renderExportsDoc(api: PublicApi): string {
  const homes = homesOf(api.entries)
  const sections = api.entries.map((entry) => {
    const isOwn = (one: PublicExport) => one.kind !== 'type' || homes.get(thingOf(one)) === entry.specifier
    return { ...entry, own: entry.exports.filter(isOwn), others: entry.exports.filter((one) => !isOwn(one)) }
  })
  const counted = api.entries.flatMap((entry) => entry.exports).filter(({ kind }) => kind !== 'member')
  const things = new Set(counted.map(thingOf))
  const values = new Set(counted.filter(({ kind }) => kind !== 'type').map(thingOf))
  const rows = sections.map(({ specifier, own, others }) => [
    `[\`${specifier}\`](#${anchorOf(specifier)})`,
    own.length,
    ...KINDS.map((kind) => own.filter((one) => one.kind === kind).length || ''),
    others.length || '',
  ])
  const sums = KINDS.map((kind) => sections.flatMap(({ own }) => own).filter((one) => one.kind === kind).length)
  return [
    '# Exports',
    '',
    'What each entry of the package exports, values and types together, with the first sentence of its doc comment.',
    'Made from the sources by `npm run docs:exports`.',
    '',
    'A *noun* is a set of functions and the type of their values under one name (`Prefix.parse`, `Prefix`). A *model* is a kind of',
    'Kubernetes object: its schema, its functions and its type. A *namespace* is a whole entry under one name. A *member* belongs to a',
    'noun that another entry exports, and is not counted again.',
    '',
    'An entry exports every type that its functions and classes mention. A type is listed at the entry that it belongs to; other',
    'entries that export it name it under their table. The type of a noun has a second name, such as `PrefixValue` for `Prefix`:',
    'declaration files use it.',
    '',
    `**${things.size} exports: ${values.size} values and ${things.size - values.size} types.**`,
    '',
    `| entry | exports | ${KINDS.join(' | ')} | types of other entries |`,
    `|---|${'---:|'.repeat(KINDS.length + 2)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    `| all rows | ${[sums.reduce((a, b) => a + b), ...sums, sections.reduce((sum, { others }) => sum + others.length, 0)].join(' | ')} |`,
    '',
    ...sections.flatMap(sectionOf),
  ].join('\n')
}

function thingOf({ name, declared }: PublicExport): string {
  return `${name} ${declared}`
}

/** The entry that a type belongs to: the innermost one around its declaration, or else the last. */
function homesOf(entries: readonly PublicEntry[]): Map<string, string> {
  const homes = new Map<string, string>()
  const depthIn = (specifier: string, declared: string): number => {
    const folder = specifier.replace('ipam-kit', 'src')
    return declared.startsWith(`${folder}/`) ? folder.length : 0
  }
  // the root entry has the types of others
  for (const { specifier, exports } of entries.toReversed()) {
    for (const one of exports) {
      const before = homes.get(thingOf(one))
      if (before === undefined || depthIn(specifier, one.declared) > depthIn(before, one.declared)) {
        homes.set(thingOf(one), specifier)
      }
    }
  }
  return homes
}

interface Section {
  readonly specifier: string
  readonly own: readonly PublicExport[]
  readonly others: readonly PublicExport[]
}

function sectionOf({ specifier, own, others }: Section): string[] {
  const names = others.map(({ name }) => `\`${name}\``)
  return [
    `## ${specifier}`,
    '',
    '| name | kind | what it is |',
    '|---|---|---|',
    ...own.map(({ name, kind, says }) => `| \`${name}\` | ${kind} | ${says.replaceAll('|', '\\|')} |`),
    '',
    ...(names.length === 0 ? [] : [`Types of other entries: ${names.join(', ')}.`, '']),
  ]
}

/** The anchor that a heading gets on a page. */
function anchorOf(heading: string): string {
  return heading.replaceAll('/', '')
}
