import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import * as cidr from 'ipam-kit/cidr'
import type { Depth, Part, Report } from '../report.js'
import { type Bundle, bundleCidr, bundlePage, CLASSIC, foreignIn, MODULE } from './bundle.js'
import { dumpDom, findChromium } from './chromium.js'
import { type Answer, answersOf, publicNames } from './page/answers.js'
import { scripts, signatures } from './page/calls.js'
import type { Findings } from './page/write.js'
import { type PageServer, serve } from './server.js'
import { checkWidths } from './site.js'

/**
 * `ipam-kit/cidr` bundled alone, in a browser, has to answer every call as the sources answer it in
 * Node.
 */
export const browser: Part = {
  name: 'browser',
  about: 'ipam-kit/cidr, bundled alone, answers in Chromium as in Node; no page of the site is wider than its window',
  place: 'first',
  async run(report, depth) {
    const module = await bundleCidr('esm')
    const classic = await bundleCidr('iife')
    await report.test('the bundle is ipam-kit/cidr alone, with nothing of Node', () => checkBundles(module, classic))
    const expected = answersOf(cidr)
    await report.test('everything public is called, and answers', () => checkCalls(expected))
    const server = await serve({
      [MODULE]: module.code,
      [CLASSIC]: classic.code,
      '/module.js': (await bundlePage('module')).code,
      '/classic.js': (await bundlePage('classic')).code,
      '/module.html': page('<script type="module" src="/module.js"></script>'),
      '/classic.html': page(`<script src="${CLASSIC}"></script><script type="module" src="/classic.js"></script>`),
    })
    try {
      await checkPages(report, server, expected, depth)
    } finally {
      await server.close()
    }
  },
}

/** Fewer calls than this mean that most of them have gone missing. */
const MIN_CALLS = 5000

function page(scripts: string): string {
  return `<!doctype html><html lang="en"><head><title>ipam-kit/cidr</title><link rel="icon" href="data:,"></head><body><pre></pre>${scripts}</body></html>`
}

function checkBundles(module: Bundle, classic: Bundle): string {
  assert.deepEqual([foreignIn(module.code), foreignIn(classic.code)], [[], []], 'not for a browser')
  const others = module.inputs.filter((file) => !/^src\/(cidr|bytes|errors)\//.test(file))
  assert.deepEqual(others, [], 'not of ipam-kit/cidr')
  return `${module.code.length} bytes, ${gzipSync(module.code).length} compressed`
}

/**
 * Each function is called, at least once with arguments that it takes, and no call ends in an error
 * that is not ours.
 */
function checkCalls(answers: readonly Answer[]): string {
  const exported = Object.entries(publicNames(cidr)).flatMap(([name, value]) =>
    typeof value === 'function' ? name : [],
  )
  const called = [...Object.keys(signatures), ...Object.keys(scripts)]
  const missing = exported.filter((name) => !called.includes(name))
  assert.deepEqual(missing, [], 'public, and missing in test/real/browser/page/calls.ts')
  const unknown = called.filter((name) => !exported.includes(name))
  assert.deepEqual(unknown, [], 'in test/real/browser/page/calls.ts, and not public')

  const succeeded = new Set(
    answers.flatMap(({ call, answer }) => (threwOf(answer) === undefined ? call.split('(')[0] : [])),
  )
  const hopeless = called.filter((name) => !succeeded.has(name))
  assert.deepEqual(hopeless, [], 'no call has succeeded')
  const odd = answers.filter(({ answer }) => !/^[A-Z_0-9]*$/.test(threwOf(answer) ?? ''))
  assert.deepEqual(odd.slice(0, 10), [], `${odd.length} calls ended in an error that is not ours`)
  assert.ok(answers.length >= MIN_CALLS, `only ${answers.length} calls`)
  return `${answers.length} calls`
}

async function checkPages(
  report: Report,
  server: PageServer,
  expected: readonly Answer[],
  depth: Depth,
): Promise<void> {
  let chromium: string | undefined
  await report.test('there is a Chromium', () => {
    chromium = findChromium()
    return chromium
  })
  if (chromium === undefined) return
  for (const [name, how] of [
    ['module', 'as a module'],
    ['classic', 'as a classic script'],
  ] as const) {
    await report.test(`it answers in the browser as in Node, ${how}`, async () => {
      const { html, console } = await dumpDom(chromium!, `${server.url}/${name}.html`)
      assert.deepEqual(console, [], 'the browser complains')
      assert.deepEqual(server.missing, [], 'the page asked for what is not there')
      const { userAgent, ofNode, answers } = findingsIn(html)
      assert.deepEqual(ofNode, [], 'this is no browser')
      checkSame(answers, expected)
      return `${answers.length} calls in ${/Chrom\w*\/\S+/.exec(userAgent)?.[0] ?? userAgent}`
    })
  }
  await report.test('no page of the site is wider than a telephone or a screen', () => checkWidths(chromium!, depth))
}

/** What the page has written into its document. */
function findingsIn(html: string): Findings {
  const [, status, json] = /<pre(?: data-status="([^"]*)")?>([^<]*)<\/pre>/.exec(html) ?? []
  assert.equal(status, 'done', 'the script of the page did not get to its end')
  return JSON.parse(json!)
}

function checkSame(found: readonly Answer[], expected: readonly Answer[]): void {
  const differing = expected.flatMap((each, index) => {
    const [inNode, inBrowser] = [JSON.stringify(each), JSON.stringify(found[index])]
    return inNode === inBrowser ? [] : [`in Node     ${inNode}\nin Chromium ${inBrowser}`]
  })
  assert.ok(differing.length === 0, `${differing.length} answers differ\n${differing.slice(0, 5).join('\n')}`)
  assert.equal(found.length, expected.length, 'answers')
}

function threwOf(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null && 'threw' in answer ? String(answer.threw) : undefined
}
