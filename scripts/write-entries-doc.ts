// Writes the table of entries in README.md, and llms.txt: npm run docs:entries
import { readFileSync, writeFileSync } from 'node:fs'
import { renderLlms, withEntries } from './entries-doc.js'

const readme = new URL('../README.md', import.meta.url)
writeFileSync(readme, withEntries(readFileSync(readme, 'utf8')))
writeFileSync(new URL('../llms.txt', import.meta.url), renderLlms())
