import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { renderImages } from '../../scripts/images.js'

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))
const pages = readdirSync(docs, { encoding: 'utf8', recursive: true })
  .filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(docs + name, 'utf8'))
const folder = fileURLToPath(new URL('../../docs/images/', import.meta.url))

test('pictures that are made from data are what the code draws (npm run docs:images)', async () => {
  const drawn = await renderImages()
  expect(drawn.size).toBeGreaterThan(3)
  for (const [name, text] of drawn) expect(readFileSync(folder + name, 'utf8'), name).toBe(text)
})

test.each(readdirSync(folder))('docs/images/%s stands on a page', (name) => {
  expect(pages.filter((page) => page.includes(`images/${name})`)).length).toBeGreaterThan(0)
})

describe.each(readdirSync(folder))('docs/images/%s', (name) => {
  const text = readFileSync(folder + name, 'utf8')
  const [, rules = ''] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? []
  const picture = text.replace(rules, '')

  test('has a title and a description', () => {
    expect(text).toMatch(/<title id="t">.+<\/title>/)
    expect(text).toMatch(/<desc id="d">.+<\/desc>/)
  })

  test('has another colour for each of its colours where the page is dark', () => {
    expect(rules).toMatch(/@media \(prefers-color-scheme: ?dark\)/)
    if (text.includes('class="ipam-map"')) {
      // a map has its colours by class
      const classes = new Set([...picture.matchAll(/class="([\w-]+)" [^>]*(?:fill|stroke)="#/g)].map(([, one]) => one))
      expect(classes.size).toBeGreaterThan(4)
      for (const one of classes) expect(rules).toMatch(new RegExp(`\\.${one}[{ ,]`))
      return
    }
    const colours = new Set([...picture.matchAll(/\b((?:fill|stroke)="#[0-9a-f]{6}")/g)].map(([, colour]) => colour))
    expect(colours.size).toBeGreaterThan(4)
    for (const colour of colours) expect(rules).toContain(`[${colour}]`)
  })
})
