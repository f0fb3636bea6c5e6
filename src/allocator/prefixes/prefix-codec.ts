import type { Address, Prefix } from '../../cidr/index.js'
import * as Addresses from '../../cidr/nouns/address.js'
import * as Prefixes from '../../cidr/nouns/prefix.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { isIpamError, type Result } from '../../errors/index.js'
import { ownerId } from '../request.js'
import { StateReader, StateWriter, TWICE } from '../util/state-codec.js'
import type { PrefixHold } from './prefix-request.js'
import { type PrefixAllocatorSpec, type PrefixPlan, planOf } from './prefix-spec.js'
import { PrefixTree } from './prefix-tree.js'

// The stored form of an allocator of prefixes: a version; its space without exclusions, as a set;
// the family and length of its children; its strategy and the position of that; its last sequence;
// its holds by sequence. An allocator has one stored form: `decode` compares the bytes with those
// that `encode` would write.

const VERSION = 1
const WHAT = 'an allocator of prefixes'
const STRATEGIES = ['lowest', 'next-fit'] as const

interface PrefixState {
  /** Where next-fit continues. */
  readonly cursor: Address | undefined
  readonly sequence: number
  readonly holds: readonly PrefixHold[]
}

export function encodePrefixes(state: PrefixState & { readonly plan: PrefixPlan }): Uint8Array {
  const { plan, cursor, sequence, holds } = state
  const to = new StateWriter()
  to.byte(VERSION)
  to.set(plan.space)
  to.byte(plan.family)
  to.byte(plan.childLength)
  to.byte(STRATEGIES.indexOf(plan.isNextFit ? 'next-fit' : 'lowest'))
  to.optional(cursor, (address) => to.address(address))
  to.large(sequence)
  to.number(holds.length)
  for (const hold of holds) {
    to.address(hold.prefix.address)
    to.byte(hold.prefix.length)
    to.owner(hold.owner)
    to.large(hold.sequence)
  }
  return to.sealed()
}

export function decodePrefixes(
  bytes: Uint8Array,
): Result<PrefixState & { readonly spec: PrefixAllocatorSpec }, 'MALFORMED_BYTES'> {
  const from = new PrefixReader(bytes, VERSION)
  const ranges = from.set()
  const familyAt = from.position
  const family = from.family()
  const childLength = from.byte()
  const strategyAt = from.position
  const kind = STRATEGIES[from.byte()]
  if (kind === undefined) from.refuse(strategyAt, 'an unknown strategy')
  const cursorAt = from.position
  const cursor = from.optional(() => from.address())
  if (cursor !== undefined && (kind !== 'next-fit' || cursor.family !== family)) {
    from.refuse(cursorAt, 'an address that the strategy cannot continue from')
  }
  const sequence = from.counted()
  const holds = from.list(() => from.hold(sequence))
  from.refuseTwins(holds)
  if (from.rest().length > 0) from.refuse(from.position, 'more than an allocator')
  if (from.problem !== undefined) return failWith(MALFORMED_BYTES, { what: WHAT, ...from.problem })
  const spec: PrefixAllocatorSpec = { ranges, family, childLength, strategy: { kind: kind ?? 'lowest' } }
  const problem = problemOf(spec)
  if (problem !== undefined) return failWith(MALFORMED_BYTES, { what: WHAT, position: familyAt, problem })
  return { ok: true, value: { spec, cursor, sequence, holds } }
}

/** The failure for bytes that can be read, but are not as `encode` writes the allocator. */
export function notAsWritten(position: number): Result<never, 'MALFORMED_BYTES'> {
  return failWith(MALFORMED_BYTES, { what: WHAT, position, problem: 'not as an allocator is written' })
}

/** The problem of a spec that the constructor refuses. */
function problemOf(spec: PrefixAllocatorSpec): string | undefined {
  try {
    const { space, family, childLength } = planOf(spec)
    new PrefixTree(space, { family, childLength })
    return undefined
  } catch (error) {
    if (isIpamError(error)) return error.message
    throw error
  }
}

class PrefixReader extends StateReader {
  hold(last: number): PrefixHold {
    const prefix = this.#prefix()
    const owner = this.owner()
    return { prefix, owner, sequence: this.sequence(last, 'the allocator') }
  }

  #prefix(): Prefix {
    const address = this.address()
    const at = this.position
    const length = this.byte()
    if (length <= Addresses.bitsOf(address.family)) return Prefixes.masked(Prefixes.of(address, length))
    this.refuse(at, `a prefix length of ${length}`)
    return Prefixes.of(address, 0)
  }

  /** An owner holds a prefix once. */
  refuseTwins(holds: readonly PrefixHold[]): void {
    const names = holds.map(({ prefix, owner }) => `${Prefixes.format(prefix)}\n${ownerId(owner)}`)
    if (new Set(names).size < holds.length) this.refuse(this.position, TWICE)
  }
}
