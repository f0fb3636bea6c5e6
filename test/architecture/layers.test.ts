import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { layers, withLayers } from '../../scripts/layers-doc.js'

test('the table of layers in CONTRIBUTING.md is that of layers.json: npm run docs:layers', () => {
  const page = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
  expect(withLayers(page)).toBe(page)
  expect(page).toContain(`\`${layers.at(-1)?.folder}\``)
})

test.each(layers.map((row, i) => ({ ...row, above: layers.slice(0, i) })))(
  '$folder imports rows above it only',
  ({ layer, may, above }) => {
    const known = above.map(({ folder }) => folder)
    expect(may === '*' ? [] : may.filter((name) => !known.includes(name))).toEqual([])
    expect(Math.max(...above.map((row) => row.layer), 0)).toBeLessThanOrEqual(layer)
  },
)
