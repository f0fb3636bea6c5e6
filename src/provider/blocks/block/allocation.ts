import type { Address } from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { subnetOf } from '../../../crd/ipam-kit/space.js'
import { PoolView } from '../pool/pool-view.js'
import type { KnownBlocks, PlacedRow } from '../tasks/known-blocks.js'
import type { Allocation } from '../tasks/request.js'
import { addressOfUnit } from './grid.js'
import type { BlockEntry, ParsedBlock } from './parsed-block.js'

/** The address that a row gives its owner, with gateway and prefix length. */
export function allocationOf({ parsed, entry }: PlacedRow, known: KnownBlocks): Allocation {
  const { spec } = parsed.object
  const { unit, count, row } = entry
  const address = addressOf(parsed, entry)
  const pool = row.pool ?? spec.pool
  const view = known.pool(pool)
  const subnet = view instanceof PoolView && view.space !== undefined ? subnetOf(view.space, address) : undefined
  const isPrefix = Number.isInteger(Math.log2(count)) && unit % count === 0
  const length = spec.allocationPrefixLength - (isPrefix ? Math.log2(count) : 0)
  return {
    family: address.family,
    address,
    count,
    prefix: Prefix.of(address, length),
    subnet: subnet?.prefix,
    gateway: subnet?.gateway,
    pool,
    block: parsed.name,
    sequence: row.sequence,
  }
}

/** The first address of a row. */
export function addressOf({ prefix, object }: ParsedBlock, { unit }: BlockEntry): Address {
  return addressOfUnit(prefix, object.spec.allocationPrefixLength, unit)
}
