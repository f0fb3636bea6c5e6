import { defineConfig } from 'tsup'

// One file in, one file out: consumers' bundlers then see the same modules we see, and
// `export * as Prefix` can be shaken down to the functions in use. Declarations come from
// `tsc -p tsconfig.build.json`.
export default defineConfig({
  entry: ['src/**/*.ts'],
  outDir: 'dist',
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  bundle: false,
  splitting: false,
  sourcemap: true,
  dts: false,
  clean: true,
  esbuildOptions(options) {
    // src/ is published too, so the maps need not carry a second copy of it.
    options.sourcesContent = false
  },
})
