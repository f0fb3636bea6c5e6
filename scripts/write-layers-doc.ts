// Writes the table of layers in CONTRIBUTING.md from layers.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { withLayers } from './layers-doc.js'

const page = new URL('../CONTRIBUTING.md', import.meta.url)
writeFileSync(page, withLayers(readFileSync(page, 'utf8')))
