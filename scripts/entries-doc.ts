import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What a program imports. */
export interface Entry {
  /** `ipam-kit/cidr`. */
  readonly name: string
  /** The comment at the top of its `index.ts`, as one paragraph. */
  readonly text: string
}

/** The entries of package.json, in its order. */
export function entries(): readonly Entry[] {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  return Object.keys(exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) => entry(`ipam-kit${subpath.slice(1)}`, `src${subpath.slice(1)}/index.ts`))
}

function entry(name: string, file: string): Entry {
  const source = existsSync(root + file) ? readFileSync(root + file, 'utf8') : ''
  const [, comment = '', module] = /^\/\*\*\n([\s\S]*?) \* @module (\S+)\n \*\/\n/.exec(source) ?? []
  const text = comment
    .replaceAll(/^ \* ?/gm, '')
    .trim()
    .replaceAll(/\s+/g, ' ')
  if (module !== name || !/^[A-Z].*\.$/.test(text)) {
    throw new Error(`${file} does not begin with a comment of sentences that ends with @module ${name}`)
  }
  return { name, text }
}

/** The first sentence. */
export function summaryOf({ text }: Entry): string {
  return /^.*?\.(?= [A-Z`]|$)/.exec(text)?.[0] ?? text
}

const BEGIN = '<!-- entries: npm run docs:entries -->\n'
const END = '<!-- /entries -->'

/** A page with its table of entries made anew. */
export function withEntries(page: string): string {
  const [start, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (start < 0 || end < start) throw new Error(`no ${BEGIN.trim()} and ${END}`)
  const rows = entries().map((each) => `| \`${each.name}\` | ${summaryOf(each)} |\n`)
  return `${page.slice(0, start + BEGIN.length)}\n| entry | contents |\n|---|---|\n${rows.join('')}\n${page.slice(end)}`
}

/**
 * The package for programs that read: llms.txt. Guides and reference by the titles and the first
 * sentences of their pages, entries by their comments.
 */
export function renderLlms(): string {
  const { description } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const index = readFileSync(`${root}docs/README.md`, 'utf8')
  const rows = [...index.matchAll(/^\| (.+) \| (.+) \|$/gm)].map(([, left = '', right = '']) => {
    const [link, about] = left.startsWith('[') ? [left, right] : [right, left]
    return { link, about }
  })
  const pages = rows.flatMap(({ link, about }) => {
    const [, title, path] = /^\[(.+)\]\((.+)\)$/.exec(link) ?? []
    return path === undefined ? [] : [{ path, line: `- [${title}](docs/${path}): ${about}` }]
  })
  const list = (folder: string) => pages.filter(({ path }) => path.startsWith(folder)).map(({ line }) => line)
  return [
    '# ipam-kit',
    `> ${description}`,
    'Install it with `npm install ipam-kit`. It is ES modules; `require()` loads it too. Paths below are relative to the root of the package. README.md has three programs that run as they stand; src/ and docs/examples/ are part of the package.',
    '## Guides',
    list('guides/').join('\n'),
    '## Reference',
    list('reference/').join('\n'),
    '## Entries',
    entries()
      .map(({ name, text }) => `- \`${name}\`: ${text}`)
      .join('\n'),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n')
}
