import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { storeConformance } from 'ipam-kit/testing'
import type { StoreCapabilities } from '../../src/store/store.js'
import type { ConformanceOptions } from '../../src/testing/conformance/store-conformance.js'
import type { Report } from './report.js'

/**
 * Every store with every client: the columns of the table in docs/reference/stores.md, in their
 * order.
 */
export const ADAPTERS = {
  memory: 'memory',
  'better-sqlite3': 'SQLite, better-sqlite3',
  'node-sqlite': 'SQLite, node:sqlite',
  pglite: 'PGlite',
  pg: 'PostgreSQL, pg',
  ioredis: 'Redis, ioredis',
  'node-redis': 'Redis, node-redis',
  etcd: 'etcd, fetch',
  'client-node-1': 'Kubernetes, client-node 1',
  'client-node-2': 'Kubernetes, client-node 2',
} as const

export type Adapter = keyof typeof ADAPTERS

/** `left out`: the store has the capability that the case names. */
export type CaseResult = 'passed' | 'failed' | 'left out'

/** One run of the suite, as it is kept in a file for the table. */
export interface AdapterResults {
  readonly adapter: Adapter
  /** What it ran with: `PostgreSQL 17.2, pg 8.16.3`. */
  readonly versions: string
  /** The version of Node. */
  readonly node: string
  readonly cases: { readonly [name: string]: CaseResult }
}

export interface ConformanceRun extends ConformanceOptions {
  readonly adapter: Adapter
  readonly versions: string
  readonly capabilities: StoreCapabilities
  /** What has to be done after each case. */
  readonly afterCase?: (() => void) | undefined
}

/** Runs the whole suite on one adapter: a test for each case. */
export async function runConformance(report: Report, run: ConformanceRun): Promise<void> {
  const { adapter, versions, capabilities, afterCase, ...options } = run
  console.log(`  ${ADAPTERS[adapter]}: ${versions}, Node ${process.versions.node}`)
  const cases: Record<string, CaseResult> = {}
  for (const { name, unless, run: body } of storeConformance(options)) {
    if (unless !== undefined && capabilities[unless]) {
      cases[name] = 'left out'
      continue
    }
    const passed = await report.test(`${adapter}: ${name}`, async () => {
      await body()
      afterCase?.()
      return undefined
    })
    cases[name] = passed ? 'passed' : 'failed'
  }
  report.keep({ adapter, versions, node: process.versions.node, cases })
}

/** Writes one file for each adapter: what `npm run docs:stores` reads. */
export function writeResults(folder: string, results: readonly AdapterResults[]): void {
  mkdirSync(folder, { recursive: true })
  for (const one of results) writeFileSync(join(folder, `${one.adapter}.json`), JSON.stringify(one, undefined, 2))
}
