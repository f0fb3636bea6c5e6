// Makes the outputs of the demo in the guides and the README anew: npm run docs:output
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderConsoleBlocks } from './console-blocks.js'

const root = new URL('../', import.meta.url)
const guides = readdirSync(new URL('docs/guides/', root)).map((name) => `docs/guides/${name}`)
for (const name of ['README.md', ...guides]) {
  const page = new URL(name, root)
  const before = readFileSync(page, 'utf8')
  const after = await renderConsoleBlocks(before, fileURLToPath(root))
  if (after !== before) writeFileSync(page, after)
}
