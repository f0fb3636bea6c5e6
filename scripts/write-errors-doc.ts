// Writes docs/reference/errors.md from the registry of error codes. `--check` fails if the page is
// not up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { renderErrorsDoc } from './errors-doc.js'

const page = new URL('../docs/reference/errors.md', import.meta.url)
const text = renderErrorsDoc()
if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    console.error('docs/reference/errors.md is out of date: npm run docs:errors')
    process.exitCode = 1
  }
} else {
  writeFileSync(page, text)
}
