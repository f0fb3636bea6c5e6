import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { fullBlock, handle, longestRow, usualPool, usualRow } from '../../test/crd/ipam-kit/longest.js'

/** What an API server adds to an object that one program has written. */
const added = {
  uid: '90ab7f0e-5f35-4f07-a1c5-4f1c2b6d8e3a',
  resourceVersion: '12345678',
  generation: 12,
  creationTimestamp: '2026-01-01T00:00:00Z',
}
/**
 * The row of whereabouts: an object keyed by the offset, with the id of the container, the Pod and
 * the interface.
 */
const singleRow = { id: usualRow.container, podref: usualRow.owner, ifname: usualRow.interface }
const ADDS = 1000

export const HEAD = ['what', 'usual', 'with the longest names'] as const

/** What objects take, as JSON without blanks, in bytes. */
export function sizes(): readonly (readonly string[])[] {
  const blocks = [64, 256, 1024].map((size) => [
    `IPBlock of ${size.toLocaleString('en')} with all rows`,
    bytes(stored(fullBlock(size, usualRow, false))),
    bytes(stored(fullBlock(size, longestRow, true))),
  ])
  return [
    ['a row, with its key', bytes(rowBytes(usualRow)), bytes(rowBytes(longestRow))],
    ...blocks,
    ['IPHandle of an interface with both families', bytes(stored(handle(false))), bytes(stored(handle(true)))],
    ['IPPool with its status', bytes(stored(usualPool())), '-'],
    ['IPBlock of 1,024 on an API server, with what that notes of writers', '-', 'below 1,000,000'],
  ]
}

/**
 * What is written and sent to each watch for so many allocations, in bytes: each of them writes the
 * whole object.
 */
export function volumes(): readonly (readonly string[])[] {
  const ofBlocks = [64, 256, 1024].map((size) => {
    const empty = stored({ ...fullBlock(size, usualRow, false), spec: {} })
    const full = stored(fullBlock(size, usualRow, false))
    return [`blocks of ${size.toLocaleString('en')}`, megabytes((ADDS * (empty + full)) / 2)]
  })
  const row = JSON.stringify({ 123: singleRow }).length
  const single = [0, 4000].map((before) => [
    `one object with all rows, ${before.toLocaleString('en')} before`,
    megabytes(ADDS * row * (before + ADDS / 2)),
  ])
  return [...ofBlocks, ...single]
}

export const WHEREABOUTS_HEAD = ['row', 'bytes', 'rows of an IPPool'] as const

/** The most bytes of an object: of etcd, and of the stores of this library. */
const MOST_BYTES = 1.5 * 2 ** 20
const claimMarks = { ipamclaim: `${'n'.repeat(19)}/${'c'.repeat(40)}`, ipamclaimuid: usualRow.uid }
const WHEREABOUTS_ROWS: { readonly [what: string]: object } = {
  'of a Pod, as upstream and `add` write it': singleRow,
  'of a Pod, without the name of an interface': { ...singleRow, ifname: undefined },
  'of an IPAMClaim': { ...singleRow, ...claimMarks },
  'of a Pod with the longest names': { ...singleRow, podref: longestRow.owner, ifname: longestRow.interface },
}

/** An IPPool of whereabouts with so many rows, as a store has it. */
export function whereaboutsPool(row: object, rows: number): KubeObject {
  const allocations = Object.fromEntries(Array.from({ length: rows }, (_, nth) => [nth + 1, row]))
  const { apiVersion, kind } = WhereaboutsPool.info
  const metadata = { name: '10.0.0.0-16', namespace: 'kube-system', ...added }
  return { apiVersion, kind, metadata, spec: { range: '10.0.0.0/16', allocations } }
}

/** For each form of a row: its bytes with its key, and how many an IPPool has room for. */
export function whereaboutsRows(): readonly (readonly string[])[] {
  return Object.entries(WHEREABOUTS_ROWS).map(([what, row]) => {
    const size = JSON.stringify({ 1234: row }).length - 1
    return [what, bytes(size), bytes(mostRows(row))]
  })
}

function mostRows(row: object): number {
  const sizeOf = (rows: number) => JSON.stringify(whereaboutsPool(row, rows)).length
  let [fits, tooMany] = [1, 65_536]
  while (tooMany - fits > 1) {
    const rows = Math.floor((fits + tooMany) / 2)
    if (sizeOf(rows) <= MOST_BYTES) fits = rows
    else tooMany = rows
  }
  return fits
}

function rowBytes(row: object): number {
  return JSON.stringify({ 123: { ...row, sequence: 1_767_225_600_000_000 } }).length - 1
}

function stored(object: KubeObject): number {
  return JSON.stringify({ ...object, metadata: { ...object.metadata, ...added } }).length
}

function bytes(count: number): string {
  return count.toLocaleString('en')
}

function megabytes(count: number): string {
  return `${(count / 1e6).toFixed(count < 1e8 ? 1 : 0)} MB`
}
