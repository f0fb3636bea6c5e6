import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { renderExportsDoc } from '../../scripts/exports-doc.js'
import { hiddenTypesIn, missingTypesIn } from '../../scripts/hidden-types.js'
import { clashesIn, namesOf, publicApi } from '../../scripts/public-api.js'
import { entries, type Surface, surfaceFile, surfaceOf } from './entries.js'

const api = publicApi()

// What is public is a decision, so a change of it shows up in a diff: `npm run exports:write` after
// looking at it.
describe('the exports of every entry are those of exports.snapshot.json', () => {
  const snapshot: Surface = existsSync(surfaceFile) ? JSON.parse(readFileSync(surfaceFile, 'utf8')) : {}

  test('one snapshot for each entry', () => {
    expect(Object.keys(snapshot).sort()).toEqual(
      entries()
        .map((e) => e.specifier)
        .sort(),
    )
  })

  test.each(entries())('$specifier', async (entry) => {
    expect(await surfaceOf(entry, namesOf(api, entry.specifier))).toEqual(snapshot[entry.specifier])
  })
})

/** Names that several entries give to different things, and why they may. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  IPAddress: 'a kind of Cluster API, of metal3 and of networking.k8s.io',
  IPAddressSpec: 'the spec of each of them',
  IPPool: 'a kind of this project and of metal3',
  IPPoolSpec: 'the spec of each of them',
  IPPoolStatus: 'the status of each of them',
}

describe('a name means one thing', () => {
  test('in all entries, except for the names above', () => {
    const clashes = [...clashesIn(api).keys()].sort()
    expect(clashes).toEqual(Object.keys(SHARED_NAMES).sort())
  })

  test('two declarations of one name are seen, and one that two entries pass on is not', () => {
    const planted = ['first', 'second', 'third'].map((name) => ({
      specifier: name,
      source: `test/docs/fixtures/exports/${name}.ts`,
    }))
    const clashes = clashesIn(publicApi(planted))
    expect([...clashes.keys()]).toEqual(['Answer'])
    expect(clashes.get('Answer')).toHaveLength(2)
  })
})

describe('a type of a public signature', () => {
  test('is exported', () => {
    expect(hiddenTypesIn(api)).toEqual([])
  })

  test('is exported from the entry of the function or class that mentions it', () => {
    expect(missingTypesIn(api)).toEqual([])
  })

  test('is found if no entry exports it, with the way to it', () => {
    const planted = publicApi([{ specifier: 'third', source: 'test/docs/fixtures/exports/third.ts' }])
    expect(missingTypesIn(planted)).toEqual([
      { entry: 'third', name: 'Question', from: 'ask' },
      { entry: 'third', name: 'Said', from: 'ask' },
    ])
    expect(hiddenTypesIn(planted)).toEqual([
      { name: 'Deepest', from: 'ask', steps: 3 },
      { name: 'Deeper', from: 'ask', steps: 2 },
      { name: 'Question', from: 'ask', steps: 1 },
      { name: 'Said', from: 'ask', steps: 1 },
    ])
  })
})

test('docs/reference/exports.md is what the entries export: npm run docs:exports', () => {
  const page = readFileSync(new URL('../../docs/reference/exports.md', import.meta.url), 'utf8')
  expect(page).toBe(renderExportsDoc(api))
})
