// After TypeDoc: every link, picture and anchor of the site leads somewhere, no page names a file of
// the machine that built it, every module page begins with a sentence, and the search finds the
// guide of a task before members.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflateSync } from 'node:zlib'
import lunr from 'lunr'

const site = fileURLToPath(new URL('../site/', import.meta.url))
const names = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'))
const pages = new Map(names.map((name) => [name, read(name)]))
const problems = []
let links = 0

function read(name) {
  const html = readFileSync(join(site, name), 'utf8')
  return { html, ids: new Set([...html.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => unescaped(id))) }
}

function unescaped(text) {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&')
}

for (const [name, { html }] of pages) {
  const targets = new Set([...html.matchAll(/\b(?:href|src)="([^"]*)"/g)].map(([, target]) => unescaped(target)))
  for (const target of targets) {
    if (/^[a-z]+:/i.test(target)) continue
    links += 1
    const [path, anchor] = target.split('#').map(decodeURIComponent)
    const file = path === '' ? name : normalize(join(dirname(name), path.replace(/\?.*$/, '')))
    if (!existsSync(join(site, file))) problems.push(`${name} links to ${target}, which does not exist`)
    else if (anchor && pages.get(file)?.ids.has(anchor) === false) {
      problems.push(`${name} links to ${target}: ${file} has no such anchor`)
    }
  }
  if (html.includes('file://')) problems.push(`${name} names a file of this machine`)
  if (!html.includes('<meta name="viewport"')) problems.push(`${name} is not laid out for telephones`)
}

for (const name of names.filter((name) => name.startsWith('modules/') && name.split('.').length === 2)) {
  const { html } = pages.get(name)
  if (!/<section class="tsd-panel tsd-comment">\s*<div class="tsd-comment tsd-typography">\s*<p>\w/.test(html)) {
    problems.push(`${name} does not begin with a sentence`)
  }
}

/** What readers search for, and the page that is among the first three answers. */
const SEARCHES = {
  sticky: 'Allocate addresses',
  cooldown: 'Allocate addresses',
  'allocate address': 'Allocate addresses',
  persist: 'Addresses that stay with a virtual machine',
  'dry run': 'Run the in-cluster controller',
  webhook: 'Definitions and webhooks',
  sqlite: 'Keep a pool in SQLite',
  metrics: 'Maps and metrics',
  demo: 'Output of the demo',
  'floating ip': 'Floating IPs',
  cidr: 'Addresses, prefixes, ranges, sets',
  memoryStore: 'memoryStore',
  inCluster: 'inCluster',
}

const [, packed] = /"(.*)"/.exec(readFileSync(join(site, 'assets/search.js'), 'utf8'))
const search = JSON.parse(inflateSync(Buffer.from(packed, 'base64')).toString())
const searchIndex = lunr.Index.load(search.index)

/** The answers to a query, as the script of TypeDoc's pages orders them. */
function found(query) {
  const words = query.split(' ').map((word) => `*${word}*`)
  const results = searchIndex.search(words.join(' ')).map(({ ref, score }) => {
    const { name } = search.rows[Number(ref)]
    const isStart = name.toLowerCase().startsWith(query.toLowerCase())
    return { name, score: isStart ? (score * 10) / (1 + Math.abs(name.length - query.length)) : score }
  })
  return results.sort((a, b) => b.score - a.score).map(({ name }) => name)
}

for (const [query, name] of Object.entries(SEARCHES)) {
  const first = found(query).slice(0, 3)
  if (!first.includes(name)) problems.push(`a search for "${query}" finds ${first.join(', ')}, and not ${name}`)
}

for (const problem of problems) console.error(problem)
if (problems.length > 0 || links === 0) process.exit(1)
console.log(`site: ${names.length} pages, ${links} links, ${Object.keys(SEARCHES).length} searches`)
