import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { isDeep } from '../setup/depth.js'
import { ignoredResults } from './ignored-results.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

// Code blocks of the README and of the guides stand in examples: pages.test.ts sees to that.
describe('no example ignores the result of a store', () => {
  const { fileNames, options } = config()
  const examples = fileNames.filter((name) => name.startsWith(`${root}docs/examples/`))
  const program = ts.createProgram(examples, options)

  test('there are examples', () => expect(examples.length).toBeGreaterThan(50))

  // the types of all of them take seconds
  const checked = isDeep ? examples : examples.slice(0, 1)

  test('none', () => {
    const found = checked.flatMap((name) => ignoredResults(program.getTypeChecker(), program.getSourceFile(name)!))
    expect(found.map(({ file, line, text }) => `${file.slice(root.length)}:${line} ${text}`)).toEqual([])
  })
})

describe('no doc comment of src/ ignores the result of a store', () => {
  const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

  test.each(['create', 'update', 'patch', 'delete'])('%s', (verb) => {
    const ignored = new RegExp(`^ *\\* (await )?\\w*[sS]tore\\.${verb}\\(`, 'm')
    expect(files.filter((name) => ignored.test(readFileSync(`${root}src/${name}`, 'utf8')))).toEqual([])
  })
})

const PRELUDE = `
import type { Store } from 'ipam-kit/store'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { runPlan, runTask } from 'ipam-kit/run'
import { unwrap } from 'ipam-kit/errors'
declare const store: Store, object: KubeObject, ref: ObjectRef, plan: never, task: never, options: never
`

const IGNORED = [
  'await store.create(object)',
  'store.create(object)',
  'void store.delete(ref)',
  'await (store.patch(ref, {}))',
  'await Promise.all([object].map((each) => store.create(each)))',
  '[ref].forEach((each) => store.delete(each))',
  'await runPlan(plan, store)',
  'await runTask(task, store, options)',
  'object.kind === "" || await store.create(object)',
  'object.kind === "" ? await store.create(object) : await store.update(object)',
  'const clean = async () => { await store.delete(ref) }',
  'if (object.kind === "") await store.update(object)',
]

const HANDLED = [
  'unwrap(await store.create(object))',
  'const made = await store.create(object)\nif (!made.ok) throw new Error(made.failure.code)',
  '(await Promise.all([object].map((each) => store.create(each)))).map(unwrap)',
  'for (const each of [object]) unwrap(await store.create(each))',
  'let made = await store.get(ref)\nmade = await store.create(object)',
  'unwrap(await runPlan(plan, store))',
  'const clean = () => store.delete(ref)',
  'const { ok } = await store.delete(ref)',
]

describe('the check', () => {
  const { options } = config()
  const sources = new Map(
    [...IGNORED, ...HANDLED].map((code, i) => [`${root}docs/planted-${i}.ts`, `${PRELUDE}${code}`]),
  )
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => sources.has(name) || fileExists(name)
  host.getSourceFile = (name, version, ...rest) => {
    const source = sources.get(name)
    return source === undefined
      ? getSourceFile(name, version, ...rest)
      : ts.createSourceFile(name, source, version, true)
  }
  const program = ts.createProgram([...sources.keys()], options, host)
  const found = (i: number) =>
    ignoredResults(program.getTypeChecker(), program.getSourceFile(`${root}docs/planted-${i}.ts`)!)

  test('needs no file', () => expect([...sources.keys()].some((name) => existsSync(name))).toBe(false))

  test.each(IGNORED.map((code, i) => ({ code, i })))('sees $code', ({ i }) =>
    expect(found(i).length).toBeGreaterThan(0),
  )

  test.each(HANDLED.map((code, i) => ({ code, i: i + IGNORED.length })))('passes $code', ({ i }) => {
    expect(found(i)).toEqual([])
  })
})

function config(): ts.ParsedCommandLine {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile)
  return ts.parseJsonConfigFileContent(config, ts.sys, root)
}
