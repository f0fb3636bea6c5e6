import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { renderConsoleBlocks } from '../../scripts/console-blocks.js'
import { relativeLinks } from '../../scripts/markdown-links.js'
import { isDeep } from '../setup/depth.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(root + file, 'utf8')
const guides = readdirSync(`${root}docs/guides`).map((name) => `docs/guides/${name}`)
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'docs/README.md',
  ...guides,
  ...readdirSync(`${root}docs/adr`).map((name) => `docs/adr/${name}`),
  ...readdirSync(`${root}docs/reference`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/reference/${name}`),
]
const examples = readdirSync(`${root}docs/examples`, { encoding: 'utf8', recursive: true })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `docs/examples/${name}`)

const blocks = (file: string, language: string) =>
  [...read(file).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    (match) => match[1] as string,
  )

afterEach(() => vi.restoreAllMocks())

test('each decision record has a number of its own, which its title says', () => {
  const records = readdirSync(`${root}docs/adr`).sort()
  const numbers = records.map((name) => Number(name.slice(0, 4)))
  expect(numbers).toEqual(records.map((_, nth) => nth + 1))
  const titles = records.map((name) => Number(/^# (\d+)\. /.exec(read(`docs/adr/${name}`))?.[1]))
  expect(titles).toEqual(numbers)
})

let runs = 0

/** Runs a program anew, on modules of the library that may have been loaded before. */
async function printedBy(example: string): Promise<string[]> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import(/* @vite-ignore */ `${root}${example}?run=${++runs}`)
  const printed = log.mock.calls.map((call) => format(...call))
  log.mockRestore()
  return printed
}

const quickstarts = ['cidr', 'pool', 'claim'].map((name) => `docs/examples/quickstart-${name}.ts`)

describe('the README', () => {
  test('begins with the installation and three programs', () => {
    expect(blocks('README.md', 'ts')).toEqual(quickstarts.map(read))
    const [installation, first, prose] = ['npm install ipam-kit', '```ts', '## Requirements'].map((text) =>
      read('README.md').indexOf(text),
    )
    expect([installation, first, prose]).toEqual([installation, first, prose].toSorted((a, b) => Number(a) - Number(b)))
    expect(installation).toBeGreaterThan(0)
  })

  test.each(quickstarts)('shows what %s prints, behind each line', async (program) => {
    const comments = [...read(program).matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, printed]) => printed)
    expect(comments.length).toBeGreaterThan(0)
    expect(await printedBy(program)).toEqual(comments)
  })

  test('stands alone: a registry shows no file beside it', () => {
    expect(relativeLinks(read('README.md'))).toEqual([])
    expect(relativeLinks('![a](docs/a.svg) [b](b.md#c) [d](https://example.com) `[e](f.md)`')).toEqual([
      'docs/a.svg',
      'b.md',
    ])
  })

  test('names paths that exist', () => {
    const paths = [...read('README.md').matchAll(/`((?:docs\/|llms)[^`*]*)`/g)].map(([, path]) => path as string)
    expect(paths.length).toBeGreaterThan(3)
    for (const path of paths) expect(existsSync(root + path), path).toBe(true)
  })

  test('shows the plan that the example prints', async () => {
    expect(await printedBy('docs/examples/plan-one-claim.ts')).toEqual(
      blocks('README.md', 'text').map((text) => text.trimEnd()),
    )
  })

  test('names the two commands that work on a fresh machine', () => {
    expect(read('README.md')).toContain('npm ci && npm run demo')
    expect(read('README.md')).toContain('npm ci && npm test')
  })
})

describe('output of the demo', () => {
  test.each(['README.md', 'docs/reference/demo.md'])('%s shows what the demo really prints', async (page) => {
    const text = read(page)
    expect(text).toContain('$ npm run -s demo -- ')
    // a database takes seconds to start
    const isLeft = (parameters: string) => !isDeep && parameters.includes('pglite:')
    expect(await renderConsoleBlocks(text, root, isLeft)).toBe(text)
  })

  test('stands on these two pages alone', () => {
    const others = pages.filter((page) => !['README.md', 'docs/reference/demo.md'].includes(page))
    expect(others.filter((page) => blocks(page, 'console').length > 0)).toEqual([])
  })

  test('is folded under its command, and has a line in a guide that links to it', () => {
    const page = read('docs/reference/demo.md')
    const runs = [...page.matchAll(/^\$ (npm run -s demo -- .*)$/gm)].map(([, command]) => command)
    const folds = [...page.matchAll(/^<details><summary><code>(.*)<\/code><\/summary>\n\n```console\n\$ (.*)$/gm)]
    expect(folds.map(([, summary, command]) => [summary, command])).toEqual(runs.map((run) => [run, run]))
    const guided = guides.map(read).join('\n')
    for (const command of runs) expect(guided).toContain(`\`${command}\` ([output](../reference/demo.md#`)
  })
})

test.each([
  ['cidr', ['cidr']],
  ['allocators', ['allocators']],
  ['maps-and-metrics', ['maps-and-metrics']],
  ['consumer', ['consumer']],
  ['in-cluster', ['in-cluster-blocks']],
  ['node-ipam', ['node-ipam']],
  ['floating-ips', ['floating-ips']],
  ['whereabouts', ['whereabouts']],
  ['persistent-ips', ['persistent-ip-pods', 'persistent-ip-guest', 'persistent-ip-blocks']],
  ['network-view', ['network-view']],
  ['webhooks', ['webhook-answers']],
  ['write-a-provider', ['write-a-provider']],
  ['blocks', ['blocks/main', 'blocks/requests']],
  ['blocks-claims', ['blocks/claims']],
  ['service-addresses', ['service-addresses']],
])('docs/guides/%s.md shows what its examples print', async (name, shown) => {
  const printed: string[] = []
  for (const example of shown) {
    printed.push((await printedBy(`docs/examples/${example}.ts`)).join('\n'))
  }
  // what a program prints stands beside its steps, or all of it in one place
  const texts = blocks(`docs/guides/${name}.md`, 'text').map((text) => text.trimEnd())
  expect(texts.join('\n')).toBe(printed.join('\n'))
})

test('docs/README.md lists every guide and every reference', () => {
  const listed = [...read('docs/README.md').matchAll(/\[([^\]]+)\]\(((?:guides|reference)\/[^)]+)\)/g)]
  expect(listed.map(([, , path]) => `docs/${path}`).toSorted()).toEqual(
    pages.filter((page) => /^docs\/(?:guides|reference)\//.test(page)).toSorted(),
  )
})

describe.each(guides)('%s', (page) => {
  test('shows code that stands in an example', () => {
    const flat = (text: string) =>
      text
        .split('\n')
        .map((line) => line.trim())
        .join('\n')
        .trim()
    const sources = examples.map((file) => flat(read(file)))
    for (const block of blocks(page, 'ts'))
      expect(
        sources.some((source) => source.includes(flat(block))),
        block,
      ).toBe(true)
  })
})

describe.each(pages)('%s', (page) => {
  test('links to files that exist', () => {
    for (const target of relativeLinks(read(page))) {
      expect(existsSync(`${root}${dirname(page)}/${target}`), `${page} links to ${target}`).toBe(true)
    }
  })
})

test('deviations that replays of recordings name have a heading in docs/reference/deviations.md', () => {
  const page = read('docs/reference/deviations.md')
  const rules = readdirSync(`${root}test/real`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .flatMap(({ name }) => ['traces.ts', 'rules.ts'].map((file) => `test/real/${name}/${file}`))
    .filter((file) => existsSync(root + file))
    .map(read)
    .join('\n')
  const headings = [...rules.matchAll(/(?:heading: |ruleAt\(\s*|READY = )'([^']+)'/g)].map((match) => match[1]!)
  expect(headings.length).toBeGreaterThan(13)
  expect(headings.filter((heading) => !page.includes(`\n### ${heading}\n`))).toEqual([])
})
