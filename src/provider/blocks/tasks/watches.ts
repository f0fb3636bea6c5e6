import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { IPDomain } from '../../../crd/ipam-kit/ip-domain.js'
import { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { modelWatch, type Watch } from '../../../plan/index.js'
import { ParsedBlock } from '../block/parsed-block.js'
import { stickyKeys } from '../block/sticky-keys.js'
import { type ParsedPool, readPool } from '../pool/parsed-pool.js'

// the parts of one process that use these watches on one cache parse each version of an object once

export const domainWatch: Watch<IPDomain> = modelWatch(IPDomain)

export const poolWatch: Watch<ParsedPool> = {
  ...IPPool.info,
  parse: readPool,
  indexes: { domain: ({ object }) => [object.spec.domain] },
}

export const blockWatch: Watch<ParsedBlock> = {
  ...IPBlock.info,
  parse: (object) => ParsedBlock.parse(object),
  indexes: {
    domain: ({ object }) => [object.spec.domain],
    grid: ({ object: { spec }, prefix }) => [
      gridKey(spec.domain, prefix.address.family, { ...spec, blockPrefixLength: prefix.length }),
    ],
    /** The pool that the block was created for, by family: `4 blue`. */
    pool: ({ object, prefix }) => [`${prefix.address.family} ${object.spec.pool}`],
    node: ({ object: { spec } }) => (spec.node === undefined ? [] : [spec.node]),
    /** The uids of the owners that have rows in the block. */
    owner: ({ entries }) => entries.flatMap(({ row }) => (row.state === undefined ? [row.uid] : [])),
    /** The names of those owners, `namespace/name`. */
    ownerName: ({ entries }) => entries.flatMap(({ row }) => (row.state === undefined ? [row.owner] : [])),
    /** The keys of the owners for which the block keeps rows. */
    stickyKey: ({ entries }) => entries.flatMap(({ row }) => (row.state === 'held' ? stickyKeys(row) : [])),
  },
}

/** The key of a grid of a domain: it finds the blocks on it. */
export function gridKey(
  domain: string,
  family: 4 | 6,
  { blockPrefixLength, allocationPrefixLength }: { blockPrefixLength: number; allocationPrefixLength: number },
): string {
  return `${domain} ${family} ${blockPrefixLength} ${allocationPrefixLength}`
}
