import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { entries, renderLlms, summaryOf, withEntries } from '../../scripts/entries-doc.js'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

test('README.md has the table of entries that npm run docs:entries writes', () => {
  expect(read('README.md')).toBe(withEntries(read('README.md')))
})

test('llms.txt is what npm run docs:entries writes', () => {
  expect(read('llms.txt')).toBe(renderLlms())
})

test('every entry begins with a comment of whole sentences', () => {
  for (const entry of entries()) {
    expect(summaryOf(entry), entry.name).toMatch(/^[A-Z].*\.$/)
    expect(entry.text.startsWith(summaryOf(entry)), entry.name).toBe(true)
  }
})

test('the summary ends at the end of a sentence, not at a full stop inside of a name', () => {
  const summary = (text: string) => summaryOf({ name: 'x', text })
  expect(summary('The kinds of `ipam-kit.dev/v1alpha1`: pools. They are new.')).toBe(
    'The kinds of `ipam-kit.dev/v1alpha1`: pools.',
  )
  expect(summary('One sentence.')).toBe('One sentence.')
})
