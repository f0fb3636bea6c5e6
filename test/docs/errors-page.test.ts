import { readFileSync } from 'node:fs'
import { registry } from 'ipam-kit/errors'
import { expect, test } from 'vitest'
import { renderErrorsDoc } from '../../scripts/errors-doc.js'

test('docs/reference/errors.md is what the registry says', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  expect(page).toBe(renderErrorsDoc())
})

test('every code has a meaning and says what it carries', () => {
  for (const code of Object.keys(registry)) {
    const row = renderErrorsDoc()
      .split('\n')
      .find((line) => line.startsWith(`| \`${code}\` |`))
    const cells = row?.split(' | ') ?? []
    expect(cells[1], code).toMatch(/\w.*\.$/)
    expect(cells[2], code).toMatch(/`\w+`/)
  }
})
