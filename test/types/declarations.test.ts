import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicApi } from '../../scripts/public-api.js'
import { isDeep, some } from '../setup/depth.js'
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
    expect(
      compile('typescript-7', root, '-p', 'tsconfig.build.json', '--outDir', outDir, '--emitDeclarationOnly'),
    ).toBe('')
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
    mkdirSync(join(folder, 'src'))
    for (const { name, text } of modules) writeFileSync(join(folder, 'src', name), text)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['src'] }))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  // the earlier compiler takes twice as long as the rest of the file
  test.each(isDeep ? ['typescript', 'typescript-7'] : ['typescript-7'])(
    'has declarations by %s, which its users can compile',
    (compiler) => {
      expect(compile(compiler, folder, '-p', '.', '--outDir', compiler)).toBe('')
      const compilerOptions = {
        ...options,
        skipLibCheck: false,
        noEmit: true,
        emitDeclarationOnly: false,
        rootDir: '.',
      }
      const users = `users-of-${compiler}.json`
      writeFileSync(join(folder, users), JSON.stringify({ compilerOptions, include: [`${compiler}/*.d.ts`] }))
      expect(compile('typescript-7', folder, '-p', users)).toBe('')
    },
  )

  // another entry can name a type only if the program has it
  test.each(some(modules))('has declarations if it imports $specifier alone', ({ name }) => {
    const config = `${name}.json`
    writeFileSync(join(folder, config), JSON.stringify({ compilerOptions: options, files: [`src/${name}`] }))
    expect(compile('typescript-7', folder, '-p', config, '--outDir', 'alone')).toBe('')
  })
})
