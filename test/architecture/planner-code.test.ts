import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findOwnCode, type Rule } from './planner-code.js'

const providers = fileURLToPath(new URL('../../src/provider', import.meta.url))

/** Files that have such code all the same, and why. */
const EXCEPTIONS: Readonly<Record<string, Partial<Record<Rule, string>>>> = {
  'block/due-times.ts': {
    times: 'when addresses that wait are free again: the due times of rows, for tasks and planners of blocks',
  },
  'tasks/known-blocks.ts': {
    times: 'which pools were read, and which writes were sent, when: tasks are shown only what they read',
  },
  'tasks/read-objects.ts': { index: 'what one task has read itself: it has no watch, and ends with its command' },
  'operator/empty-blocks.ts': { times: 'since when a block exists without rows: that is no absence of an object' },
  'operator/usage.ts': { times: 'when the counts of a block change by time alone' },
  'upgrade/pool-task.ts': { 'version filter': 'a statement is about one version of a pool, which is read twice' },
  'upgrade/cut-over.ts': { 'version filter': 'a late request is refused once the pool has another version' },
  'upgrade/finish-upgrade.ts': { 'version filter': 'reservations are deleted for the version of the pool' },
  'upgrade/plan-pool.ts': { index: 'a report is a function of lists of objects, without a cache' },
  'claims/provider.ts': { index: 'the watches of a definition, which do not change' },
  'claims/objects.ts': { index: 'the collections of the cache by kind, which do not change' },
  'claims/planner.ts': { index: 'the address that a claim has lost: what was, and is not stored any more' },
  'claims/shared-addresses.ts': { times: 'how long a claim waits for another claim that has its address' },
  'external/ledger.ts': { times: 'when an IPAddress has appeared or is gone: a list of the cloud may be older' },
  'neutron/subnets.ts': { times: 'when the subnets of a network were read: they are in the cloud, and in no object' },
}

describe('planners leave to the object cache what it does', () => {
  const files = readdirSync(providers, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
  const findings = files.flatMap((file) =>
    findOwnCode(file, readFileSync(file, 'utf8')).map((finding) => ({
      ...finding,
      file: `${basename(dirname(file))}/${basename(file)}`,
    })),
  )

  test('no file has a version filter, an index, times or a proof of absence of its own, but for those that are named', () => {
    const unnamed = findings.filter(({ file, rule }) => EXCEPTIONS[file]?.[rule] === undefined)
    expect(unnamed.map(({ file, line, rule, text }) => `${file}:${line} ${rule}: ${text}`)).toEqual([])
  })

  test('no exception is left that is not needed', () => {
    const named = Object.entries(EXCEPTIONS).flatMap(([file, rules]) =>
      Object.keys(rules).map((rule) => `${file} ${rule}`),
    )
    const needed = new Set(findings.map(({ file, rule }) => `${file} ${rule}`))
    expect(named.filter((name) => !needed.has(name))).toEqual([])
  })
})

// The check itself, on planted faults.
test.each<[string, readonly Rule[]]>([
  ['const isOld = object.metadata.resourceVersion < seen.resourceVersion', ['version filter']],
  ['const isSame = resourceVersion === other', ['version filter']],
  ['const has = resourceVersion !== undefined', []],
  ['const version = Number(metadata.resourceVersion)', ['version filter']],
  ['if (isOlderVersion(a, b)) skip()', ['version filter']],
  [
    "import type { IPPool } from '../../crd/ipam-kit/ip-pool.js'\nclass A { readonly #pools = new Map<string, IPPool>() }",
    ['index'],
  ],
  ['class A { readonly #byUid = new Map<string, Set<KubeObject>>() }', ['index']],
  ['interface A { readonly blocks: ReadonlyMap<string, BlockBook> }', ['index']],
  ['class A { readonly #names = new Map<string, ObjectRef>() }', []],
  ['class A { readonly #seen = new Map<string, { readonly sinceMs: number }>() }', ['times']],
  ['interface A { readonly dueMs: Map<string, number> }', ['times']],
  ["const effect = { kind: 'absent', ref, uid, why: 'it is gone' }", ['absence']],
  ["const change = { kind: 'absent', ref, uid }", []],
])('%s', (source, rules) => {
  expect(findOwnCode('a.ts', source).map(({ rule }) => rule)).toEqual(rules)
})
