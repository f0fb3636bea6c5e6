import { readFileSync } from 'node:fs'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPPool } from 'ipam-kit/crd/whereabouts'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { HEAD, sizes, volumes, WHEREABOUTS_HEAD, whereaboutsPool, whereaboutsRows } from '../../bench/limits/sizes.js'
import { SYSTEMS } from '../../bench/start/objects.js'
import {
  DEFAULT_BLOCK_SIZES,
  MAX_BLOCK_SIZE,
  MAX_HANDLE_BLOCKS,
  MAX_HANDLE_INTERFACES,
  MAX_NAME_LENGTH,
  MAX_STATUS_RANGES,
} from '../../src/crd/ipam-kit/names.js'
import { longestBlock, longestRow, usualRow } from '../crd/ipam-kit/longest.js'

const page = readFileSync(new URL('../../docs/reference/limits.md', import.meta.url), 'utf8')

/** The cells of the table under a heading, without its head. */
function tableUnder(heading: string): readonly (readonly string[])[] {
  const section = page.split(/^## /mu).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(2).map((line) => line.split(' | ').map((cell) => cell.replace(/^\| ?| ?\|$/gu, '').trim()))
}

test('the sizes are those of objects', () => {
  expect(tableUnder('Sizes of objects')).toEqual(sizes())
  expect(page).toContain(`| ${HEAD.join(' | ')} |`)
})

test('what allocations write follows from the sizes', () => {
  expect(tableUnder('What 1,000 allocations write')).toEqual(volumes())
})

test('a whereabouts pool has room for the rows of the page, in the store in memory', async () => {
  const rows = tableUnder('Rows of a whereabouts pool')
  expect(rows).toEqual(whereaboutsRows())
  expect(page).toContain(`| ${WHEREABOUTS_HEAD.join(' | ')} |`)
  const most = Number(rows[0]?.[2]?.replaceAll(',', ''))
  const row = { id: 'c'.repeat(64), podref: usualRow.owner, ifname: 'eth0' }
  const codeOf = async (count: number) => {
    const store = memoryStore({ now: () => 0, kinds: [IPPool.info] })
    const { metadata, ...pool } = whereaboutsPool(row, count)
    const { name, namespace } = metadata
    const created = await store.create({ ...pool, metadata: { name, namespace } })
    return created.ok ? 'created' : created.failure.code
  }
  // the store writes metadata of its own, of about a row
  expect([await codeOf(most - 2), await codeOf(most + 2)]).toEqual(['created', 'STORE_OBJECT_TOO_LARGE'])
})

test('everything that is measured has a figure', () => {
  const rows = tableUnder('Memory and time')
  expect(rows.length).toBeGreaterThan(5)
  for (const [what, figure] of rows) expect(figure, what).toMatch(/^[\d,.]+ (bytes|µs|ms)$/u)
})

test('the start of a controller is measured for each system and number of objects', () => {
  const rows = tableUnder('CPU and memory of a controller')
  const wanted = ['1,000', '10,000', '100,000'].flatMap((count) =>
    Object.keys(SYSTEMS).map((system) => `${count} ${system}`),
  )
  expect(rows.map(([count, system]) => `${count} ${system}`)).toEqual(wanted)
  for (const [count, system, ...figures] of rows) {
    expect(figures.join(' '), `${count} ${system}`).toMatch(/^[\d.]+ s \d+ ms \d+ MB \d+ MB$/u)
  }
})

test('Pods are measured in every way in which they can be read', () => {
  const rows = tableUnder('Pods on a real API server')
  expect(page).toMatch(/^30,000 Pods of [\d,]+ bytes/mu)
  expect(rows.map(([what]) => what)).toEqual([
    'all Pods, in one request',
    'all Pods, in pages of 500',
    'all Pods with `keep`, in one request',
    'all Pods with `keep`, in pages of 500',
    'Pods with a label',
    'Pods of a Node',
  ])
  for (const [what, pods, requests, ...figures] of rows) {
    expect([pods, requests].join(' '), what).toMatch(/^[\d,]+ [\d,]+$/u)
    expect(figures.join(' '), what).toMatch(/^([\d.]+ MB ){3}[\d.]+ s [\d.]+ s$/u)
  }
})

test('the limits are those of the definitions', () => {
  const limits = new Map(tableUnder('Limits').map(([what = '', limit = '']) => [what, limit]))
  const numbers = (what: string) =>
    limits
      .get(what)
      ?.match(/[\d,]+/gu)
      ?.map((text) => Number(text.replaceAll(',', '')))
  expect(numbers('units of a block')).toEqual([MAX_BLOCK_SIZE])
  expect(numbers('units of a block by default')).toEqual([DEFAULT_BLOCK_SIZES.shared, DEFAULT_BLOCK_SIZES.node])
  expect(numbers('name of a pool or a domain')).toEqual([MAX_NAME_LENGTH])
  expect(numbers('prefixes of a hint in the status')?.[0]).toBe(MAX_STATUS_RANGES)
  expect(numbers('interfaces of an owner in its handle')).toEqual([MAX_HANDLE_INTERFACES])
  expect(numbers('blocks of an interface in a handle')).toEqual([MAX_HANDLE_BLOCKS])
  expect(numbers('name of an owner')?.[0]).toBe(longestRow.owner.length)
  expect(numbers('uid of an owner')).toEqual([longestRow.uid.length])
  expect(numbers('kind of an owner')).toEqual([longestRow.kind?.length])
  expect(numbers('interface of an owner')).toEqual([longestRow.interface?.length])
})

test('the longest block is as long as one may be', () => {
  expect(IPBlock.validate(longestBlock())).toEqual([])
  for (const field of ['owner', 'uid', 'kind', 'interface', 'container', 'mac', 'pool'] as const) {
    const row = { ...longestRow, [field]: `${longestRow[field]}x`, sequence: 1 }
    const block = longestBlock()
    expect(IPBlock.validate({ ...block, spec: { ...block.spec, rows: { 0: row } } }), field).not.toEqual([])
  }
})
