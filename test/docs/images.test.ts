import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../../docs/images/', import.meta.url))

describe.each(readdirSync(folder))('docs/images/%s', (name) => {
  const text = readFileSync(folder + name, 'utf8')
  const [, rules = ''] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? []
  const picture = text.replace(rules, '')

  test('has a title and a description', () => {
    expect(text).toMatch(/<title id="t">.+<\/title>/)
    expect(text).toMatch(/<desc id="d">.+<\/desc>/)
  })

  test('has another colour for each of its colours where the page is dark', () => {
    expect(rules).toContain('@media (prefers-color-scheme: dark)')
    const colours = new Set([...picture.matchAll(/\b((?:fill|stroke)="#[0-9a-f]{6}")/g)].map(([, colour]) => colour))
    expect(colours.size).toBeGreaterThan(4)
    for (const colour of colours) expect(rules).toContain(`[${colour}]`)
  })
})
