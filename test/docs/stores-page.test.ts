import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeConformance } from 'ipam-kit/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { problemsIn, readResults, renderStoresDoc, saysTheSame } from '../../scripts/stores-doc.js'
import { ADAPTERS, type Adapter, type AdapterResults, writeResults } from '../real/conformance.js'

const cases = storeConformance({ open: () => memoryStore({ now: () => 0 }), sleep: () => new Promise(() => {}) })
const page = readFileSync(new URL('../../docs/reference/stores.md', import.meta.url), 'utf8')

const all = (Object.keys(ADAPTERS) as Adapter[]).map((adapter) => resultsOf(adapter))

function resultsOf(adapter: Adapter): AdapterResults {
  const collects = adapter.startsWith('client-node')
  const ended = cases.map(({ name, unless }) => [
    name,
    collects && unless === 'collectsGarbage' ? 'left out' : 'passed',
  ])
  return { adapter, versions: 'any', node: '20', cases: Object.fromEntries(ended) }
}

describe('docs/reference/stores.md', () => {
  test('has every case on every store, and each has passed but for what an API server does by itself', () => {
    expect(saysTheSame(page, renderStoresDoc(all))).toBe(true)
  })

  test.each([
    ['a case that has failed', { [cases[0]!.name]: 'failed' }],
    ['a case that was left out', { [cases[0]!.name]: 'left out' }],
    ['a case that is new', { 'create: something new': 'passed' }],
  ] as const)('would differ by %s', (_, change) => {
    const [first, ...others] = all as [AdapterResults, ...AdapterResults[]]
    const changed = { ...first, cases: { ...first.cases, ...change } }
    expect(saysTheSame(page, renderStoresDoc([changed, ...others]))).toBe(false)
  })

  test('does not depend on what it was recorded with', () => {
    const later = all.map((one) => ({ ...one, versions: 'newer', node: '26' }))
    expect(saysTheSame(page, renderStoresDoc(later))).toBe(true)
  })
})

describe('the results of runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-results-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test('are read as they were written, and all are needed', () => {
    const [first, ...others] = all as [AdapterResults, ...AdapterResults[]]
    writeResults(folder, others)
    expect(() => readResults(folder)).toThrow('no results of memory')
    writeResults(folder, [{ ...first, cases: {} }])
    expect(() => readResults(folder)).toThrow(`memory has no ${cases[0]!.name}`)
    writeResults(folder, [first])
    expect(readResults(folder)).toEqual(all)
  })

  test('fail the check if a case has failed, also one of which the page says so', () => {
    expect(problemsIn(all, renderStoresDoc(all))).toEqual([])
    expect(problemsIn(all, '# another page')).toEqual([expect.stringContaining('npm run docs:stores')])
    const [first, ...others] = all as [AdapterResults, ...AdapterResults[]]
    const name = cases[0]!.name
    const results = [{ ...first, cases: { ...first.cases, [name]: 'failed' as const } }, ...others]
    expect(problemsIn(results, renderStoresDoc(results))).toEqual([`failed: memory: ${name}`])
    writeResults(folder, results)
    const script = fileURLToPath(new URL('../../scripts/write-stores-doc.ts', import.meta.url))
    const words = ['--import', 'tsx', script, '--check', folder]
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
    expect([status, stderr]).toEqual([1, expect.stringContaining(`failed: memory: ${name}`)])
  })
})
