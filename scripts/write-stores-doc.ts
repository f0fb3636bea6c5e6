// npm run docs:stores -- [--check] FOLDER
//
// Writes docs/reference/stores.md from the results of `npm run test:real -- --results FOLDER`. With
// --check: fails if a case has failed, or if the page says something else.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { problemsIn, readResults, renderStoresDoc } from './stores-doc.js'

const page = new URL('../docs/reference/stores.md', import.meta.url)
const { values, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true })
const [folder, ...others] = positionals
if (folder === undefined || others.length > 0) {
  console.error('usage: npm run docs:stores -- [--check] FOLDER')
  process.exitCode = 2
} else {
  const results = readResults(folder)
  if (values.check !== true) writeFileSync(page, renderStoresDoc(results))
  else {
    const problems = problemsIn(results, readFileSync(page, 'utf8'))
    for (const problem of problems) console.error(problem)
    if (problems.length > 0) process.exitCode = 1
    else console.log(`docs/reference/stores.md is what ${results.length} runs say`)
  }
}
