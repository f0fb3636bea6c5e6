// Writes the pictures of docs/images that are made from data. `--check` fails if one is not up to
// date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { renderImages } from './images.js'

const folder = new URL('../docs/images/', import.meta.url)
for (const [name, text] of await renderImages()) {
  const file = new URL(name, folder)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`docs/images/${name} is out of date: npm run docs:images`)
    process.exitCode = 1
  }
}
