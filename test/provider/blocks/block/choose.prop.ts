import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import type { IPBlockRow } from '../../../../src/crd/ipam-kit/ip-block.js'
import { API_VERSION } from '../../../../src/crd/ipam-kit/names.js'
import { chooseUnit, type UnitQuery } from '../../../../src/provider/blocks/block/choose.js'
import { ParsedBlock } from '../../../../src/provider/blocks/block/parsed-block.js'

const SIZE = 16
const NOW = 1_000_000

/**
 * Rows that do not overlap: for each unit what begins there, if nothing before it is still going
 * on.
 */
const rows = fc
  .array(
    fc.record({
      kind: fc.constantFrom('none', 'none', 'bound', 'cooldown', 'held', 'over'),
      count: fc.constantFrom(1, 1, 1, 2, 4),
      released: fc.integer({ min: 0, max: 9 }),
    }),
    { minLength: SIZE, maxLength: SIZE },
  )
  .map((starts) => {
    const found: { [unit: string]: IPBlockRow } = {}
    let next = 0
    for (const [unit, { kind, count, released }] of starts.entries()) {
      if (unit < next || kind === 'none' || unit + count > SIZE) continue
      next = unit + count
      const at = (ms: number) => new Date(ms).toISOString()
      const past = { released: at(released * 1000), until: at(kind === 'over' ? NOW : NOW + 1) }
      const state =
        kind === 'bound' ? {} : { state: kind === 'held' ? ('held' as const) : ('cooldown' as const), ...past }
      found[unit] = {
        owner: `ns/o${unit}`,
        uid: `o${unit}`,
        sequence: unit + 1,
        ...(count > 1 ? { count } : {}),
        ...state,
      }
    }
    return found
  })

const units = fc
  .uniqueArray(fc.integer({ min: 0, max: SIZE - 1 }), { minLength: 0, maxLength: 6 })
  .map((cuts) => cuts.sort((left, right) => left - right))
  .map((cuts) => {
    const ranges: { first: number; last: number }[] = []
    for (let at = 0; at + 1 < cuts.length; at += 2) ranges.push({ first: cuts[at]!, last: cuts[at + 1]! - 1 })
    return ranges.filter(({ first, last }) => first <= last)
  })

function bookOf(found: { readonly [unit: string]: IPBlockRow }, last: number | undefined): ParsedBlock {
  const spec = {
    cidr: '10.0.0.0/28',
    domain: 'default',
    allocationPrefixLength: 32,
    pool: 'blue',
    sequence: 99,
    ...(last === undefined ? {} : { last }),
    rows: found,
  }
  const parsed = ParsedBlock.parse({
    apiVersion: API_VERSION,
    kind: 'IPBlock',
    metadata: { name: 'default-4-0a000000-28' },
    spec,
  })
  if (!parsed.ok) throw new Error(parsed.problem)
  return parsed.value
}

/** Which units can be given, by looking at each of them. */
function freeUnits(found: { readonly [unit: string]: IPBlockRow }): boolean[] {
  const free = new Array<boolean>(SIZE).fill(true)
  for (const [unit, row] of Object.entries(found)) {
    const isOver = row.state !== undefined && Date.parse(row.until as string) <= NOW
    for (let at = Number(unit); at < Number(unit) + (row.count ?? 1); at++) free[at] = isOver
  }
  return free
}

/** Where a wish could be met, in order. */
function starts(free: readonly boolean[], { units: given, count, isAligned }: UnitQuery): number[] {
  const found: number[] = []
  for (let start = 0; start + count <= SIZE; start++) {
    if (isAligned && start % count !== 0) continue
    const isGiven = given.some(({ first, last }) => first <= start && last >= start + count - 1)
    if (isGiven && free.slice(start, start + count).every(Boolean)) found.push(start)
  }
  return found
}

const wish = fc.record({
  units,
  count: fc.constantFrom(1, 1, 2, 3, 4),
  isAligned: fc.boolean(),
})

describe('the unit that is chosen in a block', () => {
  test.prop([rows, wish])('is the lowest of those that are free', (found, { units: given, count, isAligned }) => {
    const wanted: UnitQuery = { units: given, count, isAligned, order: 'lowest', nowMs: NOW }
    expect(chooseUnit(bookOf(found, undefined), wanted)).toBe(starts(freeUnits(found), wanted)[0])
  })

  test.prop([rows, wish, fc.integer({ min: 0, max: SIZE - 1 })])(
    'is the next one behind the last',
    (found, { units: given, count, isAligned }, last) => {
      const wanted: UnitQuery = { units: given, count, isAligned, order: 'next', nowMs: NOW }
      const all = starts(freeUnits(found), wanted)
      expect(chooseUnit(bookOf(found, last), wanted)).toBe(all.find((start) => start > last) ?? all[0])
    },
  )

  test.prop([rows, units])('is one that was never given, else the one that is free the longest', (found, given) => {
    const wanted: UnitQuery = { units: given, count: 1, isAligned: false, order: 'leastRecentlyReleased', nowMs: NOW }
    const all = starts(freeUnits(found), wanted)
    const rowAt = (unit: number) =>
      Object.entries(found).find(([start, { count = 1 }]) => Number(start) <= unit && unit < Number(start) + count)?.[1]
    const chosen = chooseUnit(bookOf(found, undefined), wanted)
    const fresh = all.find((unit) => rowAt(unit) === undefined)
    if (fresh !== undefined || all.length === 0) {
      expect(chosen).toBe(fresh)
      return
    }
    const oldest = all.map((unit) => rowAt(unit)?.released as string).sort()[0]
    expect(all).toContain(chosen)
    expect(rowAt(chosen as number)?.released).toBe(oldest)
  })
})
