import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Replaces the table of the running Node in docs/reference/benchmarks.md. The rest of the page is written by hand, and the table of
 * another Node stays.
 */
export function writeTable(file: string, head: readonly string[], lines: readonly (readonly string[])[]): void {
  const title = `## Node ${process.versions.node.split('.')[0]}`
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const table = [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n')
  const sections = readFileSync(file, 'utf8')
    .trimEnd()
    .split(/\n(?=## )/)
  const at = sections.findIndex((section) => section.split('\n')[0] === title)
  if (at < 0) throw new Error(`${file} has no section ${title}`)
  sections[at] = `${title}\n\n${table}${at === sections.length - 1 ? '' : '\n'}`
  writeFileSync(file, `${sections.join('\n')}\n`)
}
