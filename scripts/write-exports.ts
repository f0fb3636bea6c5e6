// npm run exports:write: accepts the exports of every entry as they are now.
import { writeFileSync } from 'node:fs'
import { entries, type Surface, surfaceFile, surfaceOf } from '../test/architecture/entries.js'

const surface: Surface = {}
for (const entry of entries()) surface[entry.specifier] = await surfaceOf(entry)
writeFileSync(surfaceFile, `${JSON.stringify(surface, null, 2)}\n`)
