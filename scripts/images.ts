// The pictures of docs/images that are made from data: maps by `svgMap`, the machine of claims from
// its transitions, and a real plan that is cut between two writes.
import { AddressPool } from 'ipam-kit/allocator'
import { RangeSet } from 'ipam-kit/cidr'
import { svgMap } from 'ipam-kit/render'
import { claimLife } from './image-claim-life.js'
import { crashBetweenWrites } from './image-crash.js'
import { nodeRanges } from './image-node-ranges.js'
import { stackedMaps } from './svg-parts.js'

/** The text of each picture by its file name. */
export async function renderImages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['pool-shades.svg', poolShades()],
    ['node-ranges.svg', await nodeRanges()],
    ['claim-life.svg', claimLife()],
    ['crash.svg', await crashBetweenWrites()],
  ])
}

const COUNT = 20_000

/** A /8 with few addresses in use, and one with few free ones. */
function poolShades(): string {
  const pool = new AddressPool({ ranges: ['10.0.0.0/8'], reserve: 'none', strategy: { kind: 'random', seed: 1 } })
  for (let nth = 0; nth < COUNT; nth++) pool.allocate({ owner: { uid: `owner-${nth}` } })
  const addresses = pool.available
  const few = pool.inUse()
  const map = (inUse: RangeSet, title: string) =>
    svgMap({ addresses, available: addresses, inUse }, { title, columns: 64, maxRows: 4 })
  return stackedMaps({
    title: 'Two pools of a /8: 20,000 addresses in use, and 20,000 free',
    maps: [map(few, '20,000 addresses in use'), map(RangeSet.subtract(addresses, few), '20,000 addresses free')],
  })
}
