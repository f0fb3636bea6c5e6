import { readFileSync, writeFileSync } from 'node:fs'

/** What a run found, ready to be shown. */
export interface Findings {
  /** Before the table. */
  readonly about: string | undefined
  readonly head: readonly string[]
  readonly lines: readonly (readonly string[])[]
  /** Sentences below the table. */
  readonly notes: readonly string[]
}

/**
 * Replaces what stands under a heading of docs/reference/benchmarks.md. The rest of the page is written by hand, and the tables of other
 * runs stay.
 */
export function writeSection(file: string, heading: string, { about, head, lines, notes }: Findings): void {
  const title = `## ${heading}`
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const parts = [
    title,
    ...(about === undefined ? [] : [about]),
    [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n'),
  ]
  if (notes.length > 0) parts.push('Below their goals in this run:', notes.map((note) => `- ${note}`).join('\n'))
  const sections = readFileSync(file, 'utf8')
    .trimEnd()
    .split(/\n(?=## )/)
  const at = sections.findIndex((section) => section.split('\n')[0] === title)
  if (at < 0) throw new Error(`${file} has no section ${title}`)
  sections[at] = `${parts.join('\n\n')}${at === sections.length - 1 ? '' : '\n'}`
  writeFileSync(file, `${sections.join('\n')}\n`)
}

/** `Node 20`: what was run on. */
export function nodeName(): string {
  return `Node ${process.versions.node.split('.')[0]}`
}
