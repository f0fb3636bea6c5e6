// Started by run.ts with --expose-gc. Prints what knowing pools and blocks takes.
import { performance } from 'node:perf_hooks'
import { Address, Prefix } from 'ipam-kit/cidr'
import { blockName, type IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { allocate, blocksOperator, KnownBlocks } from 'ipam-kit/provider/blocks'
import { fullBlock, usualRow } from '../../test/crd/ipam-kit/longest.js'

/** Something that was measured, in bytes or milliseconds. */
export interface Measured {
  readonly what: string
  readonly bytes?: number
  readonly ms?: number
}

const SIZE = 256
const LENGTH = 24
const SLASH_8 = 65_536
const time = { nowMs: 1_767_225_600_000, conflicts: 0 }
const full = fullBlock(SIZE, usualRow, false)

const pool = {
  ...IPPool.info,
  metadata: { name: 'blue', uid: 'pool', resourceVersion: '1', generation: 1 },
  spec: { subnets: [{ cidr: '10.0.0.0/8' }] },
  status: { domainUID: 'domain', ipv4: { blockPrefixLength: LENGTH, allocationPrefixLength: 32 } },
} as KubeObject
const domain = {
  apiVersion: IPPool.info.apiVersion,
  kind: 'IPDomain',
  metadata: { name: 'default', uid: 'domain', resourceVersion: '1' },
  spec: {
    ipv4: { blockPrefixLength: LENGTH, allocationPrefixLength: 32 },
    ipv6: { blockPrefixLength: 120, allocationPrefixLength: 128 },
  },
} as KubeObject

const ROWS = 256
const EMPTY = 10_000
const request = { owner: { uid: 'new', name: 'ns/new' }, pools: ['blue'], families: [4] as const }
const sparse = knowing(0)
const manyRows = knowing(ROWS, SIZE)
const manyBlocks = knowing(EMPTY, 1)

console.log(
  JSON.stringify([
    { what: 'memory of a known row, in full blocks of 256', bytes: (manyRows.bytes - sparse.bytes) / (ROWS * SIZE) },
    { what: 'memory of a known block with one row', bytes: (manyBlocks.bytes - sparse.bytes) / EMPTY },
    { what: 'taking in a block of 256 rows', ms: best(50, () => observed(blockAt(0, SIZE))) },
    { what: 'taking in a block of 1,024 rows', ms: best(20, () => observed(fullBlock(1024, usualRow, false))) },
    ...[1, 1000, SLASH_8 - 1].map((count) => {
      const { known } = knowing(count, 1)
      return {
        what: `planning an allocation, ${count.toLocaleString('en')} blocks known`,
        ms: best(200, () => allocate(request, known).next(time)),
      }
    }),
    { what: 'planning an allocation in a /8 whose first 65,535 blocks are full', ms: planInFull() },
    { what: 'listing a /8 of 65,536 blocks with one row each, in the operator', ms: operatorTakesIn(SLASH_8) },
  ] satisfies Measured[]),
)

function knowing(count: number, rows = 0): { readonly known: KnownBlocks; readonly bytes: number } {
  const before = inUse()
  const known = new KnownBlocks({ isComplete: true })
  known.observe({ kind: 'present', object: pool }, time)
  for (let nth = 0; nth < count; nth++) known.observe({ kind: 'present', object: blockAt(nth, rows) }, time)
  return { known, bytes: inUse() - before }
}

/** The block at a place of 10.0.0.0/8, parsed anew as a store hands it out. */
function blockAt(nth: number, rows: number): KubeObject {
  const prefix = Prefix.of(Address.add(Address.parse('10.0.0.0'), nth * SIZE), LENGTH)
  const units = Object.entries((full.spec as IPBlock['spec']).rows).slice(0, rows)
  const spec = { ...full.spec, cidr: Prefix.format(prefix), rows: Object.fromEntries(units) }
  const metadata = { ...full.metadata, name: blockName('default', prefix), uid: `b-${nth}`, resourceVersion: '1' }
  return JSON.parse(JSON.stringify({ ...full, metadata, spec })) as KubeObject
}

function observed(object: KubeObject): KnownBlocks {
  const known = new KnownBlocks()
  known.observe({ kind: 'present', object }, time)
  return known
}

function planInFull(): number {
  const known = new KnownBlocks({ isComplete: true })
  known.observe({ kind: 'present', object: pool }, time)
  // one owner has the whole of each block, so that they fit into memory
  const one = { ...full.spec, rows: { 0: { ...usualRow, count: SIZE, sequence: 1 } } }
  for (let nth = 0; nth < SLASH_8 - 1; nth++) {
    const block = blockAt(nth, 0)
    const { cidr } = (block as IPBlock).spec
    known.observe({ kind: 'present', object: { ...block, spec: { ...one, cidr } } as KubeObject }, time)
  }
  return best(200, () => allocate(request, known).next(time))
}

function operatorTakesIn(count: number): number {
  const operator = blocksOperator()
  const objects = Array.from({ length: count }, (_, nth) => blockAt(nth, 1))
  const start = performance.now()
  for (const object of [domain, pool, ...objects]) operator.observe({ kind: 'present', object })
  const plan = operator.plan('IPPool blue', time)
  if (plan === undefined || plan.effects.length === 0) throw new Error('the operator has nothing to say of the pool')
  return performance.now() - start
}

/** The best time of one call, of so many. */
function best(calls: number, call: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < calls; round++) {
    const start = performance.now()
    if (call() === undefined) throw new Error('nothing was done')
    least = Math.min(least, performance.now() - start)
  }
  return least
}

function inUse(): number {
  if (globalThis.gc === undefined) throw new Error('start with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}
