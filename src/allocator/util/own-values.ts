import type { Address, Prefix } from '../../cidr/index.js'
import type { PrefixHold } from '../prefixes/prefix-request.js'
import type { Hold, Owner } from '../request.js'

// No caller may change the inside of an allocator by what it was returned. Freezing a record costs
// more than an allocation, so callers get copies.

export function copyOfAddress(address: Address): Address {
  if (address.family === 4) return { family: 4, value: address.value }
  const { w0, w1, w2, w3 } = address
  return { family: 6, w0, w1, w2, w3 }
}

export function copyOfPrefix({ address, length }: Prefix): Prefix {
  return { address: copyOfAddress(address), length }
}

export function copyOfOwner(owner: Owner): Owner {
  return { ...owner }
}

export function copyOfHold(hold: Hold): Hold {
  const { address, owner, sequence, stickyKey } = hold
  const copy = { address: copyOfAddress(address), owner: { ...owner }, sequence }
  return stickyKey === undefined ? copy : { ...copy, stickyKey }
}

export function copyOfPrefixHold(hold: PrefixHold): PrefixHold {
  return { prefix: copyOfPrefix(hold.prefix), owner: { ...hold.owner }, sequence: hold.sequence }
}
