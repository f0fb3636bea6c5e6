import { assertList, assertStrings } from '../errors/checks.js'

/**
 * Rows as aligned columns, two blanks between them, without blanks at line ends. Cells are printed
 * as they are, on one line: a line break in a cell becomes a blank.
 *
 * @example
 * table(['NAME', 'PHASE'], [['web-0', 'Bound']]) // 'NAME   PHASE\nweb-0  Bound'
 */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  assertStrings('table', 'header', header)
  assertList('table', 'rows', rows)
  for (const row of rows) assertStrings('table', 'rows[]', row)

  const lines = [header, ...rows].map((row) => row.map((cell) => cell.replace(/[\r\n]+/g, ' ')))
  const widths = header.map((_, column) => lines.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0))
  const padded = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0)
  return lines.map((row) => row.map(padded).join('  ').trimEnd()).join('\n')
}
