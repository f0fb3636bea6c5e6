import type { Family } from '../../cidr/index.js'
import { assertAddress } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { AllocationOutcome, Hold, Owner, StrategyState, Want } from '../request.js'
import { assertWithin } from '../slots/slots.js'
import { copyOfAddress, copyOfHold } from '../util/own-values.js'
import type { ReleasedAddress } from './cooldown.js'
import { FAMILIES } from './pool-state.js'

type Address = Address.Address
type RunWant = Extract<Want, { kind: 'run' | 'prefix' }>

/** The holds of a request so far. */
export interface Given {
  readonly holds: Hold[]
  readonly releases: ReleasedAddress[]
  /** The state of the strategy and the last sequence before the request. */
  readonly before: StrategyState
  readonly sequence: number
  /** Whether the owner held no address before. */
  readonly isNewOwner: boolean
}

/** The hold of a request for one address. */
interface One {
  readonly holds: readonly [Hold]
  readonly releases: readonly ReleasedAddress[]
  readonly before: StrategyState
}

/** No released address. */
export const NONE: readonly ReleasedAddress[] = /* @__PURE__ */ Object.freeze([])

/** The maximum number of addresses of one request: each of them has a record. */
const MOST_ADDRESSES = 65_536
const MOST_BITS = 16
const KINDS: readonly Want['kind'][] = ['any', 'address', 'oneOf', 'run', 'dualStack', 'prefix']

/** IPv4 before IPv6, if the request has no family. */
export function familiesOf(family: Family | undefined): readonly Family[] {
  return family === undefined ? FAMILIES : [family]
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for a count or a length that is out of range, a prefix
 *   without a family, whose length would mean nothing, and both families with one
 */
export function assertWant(want: Want, family: Family | undefined): void {
  if (family !== undefined && family !== 4 && family !== 6)
    refuse('AddressPool.allocate', 'family', '4 or 6, as numbers', family)
  check('AddressPool.allocate', 'want', want, 'object')
  if (want.kind === 'any') return
  if (!KINDS.includes(want.kind)) refuse('AddressPool.allocate', 'want.kind', `one of ${KINDS.join(', ')}`, want.kind)
  if (want.kind === 'address') assertAddress('AddressPool.allocate', 'want.address', want.address)
  if (want.kind === 'oneOf') {
    check('AddressPool.allocate', 'want.addresses', want.addresses, 'list')
    for (const address of want.addresses) assertAddress('AddressPool.allocate', 'want.addresses[]', address)
  }
  if (want.kind === 'run') assertWithin('AddressPool.allocate', 'want.count', want.count, 1, MOST_ADDRESSES)
  if (want.kind === 'dualStack' && family !== undefined) {
    refuse('AddressPool.allocate', 'family', 'none: dualStack wants both', family)
  }
  if (want.kind !== 'prefix') return
  if (family === undefined) refuse('AddressPool.allocate', 'family', 'that of the prefix', 'undefined')
  const bits = Address.bitsOf(family)
  assertWithin('AddressPool.allocate', 'want.length', want.length, bits - MOST_BITS, bits)
}

/** The number of addresses of a run, and the alignment of its first address. */
export function shapeOf(want: RunWant, family: Family): readonly [count: number, alignment: number] {
  if (want.kind === 'run') return [want.count, 1]
  const count = 2 ** (Address.bitsOf(family) - want.length)
  return [count, count]
}

/** Whether addresses are a run as requested. */
export function isRun(addresses: readonly Address[], want: RunWant): boolean {
  const sorted = [...addresses].sort(Address.compare)
  const first = sorted[0]!
  const last = sorted.at(-1)!
  if (first.family !== last.family) return false
  const [count, alignment] = shapeOf(want, first.family)
  const isAligned = Address.toBigInt(first) % BigInt(alignment) === 0n
  return isAligned && sorted.length === count && Address.distance(first, last) === BigInt(count - 1)
}

/** Whether addresses are one of each family. */
export function isOneOfEach(addresses: readonly Address[]): boolean {
  const [one, other] = addresses
  return addresses.length === 2 && one!.family !== other!.family
}

export function newHold(address: Address, owner: Owner, sequence: number, stickyKey: string | undefined): Hold {
  return stickyKey === undefined ? { address, owner, sequence } : { address, owner, sequence, stickyKey }
}

export function allocated({ holds, releases, before }: Given | One): Extract<AllocationOutcome, { kind: 'allocated' }> {
  const given = holds.map(copyOfHold)
  const addresses = given.map((hold) => hold.address)
  const undo = { strategy: before, releases }
  return { kind: 'allocated', address: addresses[0]!, addresses, delta: { kind: 'allocate', holds: given, undo } }
}

export function already(addresses: readonly Address[]): AllocationOutcome {
  const copies = addresses.map(copyOfAddress)
  return { kind: 'already', address: copies[0]!, addresses: copies }
}
