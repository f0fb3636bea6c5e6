import { builtinModules } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

// A node compiles the bundle at each call of its runtime.
test('the plugin is one file of Node alone, with at most 646 kB', async () => {
  const { metafile } = await build({
    entryPoints: [`${root}docs/examples/cni-plugin/main.ts`],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minify: true,
    write: false,
    metafile: true,
    outfile: 'plugin.cjs',
    absWorkingDir: root,
    tsconfig: `${root}tsconfig.json`,
  })
  const [output, ...others] = Object.values(metafile.outputs)
  expect(others).toEqual([])
  expect(output?.bytes).toBeLessThan(646_000)
  const imports = output?.imports.map(({ path }) => path.replace(/^node:/, '')) ?? []
  expect(imports.filter((path) => !builtinModules.includes(path))).toEqual([])
  const packages = Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) => {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? []
    return name !== undefined && bytesInOutput > 0 ? [name] : []
  })
  expect([...new Set(packages)].sort()).toEqual(['yaml', 'zod'])
  // what only controllers need
  const folders = Object.keys(output?.inputs ?? {}).filter((path) => /\/(sweep|slices|planner|operator)\//.test(path))
  expect(folders.filter((path) => (output?.inputs[path]?.bytesInOutput ?? 0) > 0)).toEqual([])
})
