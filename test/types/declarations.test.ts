import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicApi } from '../../scripts/public-api.js'
import { consumerModules } from './consumer-modules.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

const options = {
  target: 'ES2022',
  lib: ['ES2023', 'DOM'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  types: [],
  declaration: true,
  emitDeclarationOnly: true,
  rootDir: 'src',
}

/** Runs a compiler and returns what it prints. */
function compile(compiler: string, cwd: string, ...args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, [join(root, 'node_modules', compiler, 'bin/tsc'), ...args], {
      cwd,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    })
  } catch (error) {
    return (error as { readonly stdout: string }).stdout
  }
}

describe('a module of a library that exports what a function, a class or a type gives', () => {
  const folder = mkdtempSync(join(tmpdir(), 'consumer-'))
  const installed = join(folder, 'node_modules/ipam-kit')
  const modules = consumerModules(publicApi())

  // the package as its users have it: declarations alone, found by its exports map
  beforeAll(() => {
    mkdirSync(installed, { recursive: true })
    cpSync(join(root, 'package.json'), join(installed, 'package.json'))
    for (const name of ['zod', 'ip-address', 'fast-check']) {
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
    }
    const outDir = join(installed, 'dist')
    expect(compile('typescript-7', root, '-p', 'tsconfig.build.json', '--outDir', outDir)).toBe('')
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
    mkdirSync(join(folder, 'src'))
    for (const { name, text } of modules) writeFileSync(join(folder, 'src', name), text)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['src'] }))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each(['typescript', 'typescript-7'])('has declarations, by %s', (compiler) => {
    expect(compile(compiler, folder, '-p', '.', '--outDir', compiler)).toBe('')
  })

  // another entry can name a type only if the program has it
  test.each(modules)('has declarations if it imports $specifier alone', ({ name }) => {
    const config = `${name}.json`
    writeFileSync(join(folder, config), JSON.stringify({ compilerOptions: options, files: [`src/${name}`] }))
    expect(compile('typescript-7', folder, '-p', config, '--outDir', 'alone')).toBe('')
  })

  // such as a second name that stands for nothing
  test('has declarations that a user of that library can compile', () => {
    const args = ['--noEmit', '--skipLibCheck', 'false', '--rootDir', '.']
    const compilerOptions = { ...options, declaration: false, emitDeclarationOnly: false }
    writeFileSync(join(folder, 'users.json'), JSON.stringify({ compilerOptions, include: ['typescript/*.d.ts'] }))
    const ours = compile('typescript-7', folder, '-p', 'users.json', ...args)
    expect(ours).toBe('')
  })
})
