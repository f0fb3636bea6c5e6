import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { entries, type Surface, surfaceFile, surfaceOf } from './entries.js'

// What is public is a decision, so a change of it shows up in a diff: `npm run exports:write` after
// looking at it. Types are held by the type tests.
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
    expect(await surfaceOf(entry)).toEqual(snapshot[entry.specifier])
  })
})
