// npm run docs:stores -- [--check] FOLDER
//
// Writes docs/reference/stores.md from the results of `npm run test:real -- --results FOLDER`. With --check: fails if a case has failed, or if
// the page says something else.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readResults, renderStoresDoc, saysTheSame } from './stores-doc.js'

const page = new URL('../docs/reference/stores.md', import.meta.url)
const { values, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true })
const [folder, ...others] = positionals
if (folder === undefined || others.length > 0) {
  console.error('usage: npm run docs:stores -- [--check] FOLDER')
  process.exitCode = 2
} else {
  const results = readResults(folder)
  const text = renderStoresDoc(results)
  if (values.check !== true) writeFileSync(page, text)
  else if (!saysTheSame(readFileSync(page, 'utf8'), text)) {
    console.error(`docs/reference/stores.md is not what the runs say: npm run docs:stores -- ${folder}`)
    process.exitCode = 1
  } else console.log(`docs/reference/stores.md is what ${results.length} runs say`)
}
