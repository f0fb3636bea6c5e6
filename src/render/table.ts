import { check } from '../errors/check.js'

/**
 * Rows as aligned columns, two blanks between them, without blanks at line ends. Cells are printed
 * as they are, on one line: a line break in a cell becomes a blank.
 *
 * @example
 * table(['NAME', 'PHASE'], [['web-0', 'Bound']]) // 'NAME   PHASE\nweb-0  Bound'
 */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  check('table', 'header', header, ['list', 'text'])
  check('table', 'rows', rows, 'list')
  for (const row of rows) check('table', 'rows[]', row, ['list', 'text'])

  const lines = [header, ...rows].map((row) => row.map((cell) => cell.replace(/[\r\n]+/g, ' ')))
  const widths = header.map((_, column) => lines.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0))
  const padded = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0)
  return lines.map((row) => row.map(padded).join('  ').trimEnd()).join('\n')
}
