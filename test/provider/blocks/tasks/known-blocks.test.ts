import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { allocate, KnownBlocks } from 'ipam-kit/provider/blocks'
import { beforeEach, describe, expect, test } from 'vitest'
import { blockStore, poolIn, request } from '../world.js'

const subnets = [{ cidr: '10.0.0.0/28' }]
const ref = { apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock', name: 'default-4-0a000000-28' }
const spec = { cidr: '10.0.0.0/28', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1, rows: {} }
const time = { nowMs: 1000, conflicts: 0 }
let known: KnownBlocks

beforeEach(async () => {
  const store = blockStore()
  known = new KnownBlocks({ isComplete: true })
  for (const [name, domain] of [
    ['blue', 'default'],
    ['green', 'other'],
  ] as const) {
    known.observe({ kind: 'present', object: await poolIn(store, name, { subnets, domain }) }, time)
  }
  const { apiVersion, kind, name } = ref
  const readable = unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
  known.observe({ kind: 'present', object: readable }, time)
  known.observe({ kind: 'present', object: unwrap(await store.patch(ref, { spec: { cidr: 'all' } })) }, time)
})

function next(pool: string) {
  const step = allocate(request('a', { pools: [pool] }), known).next(time)
  return step.kind === 'done' ? step.outcome.kind : step.kind
}

describe('a block that cannot be read any more', () => {
  test('gives nothing, and is no matter for pools of other domains', () => {
    expect(next('blue')).toBe('exhausted')
    expect(next('green')).toBe('write')
  })

  test('can be made anew when it is deleted', () => {
    known.observe({ kind: 'absent', ref }, time)
    expect(next('blue')).toBe('write')
  })
})
