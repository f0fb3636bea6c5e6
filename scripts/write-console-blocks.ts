// Makes the outputs of the demo in docs/reference/demo.md and the README anew: npm run docs:output
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderConsoleBlocks } from './console-blocks.js'

const root = new URL('../', import.meta.url)
for (const name of ['README.md', 'docs/reference/demo.md']) {
  const page = new URL(name, root)
  const before = readFileSync(page, 'utf8')
  const after = await renderConsoleBlocks(before, fileURLToPath(root))
  if (after !== before) writeFileSync(page, after)
}
