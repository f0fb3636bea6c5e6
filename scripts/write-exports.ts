// npm run exports:write: accepts the exports of every entry as they are now, in the snapshot of the
// tests and in docs/reference/exports.md.
import { writeFileSync } from 'node:fs'
import { entries, type Surface, surfaceFile, surfaceOf } from '../test/architecture/entries.js'
import { renderExportsDoc } from './exports-doc.js'
import { namesOf, publicApi } from './public-api.js'

const api = publicApi()
const surface: Surface = {}
for (const entry of entries()) surface[entry.specifier] = await surfaceOf(entry, namesOf(api, entry.specifier))
writeFileSync(surfaceFile, `${JSON.stringify(surface, null, 2)}\n`)
writeFileSync(new URL('../docs/reference/exports.md', import.meta.url), renderExportsDoc(api))
