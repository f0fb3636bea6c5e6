import type { KubeObject } from 'ipam-kit/crd/meta'
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
