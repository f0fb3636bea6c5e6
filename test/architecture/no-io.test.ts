import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { findIo, NODE_FOLDER, PLATFORM_FILE } from './no-io.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('src/ does no I/O of its own and keeps no state', () => {
  const { fileNames, options, errors } = parseConfig('tsconfig.src.json')
  const program = ts.createProgram(fileNames, options)

  test('tsconfig.src.json covers src/', () => {
    expect(errors).toEqual([])
    expect(fileNames.length).toBeGreaterThan(0)
    expect(options.types).toEqual([])
    expect(options.lib).toEqual(['lib.es2023.d.ts'])
  })

  test('no file reaches out', () => {
    const findings = fileNames.flatMap((name) => {
      const file = program.getSourceFile(name)
      if (file === undefined) throw new Error(`not in the program: ${name}`)
      return findIo(program, file, relative(root, name))
    })
    expect(findings.map((f) => `${f.file}:${f.line} ${f.what}`)).toEqual([])
  })
})

// The check itself, on planted faults: it must see each of them, and nothing else.
const FAULTS: readonly (readonly [source: string, what: RegExp])[] = [
  ["import { readFileSync } from 'node:fs'\nexport const x = readFileSync", /node:fs/],
  ["import * as os from 'os'\nexport const x = os", /'os'/],
  ["export { join } from 'path/posix'", /path\/posix/],
  ["import type { Server } from 'node:net'\nexport type X = Server", /node:net/],
  ["import './other.js'", /side effects/],
  ['export const now = () => Date.now()', /Date\.now/],
  ["export const now = () => Date['now']()", /Date as a value/],
  ['export const now = () => new Date()', /new Date\(\)/],
  ['export const now = () => new Date', /new Date\(\)/],
  ['export const now = (a: [number]) => new Date(...a)', /new Date\(\)/],
  ['export const now = () => Date()', /Date\(\)/],
  ['export const clock = { Date }', /Date as a value/],
  ['export const { now } = Date', /Date as a value/],
  ['export const r = () => Math.random()', /Math\.random/],
  ["export const r = () => Math['random']()", /Math as a value/],
  ['export const { random } = Math', /Math as a value/],
  ['export const f = (g: () => void) => setTimeout(g, 1)', /setTimeout/],
  ['export const f = (g: () => void) => setInterval(g, 1)', /setInterval/],
  ['export const f = (g: () => void) => setImmediate(g)', /setImmediate/],
  ['export const f = (g: () => void) => queueMicrotask(g)', /queueMicrotask/],
  ["export const f = () => fetch('x')", /fetch/],
  ['export const f = () => process.env', /process/],
  ["export const f = () => console.log('x')", /console/],
  ['export const f = () => crypto.randomUUID()', /crypto/],
  ['export const f = () => performance.now()', /performance/],
  ['export const f = () => globalThis', /globalThis/],
  ["export const f = () => structuredClone('x')", /structuredClone/],
  ["export const f = () => somethingOfTheHost('x')", /somethingOfTheHost/],
  ['declare const process: { pid: number }\nexport const f = () => process.pid', /process/],
  ['declare const atob: (text: string) => string\nexport const f = () => atob', /atob/],
  ['declare const TextDecoder: new () => object\nexport const f = () => new TextDecoder()', /TextDecoder/],
  ["export const f = () => eval('1')", /eval/],
  ["export const f = () => new Function('return 1')", /Function/],
  ["export const f = () => Function('return 1')", /Function/],
  ["export const f = () => import('zod')", /dynamic import/],
  ["export const f = () => require('fs')", /require/],
  ['export const f = () => import.meta.url', /import\.meta/],
  ['export const x = await Promise.resolve(1)', /await/],
  ['let count = 0\nexport const f = () => count++', /module level/],
  ['var count = 0\nexport const f = () => count++', /module level/],
  ['for (var i = 0; i < 2; i++) {}\nexport const f = () => i', /module level/],
  ['export let count = 0', /module level/],
  ['const cache = new Map<string, string>()\nexport const f = (k: string) => cache.get(k)', /empty Map/],
  ['export namespace N {\n  export let count = 0\n}', /module level/],
  ['export class C {\n  static count = 0\n}', /static/],
  ['export const f = (d: Date) => d.toLocaleString()', /toLocaleString/],
  ["export const f = (a: string) => a.localeCompare('b')", /localeCompare/],
  ['export const f = () => new Intl.Collator()', /Intl/],
  ['export const f = (x: object) => new WeakRef(x)', /WeakRef/],
]

const HARMLESS: readonly string[] = [
  'export const f = (nowMs: number) => new Date(nowMs).toISOString()',
  'export const f = (text: string) => Date.parse(text) + Date.UTC(2020, 1)',
  'export const f = (x: unknown) => x instanceof Date',
  'export const f = (x: Date): Date => x',
  'export const f = (a: number) => Math.imul(a, 3) + Math.clz32(a)',
  'export const f = (process: { env: string }) => process.env',
  'export const f = (fetch: () => void) => fetch()',
  'export const f = (timers: { setTimeout: () => void }) => timers.setTimeout()',
  'export const f = () => ({ process: 1, fetch: 2, console: 3, Date: 4 })',
  'export interface Clock {\n  setTimeout(f: () => void): void\n  performance: number\n}',
  'export function fetch(): number {\n  return 1\n}\nexport const x = fetch()',
  'const table = new Map([[1, 2]])\nexport const f = (k: number) => table.get(k)',
  'const hidden = new WeakMap<object, number>()\nexport const f = (k: object) => hidden.get(k)',
  'export const f = (): number => {\n  let n = 0\n  for (let i = 0; i < 3; i++) n += i\n  return n\n}',
  'export const f = async (p: Promise<void>): Promise<void> => {\n  await p\n}',
  'export class C {\n  static readonly zero = 0\n  count = 0\n}',
  'export type Now = typeof Date.now\nexport type G = typeof globalThis',
  "export const text = 'Date.now() and import(x) and process.env'",
  'export const f = (x: { localTime: string }) => x.localTime',
  'export const f = () => undefined',
]

describe('the check', () => {
  const program = plant([...FAULTS.map(([source]) => source), ...HARMLESS])

  test.each(FAULTS.map(([source, what], i) => ({ i, source, what })))('sees $source', ({ i, what }) => {
    const findings = findIn(program, i)
    expect(findings.length).toBeGreaterThan(0)
    expect(findings.some((f) => what.test(f.what) && f.line >= 1)).toBe(true)
  })

  test.each(HARMLESS.map((source, i) => ({ i: i + FAULTS.length, source })))('passes $source', ({ i }) => {
    expect(findIn(program, i)).toEqual([])
  })

  test('lets one file have UTF-8 and Base64 of the platform, and nothing else', () => {
    const declared = ['TextEncoder', 'TextDecoder', 'atob', 'btoa', 'process']
    const source = declared.map((global) => `declare const ${global}: object\nexport const of${global} = ${global}`)
    const planted = plant([source.join('\n')])
    const whats = (name: string) => findIn(planted, 0, name).map(({ what }) => what.split(':')[0])
    expect(whats(PLATFORM_FILE)).toEqual(['process'])
    expect(whats('src/bytes/utf8.ts')).toEqual(declared)
  })

  test('lets one folder have clock, timers and randomness of the platform, and nothing else', () => {
    const declared = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'crypto', 'process', 'fetch']
    const sources = declared.map((global) => `declare const ${global}: object\nexport const of${global} = ${global}`)
    const planted = plant([['export const now = () => Date.now()', ...sources].join('\n')])
    const whats = (name: string) => findIn(planted, 0, name).map(({ what }) => what.split(':')[0])
    expect(whats(`${NODE_FOLDER}index.ts`)).toEqual(['process', 'fetch'])
    expect(whats('src/run/node/index.ts')).toEqual(['Date.now', ...declared])
  })

  test('names the line', () => {
    const [finding] = findIn(plant(['// one\n// two\nexport const f = (): number => {\n  return Date.now()\n}']), 0)
    expect(finding).toEqual({ file: 'planted-0.ts', line: 4, what: 'Date.now: reads the clock' })
  })
})

function findIn(program: ts.Program, index: number, name = `planted-${index}.ts`) {
  const file = program.getSourceFile(`/planted/planted-${index}.ts`)
  if (file === undefined) throw new Error(`not in the program: ${index}`)
  return findIo(program, file, name)
}

/** A program of in-memory files, checked like src/. */
function plant(sources: readonly string[]): ts.Program {
  const { options } = parseConfig('tsconfig.src.json')
  const files = new Map(sources.map((source, i) => [`/planted/planted-${i}.ts`, source]))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.getSourceFile = (name, languageVersion, ...rest) => {
    const source = files.get(name)
    return source === undefined
      ? getSourceFile(name, languageVersion, ...rest)
      : ts.createSourceFile(name, source, languageVersion, true)
  }
  return ts.createProgram([...files.keys()], { ...options, noResolve: true }, host)
}

function parseConfig(name: string): ts.ParsedCommandLine {
  const path = `${root}${name}`
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile)
  if (error !== undefined) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'))
  return ts.parseJsonConfigFileContent(config, ts.sys, root, undefined, path)
}
