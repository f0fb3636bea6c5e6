import { describe, expect, test } from 'vitest'
import { type Expected, lostIn, type Told, takeIn } from '../real/kill/told.js'

const [a, b] = ['Pool n/a', 'Pool n/b']
const tried: Told = { kind: 'try', object: a }
const done: Told = { kind: 'done', object: a, uid: 'u', version: '2', isHeld: true }
const refused: Told = { kind: 'failed', object: a, code: 'STORE_IO' }

/** What is found wrong after a process has told these lines. */
function lost(lines: readonly Told[], before: Record<string, string>, after: Record<string, string>): string[] {
  const expected: Expected = new Map(Object.entries(before))
  const open = takeIn(lines, expected)
  return lostIn(expected, new Map(Object.entries(after)), open)
}

describe('what a killed process was told', () => {
  test.each<[string, readonly Told[], Record<string, string>, Record<string, string>]>([
    ['an answered write is there', [tried, done], { [a]: 'u 1' }, { [a]: 'u 2' }],
    ['an answered removal is done', [tried, { ...done, isHeld: false }], { [a]: 'u 1' }, {}],
    ['a write under way was done', [tried], { [a]: 'u 1' }, { [a]: 'u 2' }],
    ['a write under way was not done', [tried], { [a]: 'u 1' }, { [a]: 'u 1' }],
    [
      'a write of unknown outcome was done',
      [tried, { kind: 'failed', object: a, code: 'STORE_OUTCOME_UNKNOWN' }],
      {},
      { [a]: 'u 1' },
    ],
    [
      'a write of unknown outcome was done, and the next one did not reach the server',
      [tried, { kind: 'failed', object: a, code: 'STORE_OUTCOME_UNKNOWN' }, tried, refused],
      { [a]: 'u 1' },
      { [a]: 'u 2' },
    ],
    ['a write that has failed was not', [tried, { kind: 'failed', object: a, code: 'STORE_CONFLICT' }], {}, {}],
  ])('is right: %s', (_, lines, before, after) => {
    expect(lost(lines, before, after)).toEqual([])
  })

  test.each<[string, readonly Told[], Record<string, string>, Record<string, string>]>([
    ['an answered write is lost', [tried, done], { [a]: 'u 1' }, { [a]: 'u 1' }],
    ['an answered object is lost', [tried, done], {}, {}],
    ['a removal is undone', [tried, { ...done, isHeld: false }], { [a]: 'u 1' }, { [a]: 'u 1' }],
    ['an old write is lost', [tried], { [a]: 'u 1', [b]: 'u 1' }, { [a]: 'u 1' }],
    ['something came from nowhere', [tried], {}, { [b]: 'u 1' }],
    [
      'a write of unknown outcome was settled by one that is lost',
      [tried, { kind: 'failed', object: a, code: 'STORE_OUTCOME_UNKNOWN' }, tried, done],
      { [a]: 'u 1' },
      { [a]: 'u 1' },
    ],
    ['a write that did not reach the server was done', [tried, refused], { [a]: 'u 1' }, { [a]: 'u 2' }],
    [
      'a write that has failed was done',
      [tried, { kind: 'failed', object: a, code: 'STORE_CONFLICT' }],
      {},
      { [a]: 'u 1' },
    ],
  ])('is wrong: %s', (_, lines, before, after) => {
    expect(lost(lines, before, after)).toHaveLength(1)
  })
})
