import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { entries, exportMap } from './entries.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

describe('exports map', () => {
  test('is every folder of src/ that has an index.ts, and nothing else', () => {
    const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
      .map((path) => `src/${path.replaceAll('\\', '/')}`)
      .filter((path) => path.endsWith('/index.ts'))
    expect(
      entries()
        .map((entry) => entry.source)
        .sort(),
    ).toEqual(sources.sort())
  })

  test.each(entries())(
    '$specifier: types first, the module beside them for bundlers, and one file for all others',
    (entry) => {
      const subpath = `.${entry.specifier.slice('ipam-kit'.length)}`
      const target = exportMap()[subpath]
      const built = entry.source.replace(/^src\//, './dist/').replace(/\.ts$/, '')
      const bundled = `./dist/bundle/${entry.specifier.slice('ipam-kit/'.length) || 'index'}.js`
      expect(target).toEqual({ types: `${built}.d.ts`, module: `${built}.js`, default: bundled })
      expect(Object.keys(target ?? {})).toEqual(['types', 'module', 'default'])
    },
  )

  test('has no pattern and no deep import', () => {
    expect(Object.keys(exportMap()).filter((subpath) => subpath.includes('*'))).toEqual([])
    expect(exportMap()['./package.json']).toBe('./package.json')
  })
})

describe('package.json', () => {
  test('is an ES module without side effects and without install scripts', () => {
    expect(manifest.type).toBe('module')
    expect(manifest.sideEffects).toBe(false)
    const scripts = Object.keys(manifest.scripts)
    expect(scripts.filter((name) => /^(pre|post)?(install|prepare|publish)$/.test(name))).toEqual([])
  })

  test('needs ip-address and zod, and nothing else; fast-check is an optional peer', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['ip-address', 'zod'])
    expect(Object.keys(manifest.peerDependencies)).toEqual(['fast-check'])
    expect(manifest.peerDependenciesMeta).toEqual({ 'fast-check': { optional: true } })
  })

  test('pins every development dependency', () => {
    const loose = Object.entries<string>(manifest.devDependencies).filter(
      ([, version]) => !/^(?:npm:[\w@/.-]+@)?\d+\.\d+\.\d+$/.test(version),
    )
    expect(loose).toEqual([])
  })
})
