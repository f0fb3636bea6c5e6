import { table } from 'ipam-kit/render'

/** How many rows of each table are printed at most. */
export type RowLimit = number

/** The limit of the long form. */
export const LONG: RowLimit = 50

/** How much of a scenario is printed. */
export interface Detail {
  readonly limit: RowLimit
  /** Prints maps, events and further tables. */
  readonly isVerbose: boolean
}

/**
 * One line for a terminal: what others wrote into an object can neither move its cursor nor forge a
 * line.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped)
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`
}

export function cell(value: string | number | null): string {
  return value === null ? '-' : printable(String(value))
}

/** A table with the first rows, and a word about the rest. */
export function limited(header: readonly string[], rows: readonly (readonly string[])[], limit: RowLimit): string {
  return [table(header, rows.slice(0, limit)), tail(rows.length, limit)].filter((part) => part !== '').join('\n')
}

export function lines(all: readonly string[], limit: RowLimit): string {
  return [...all.slice(0, limit).map(printable), tail(all.length, limit)].filter((line) => line !== '').join('\n')
}

export function tail(count: number, limit: RowLimit): string {
  return count > limit ? `... and ${count - limit} more: --all shows them` : ''
}

export function section(title: string, body: string): string {
  return `${title}\n${body.replace(/^(?=.)/gm, '  ')}`
}

export function joinSections(sections: readonly string[], separator = '\n\n'): string {
  return sections.filter((text) => text !== '').join(separator)
}
