import { readFileSync } from 'node:fs'
import { defineConfig } from 'tsup'

// What a runtime loads: one file for each entry, and the files that entries share, so that a class
// is one class in all entries. Bundlers take the modules beside them, which they can shake down to
// the functions in use: `tsc -p tsconfig.build.json` writes those, and the declarations.
const { exports: exportMap } = JSON.parse(readFileSync('package.json', 'utf8'))
const names = Object.keys(exportMap).filter((subpath) => !subpath.endsWith('.json'))

export default defineConfig({
  entry: Object.fromEntries(
    names.map((subpath) => [`bundle/${subpath.slice(2) || 'index'}`, `src/${subpath.slice(2)}/index.ts`]),
  ),
  outDir: 'dist',
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  bundle: true,
  splitting: true,
  sourcemap: true,
  dts: false,
  clean: true,
  esbuildOptions(options) {
    options.chunkNames = 'bundle/shared/[hash]'
    // src/ is published too, so the maps need not carry a second copy of it.
    options.sourcesContent = false
  },
})
