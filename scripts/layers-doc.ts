import { readFileSync } from 'node:fs'

export interface Layer {
  readonly layer: number
  readonly folder: string
  readonly what: string
  /** Folders of rows above; `*` for all of them. */
  readonly may: readonly string[] | '*'
  /** The files that other folders import; left out: any. */
  readonly doors?: readonly string[]
}

export const layers: readonly Layer[] = JSON.parse(readFileSync(new URL('../layers.json', import.meta.url), 'utf8'))

/** CONTRIBUTING.md with the table of layers.json. */
export function withLayers(page: string): string {
  const rows = layers.map(({ layer, folder, what, may }) => {
    const allowed = may === '*' ? 'all of the above' : may.join(', ') || 'nothing'
    return `| ${layer} \`${escaped(folder)}\` | ${what} | ${escaped(allowed)} |`
  })
  const table = ['| layer | what | may import |', '|---|---|---|', ...rows].join('\n')
  return page.replace(/^\| layer \| what \|[\s\S]*?(?=\n\n)/m, () => table)
}

/** A text in a cell of a table. */
function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}
