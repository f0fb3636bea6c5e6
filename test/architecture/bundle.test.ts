import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { entries } from './entries.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The files and packages that end up in a consumer's bundle: `src/cidr/nouns/address-core.ts`,
 * `zod`.
 */
async function bundled(code: string): Promise<string[]> {
  const result = await build({
    stdin: { contents: code, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    tsconfig: 'tsconfig.json',
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    treeShaking: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const [output] = Object.values(result.metafile.outputs)
  const kept = Object.entries(output?.inputs ?? {}).filter(
    ([path, part]) => part.bytesInOutput > 0 && path !== '<stdin>',
  )
  return [...new Set(kept.map(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path))].sort()
}

const ZOD_FREE = [
  'ipam-kit/errors',
  'ipam-kit/cidr',
  'ipam-kit/cidr/address',
  'ipam-kit/cidr/prefix',
  'ipam-kit/cidr/range-set',
  'ipam-kit/allocator',
  'ipam-kit/claim',
  'ipam-kit/plan',
  'ipam-kit/node',
  'ipam-kit/store',
]
const zodFree = entries().filter((entry) => ZOD_FREE.includes(entry.specifier))

describe('bundles', () => {
  test.each(zodFree)('$specifier carries no package', async (entry) => {
    const files = await bundled(`export * from '${entry.specifier}'`)
    expect(files.filter((file) => !file.startsWith('src/'))).toEqual([])
  })

  test('ipam-kit/cidr is cidr, bytes and errors, nothing more', async () => {
    const files = await bundled("export * from 'ipam-kit/cidr'")
    expect(files.filter((file) => !/^src\/(cidr|bytes|errors)\//.test(file))).toEqual([])
    expect(files.filter((file) => file.startsWith('src/cidr/forms/'))).toEqual([])
    expect(files.length).toBeGreaterThan(0)
  })

  test('ipam-kit/cidr/forms carries ip-address and no other package, and the hosts of URLs do without it', async () => {
    const files = await bundled("export * from 'ipam-kit/cidr/forms'")
    expect(files.filter((file) => !/^src\/(cidr|bytes|errors)\//.test(file))).toEqual(['ip-address'])
    const hosts = await bundled("import { UrlHost } from 'ipam-kit/cidr/forms'\nexport const parse = UrlHost.parse")
    expect(hosts).toContain('src/cidr/forms/url-host.ts')
    expect(hosts).not.toContain('ip-address')
  })

  test('an import of any entry that is not used leaves nothing behind', async () => {
    const imports = entries().flatMap(({ specifier }, nth) => [
      `import '${specifier}'`,
      `import * as all${nth} from '${specifier}'`,
    ])
    expect(await bundled([...imports, 'export const used = 1'].join('\n'))).toEqual([])
  })

  test.each(['Address', 'Prefix', 'Range', 'RangeSet'])(
    '%s from ipam-kit costs what it costs from /cidr',
    async (noun) => {
      const from = (entry: string) => bundled(`import { ${noun} } from '${entry}'\nexport const parse = ${noun}.parse`)
      expect(await from('ipam-kit')).toEqual(await from('ipam-kit/cidr'))
    },
  )

  test.each([
    ['AddressPool', 'ipam-kit/allocator'],
    ['PrefixAllocator', 'ipam-kit/allocator'],
    ['IpamError', 'ipam-kit/errors'],
    ['unwrap', 'ipam-kit/errors'],
    ['inCluster', 'ipam-kit/provider/in-cluster'],
    ['Controller', 'ipam-kit/run'],
    ['runUntilQuiet', 'ipam-kit/run'],
    ['memoryStore', 'ipam-kit/store/memory'],
  ])('%s from ipam-kit costs what it costs from %s', async (name, entry) => {
    expect(await bundled(`export { ${name} } from 'ipam-kit'`)).toEqual(
      await bundled(`export { ${name} } from '${entry}'`),
    )
  })

  test('no other entry carries anything of ipam-kit/node', async () => {
    const others = entries().filter(({ specifier }) => specifier !== 'ipam-kit/node')
    const files = await bundled(
      others.map(({ specifier }, nth) => `export * as e${nth} from '${specifier}'`).join('\n'),
    )
    expect(files.length).toBeGreaterThan(others.length)
    expect(files.filter((file) => file.startsWith('src/node/'))).toEqual([])
  })

  test('a noun by itself carries the functions that are called, and no texts but those of messages', async () => {
    const files = await bundled("import * as Address from 'ipam-kit/cidr/address'\nexport const parse = Address.parse")
    expect(files).toContain('src/cidr/nouns/address-core.ts')
    expect(files.filter((file) => /^src\/cidr\/(registry|set|map|forms)\//.test(file))).toEqual([])
    expect(files.filter((file) => /warnings|zoned|errors\/registry/.test(file))).toEqual([])
  })

  test('one function of a namespace does not carry the other nouns', async () => {
    const files = await bundled("import { Address } from 'ipam-kit/cidr'\nexport const format = Address.format")
    expect(files).toContain('src/cidr/nouns/address-core.ts')
    expect(files).not.toContain('src/cidr/nouns/prefix-core.ts')
    expect(files).not.toContain('src/cidr/set/range-set.ts')
  })
})
