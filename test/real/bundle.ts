import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
const REAL = fileURLToPath(new URL('.', import.meta.url))

interface BundleOptions {
  /** As the guide builds the plugin: its processes start in less time, and its stacks cannot be read. */
  readonly isPlugin?: boolean
}

/**
 * A program of this repository as one file, which starts three times as fast. It lies where the
 * clients are found.
 */
export async function bundle(entry: string, name: string, { isPlugin = false }: BundleOptions = {}): Promise<string> {
  const folder = join(REAL, 'node_modules', '.programs')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `${name}-${process.pid}.${isPlugin ? 'cjs' : 'mjs'}`)
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: isPlugin ? 'cjs' : 'esm',
    target: 'node20',
    minify: isPlugin,
    logLevel: 'silent',
    // packages of the older module system load parts of Node by it
    banner: isPlugin ? {} : { js: REQUIRE },
    tsconfig: join(REAL, 'tsconfig.json'),
  })
  return outfile
}
