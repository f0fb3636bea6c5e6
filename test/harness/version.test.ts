import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILES = ['package.json', 'package-lock.json', 'CHANGELOG.md', '.changeset/config.json', 'scripts']

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ipam-kit-version-'))
  for (const file of FILES) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
})

afterEach(() => rmSync(folder, { recursive: true }))

const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))

test('npm run version gives package.json and its lock the same version, and changes nothing else in the lock', () => {
  writeFileSync(join(folder, '.changeset', 'a.md'), "---\n'ipam-kit': minor\n---\n\nA change.\n")
  const [manifest, lock] = [read('package.json'), read('package-lock.json')]
  execFileSync('npm', ['run', 'version'], { cwd: folder, stdio: 'pipe' })

  const { version } = read('package.json')
  expect(version).not.toBe(manifest.version)
  lock.version = version
  lock.packages[''].version = version
  expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).toBe(`${JSON.stringify(lock, null, 2)}\n`)
})
