import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Depth } from '../report.js'
import { bundlePage } from './bundle.js'
import { dumpDom } from './chromium.js'
import type { Sizes, Wide } from './page/widths.js'
import { serve } from './server.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A telephone and a screen, in pixels. */
const WIDTHS = [360, 1400]
/** With `--short`, pages of single exports are looked at one in so many. */
const ONE_IN = 20

/**
 * Builds the site if a source of it is newer, and measures its pages.
 *
 * @returns how many pages there are
 */
export async function checkWidths(chromium: string, depth: Depth): Promise<string> {
  const folder = builtSite()
  const files = filesOf(folder)
  const pages = Object.keys(files).filter((path) => path.endsWith('.html'))
  const isOfExport = (path: string) => /^\/(?:functions|interfaces|classes|types|variables)\//.test(path)
  const some = pages.filter((path, nth) => depth === 'full' || !isOfExport(path) || nth % ONE_IN === 0)
  assert.ok(some.length > 100, `only ${some.length} pages`)
  const sizes: Sizes = { pages: some.map(encodeURI), widths: WIDTHS }
  const server = await serve(
    {
      ...files,
      '/sizes.json': JSON.stringify(sizes),
      '/widths.js': (await bundlePage('widths')).code,
      '/widths.html':
        '<!doctype html><html lang="en"><head><title>widths</title><link rel="icon" href="data:,"></head><body><pre></pre><script type="module" src="/widths.js"></script></body></html>',
    },
    SITE_POLICY,
  )
  try {
    const { html } = await dumpDom(chromium, `${server.url}/widths.html`, ['--virtual-time-budget=3600000'])
    const [, status, text = ''] = /<pre(?: data-status="([^"]*)")?>([^<]*)<\/pre>/.exec(html) ?? []
    assert.equal(status, 'done', 'the pages were not all measured')
    const wide = JSON.parse(decodeURIComponent(text)) as Wide[]
    const told = wide.map(({ page, width, needs, element }) => `${page} at ${width}: ${needs} for ${element}`)
    assert.ok(wide.length === 0, `${wide.length} pages are wider than their window\n${told.slice(0, 20).join('\n')}`)
    return `${some.length} pages, at ${WIDTHS.join(' and ')} pixels`
  } finally {
    await server.close()
  }
}

/** Pages and style sheets of this very server. */
const SITE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; frame-src 'self'; img-src 'self' data:"

function builtSite(): string {
  const folder = join(root, 'site')
  const index = join(folder, 'index.html')
  const sources = ['src', 'docs', 'README.md', 'typedoc.json', 'scripts/site-plugin.mjs'].map((name) =>
    join(root, name),
  )
  const built = existsSync(index) ? statSync(index).mtimeMs : 0
  if (sources.some((source) => newest(source) > built)) {
    execFileSync(process.execPath, [join(root, 'node_modules/typedoc/bin/typedoc')], { cwd: root, stdio: 'ignore' })
  }
  return folder
}

function newest(path: string): number {
  const { mtimeMs } = statSync(path)
  if (!statSync(path).isDirectory()) return mtimeMs
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return Math.max(...names.map((name) => statSync(join(path, name))).map((each) => (each.isFile() ? each.mtimeMs : 0)))
}

/** Pages without their scripts, style sheets and pictures, by the path of their URL. */
function filesOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:html|css|svg)$/.test(name),
  )
  return Object.fromEntries(
    names.map((name) => [
      encodeURI(`/${name.split(sep).join('/')}`),
      readFileSync(join(folder, name), 'utf8').replace(/<script\b[^>]*>[\s\S]*?<\/script>/g, ''),
    ]),
  )
}
