import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderErrorsDoc } from '../../scripts/errors-doc.js'
import { codes } from '../../src/errors/registry.js'

test('docs/reference/errors.md is what the registry says', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  expect(page).toBe(renderErrorsDoc())
})

test('every code has a meaning and says what it carries', () => {
  for (const code of codes) {
    const row = renderErrorsDoc()
      .split('\n')
      .find((line) => line.startsWith(`| \`${code}\` |`))
    const cells = row?.split(' | ') ?? []
    expect(cells[1], code).toMatch(/\w.*\.$/)
    expect(cells[2], code).toMatch(/`\w+`/)
  }
})
