import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(`${root}package-lock.json`, 'utf8')
const packages: Readonly<Record<string, LockedPackage>> = JSON.parse(text).packages

describe('package-lock.json', () => {
  // npm may write a lock without the builds of other platforms, and `npm ci` on such a platform
  // then refuses it.
  test('has an entry for every optional dependency it names', () => {
    const missing = Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {})
        .filter((name) => !isLocked(path, name))
        .map((name) => `${path} -> ${name}`),
    )
    expect(missing).toEqual([])
  })

  test('names no registry', () => {
    const resolved = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined)
    expect(resolved.map(([path]) => path)).toEqual([])
    expect(text).not.toMatch(/"resolved"|\.tgz|registry\./)
    expect(readFileSync(`${root}.npmrc`, 'utf8')).toMatch(/^omit-lockfile-registry-resolved=true$/m)
  })

  test('has an integrity hash for every package', () => {
    const bare = Object.entries(packages).filter(([path, entry]) => path !== '' && entry.integrity === undefined)
    expect(bare.map(([path]) => path)).toEqual([])
  })

  test('is that of package.json', () => {
    const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
    const locked = packages['']
    expect(locked?.version).toBe(manifest.version)
    expect(locked?.dependencies).toEqual(manifest.dependencies)
    expect(locked?.devDependencies).toEqual(manifest.devDependencies)
  })
})

/** Node's own walk: node_modules beside the package, then of each folder above it. */
function isLocked(path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true
    if (folder === '') return false
    if (!folder.includes('/node_modules/')) folder = ''
  }
}
