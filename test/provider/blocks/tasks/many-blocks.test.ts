import { Address, Prefix, Range } from 'ipam-kit/cidr'
import { blockName } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { allocate, KnownBlocks } from 'ipam-kit/provider/blocks'
import { describe, expect, test, vi } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import { API_VERSION } from '../../../../src/crd/ipam-kit/names.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { request } from '../world.js'

const UNITS = 16
const NOW_MS = 1_000_000
const FAMILIES = [
  { family: 4, cidr: '10.0.0.0/16', grid: { blockPrefixLength: 28, allocationPrefixLength: 32 } },
  { family: 6, cidr: 'fd00::/112', grid: { blockPrefixLength: 124, allocationPrefixLength: 128 } },
] as const
type Family = (typeof FAMILIES)[number]

/** Blocks that are known, of which every other unit is in use. */
function combs({ family, cidr, grid }: Family, count: number, spec: Partial<IPPoolSpec>, node?: string): KnownBlocks {
  const first = Prefix.first(Prefix.parse(cidr))
  const ends = { first, last: Address.add(first, BigInt(count * UNITS - 1)) }
  const known = new KnownBlocks({ isComplete: true })
  const show = (object: KubeObject) => known.observe({ kind: 'present', object }, { nowMs: NOW_MS })
  const subnets = [{ cidr, ranges: [Range.format(ends)] }]
  const status = { domainUID: 'domain', [`ipv${family}`]: grid }
  show({
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'blue', uid: 'pool' },
    spec: { subnets, skipEdges: 'never', ...spec },
    status,
  })
  const row = { owner: 'ns/other', uid: 'other' }
  const units = Array.from({ length: UNITS / 2 }, (_, i) => [i * 2, { ...row, sequence: i + 1 }])
  for (let i = 0; i < count; i++) {
    const prefix = Prefix.of(Address.add(first, BigInt(i * UNITS)), grid.blockPrefixLength)
    show({
      apiVersion: API_VERSION,
      kind: 'IPBlock',
      metadata: { name: blockName('default', prefix), uid: `block-${i}`, resourceVersion: '1' },
      spec: {
        cidr: Prefix.format(prefix),
        domain: 'default',
        allocationPrefixLength: grid.allocationPrefixLength,
        pool: 'blue',
        sequence: 9,
        rows: Object.fromEntries(units),
        ...(node === undefined ? {} : { node }),
      },
    })
  }
  return known
}

const affinity = { by: 'node', maxBlocksPerNode: 4096, borrow: true } as const
const cases: readonly (readonly [about: string, spec: Partial<IPPoolSpec>, node: string | undefined, more: object])[] =
  [
    ['the lowest ones first', {}, undefined, {}],
    ['the next ones first', { order: 'next' }, undefined, {}],
    ['those of a node first', { affinity }, 'node-1', { node: { name: 'node-1' } }],
    ['those of other nodes', { affinity }, 'node-1', { node: { name: 'node-2' } }],
  ]

describe.each(FAMILIES)('IPv$family: several units in a row, which no block has', (family) => {
  test.each(cases)('%s: what is known is gone through once, however many blocks there are', (_, spec, node, more) => {
    const looksAt = (count: number, wanted: Partial<AllocationRequest>): number => {
      const known = combs(family, count, spec, node)
      const looks = vi.spyOn(known, 'othersAt')
      const asked = request('owner', { families: [family.family], ...wanted, ...more })
      const step = allocate(asked, known).next({ nowMs: NOW_MS, conflicts: 0 })
      expect(step).toMatchObject({ kind: 'done', outcome: { kind: 'exhausted' } })
      return looks.mock.calls.length
    }
    const bits = family.family === 4 ? 31 : 127
    for (const wanted of [{ count: 2 }, { prefixLengths: { [`ipv${family.family}`]: bits } }]) {
      expect(looksAt(256, wanted)).toBe(looksAt(32, wanted))
    }
  })
})
