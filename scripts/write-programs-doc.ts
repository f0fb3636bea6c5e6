// Writes docs/reference/programs.md from the flags, metrics and reasons of the code. `--check`
// fails if the page is not up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { renderProgramsDoc } from './programs-doc.js'

const page = new URL('../docs/reference/programs.md', import.meta.url)
const text = await renderProgramsDoc()
if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    console.error('docs/reference/programs.md is out of date: npm run docs:programs')
    process.exitCode = 1
  }
} else {
  writeFileSync(page, text)
}
