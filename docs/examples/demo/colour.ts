// Colours of the text for people, on a terminal alone. A finished text is coloured: the widths of its
// columns do not count the characters of a colour.
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

const PHASES: { readonly [phase: string]: Style } = { Bound: 'green', Pending: 'yellow', Error: 'red' }

/** A row of a map: an address, and one character for each part of the range. */
const MAP_ROW = /^( *[0-9a-f.:]+(?:\/\d+)? +)([-#.:+*%! ]+)$/gm

/** Colours phases, failed checks, and the characters in use of a map. */
export function colour(text: string): string {
  return text
    .replace(MAP_ROW, (_, start: string, cells: string) => start + cells.replace(/[#:+*%]+|!+/g, colourCells))
    .replace(/\b(?:Bound|Pending|Error)\b/g, (phase) => paint(PHASES[phase] as Style, phase))
    .replace(/^( *)(FAILED.*)$/gm, (_, start: string, failed: string) => start + paint('red', failed))
}

/**
 * Whether a stream shows colours.
 *
 * @param environment `NO_COLOR` of any value but the empty one turns them off
 */
export function takesColour(
  { isTTY = false }: { readonly isTTY?: boolean },
  { NO_COLOR = '' }: { readonly NO_COLOR?: string | undefined },
): boolean {
  return isTTY && NO_COLOR === ''
}

function colourCells(cells: string): string {
  return paint(cells.startsWith('!') ? 'red' : 'cyan', cells)
}

/** Later versions of Node look at standard output themselves, unless they are told not to. */
function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false })
}
