import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as Range from '../../../cidr/nouns/range.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { check } from '../../../errors/check.js'
import type { WhereaboutsRange } from '../config/types.js'
import { lowestFree } from './lowest-free.js'
import { RANGE, rangeSpace, withoutOf } from './space.js'

type Address = Address.Address

/** The address that an interface gets of a range, or why it gets none. */
export type AddressChoice =
  | { readonly kind: 'chosen'; readonly address: Address }
  /** The CIDR has no address between its first and its last one. */
  | { readonly kind: 'tooSmall'; readonly message: string }
  /** An exclude is no CIDR, address or `first-last`. */
  | { readonly kind: 'badExclude'; readonly message: string }
  | { readonly kind: 'exhausted'; readonly message: string }
  /** Another interface has the address that is asked for. */
  | { readonly kind: 'taken'; readonly message: string }
  /** The range does not give the address that is asked for. */
  | { readonly kind: 'notGiven'; readonly message: string }

export interface ChooseOptions {
  /** The addresses that other interfaces have, in any order. */
  readonly taken?: readonly Address[] | undefined
  /** Addresses that the range does not give, such as its gateway. */
  readonly keptBack?: Iterable<Address> | undefined
  /**
   * The address that is asked for. It may be before `start` or after `end`. It is refused where
   * the range excludes it or keeps it back.
   */
  readonly asked?: Address | undefined
}

/**
 * The lowest free address of a range, or the one that is asked for. O(taken), as long as the lowest
 * run of addresses between two excludes has a free one; O(taken x log taken) else. Upstream walks
 * from the start of the range, and formats each address.
 *
 * The messages of `tooSmall`, `badExclude` and `exhausted` are the sentences of upstream.
 *
 * @example
 * const range = { prefix: Prefix.parse('10.0.0.0/24'), exclude: ['10.0.0.0/30'] }
 * const choice = chooseAddress(range, { taken: [Address.parse('10.0.0.4')] })
 * choice.kind === 'chosen' && Address.format(choice.address) // '10.0.0.5'
 */
export function chooseAddress(range: WhereaboutsRange, options: ChooseOptions = {}): AddressChoice {
  check('chooseAddress', 'range', range, RANGE)
  check('chooseAddress', 'options', options, { taken: 'list?', keptBack: 'iterable?', asked: 'object?' })

  const { taken = [], keptBack = [], asked } = options
  const space = rangeSpace(range, keptBack)
  if (space.kind === 'tooSmall') return { kind: 'tooSmall', message: tooSmallMessage(range.prefix) }
  if (space.kind === 'badExclude') return { kind: 'badExclude', message: badExcludeMessage(space.exclude) }
  if (asked !== undefined) return chooseAsked(range, { taken, keptBack, asked })
  const address = lowestFree(space.addresses, taken)
  return address === undefined
    ? { kind: 'exhausted', message: exhaustedMessage(range, space.range) }
    : { kind: 'chosen', address }
}

function chooseAsked(
  range: WhereaboutsRange,
  { taken, keptBack, asked }: { taken: readonly Address[]; keptBack: Iterable<Address>; asked: Address },
): AddressChoice {
  const interior = Prefix.interior(range.prefix)
  const [text, cidr] = [Address.format(asked), Prefix.format(range.prefix)]
  const without = withoutOf(range, keptBack)
  const isIn = interior !== undefined && asked.family === interior.first.family && Range.contains(interior, asked)
  if (!isIn || typeof without === 'string' || RangeSet.contains(without, asked)) {
    return { kind: 'notGiven', message: `${cidr} does not give ${text}` }
  }
  if (taken.some((address) => address !== null && Address.equals(address, asked))) {
    return { kind: 'taken', message: `another interface has ${text}` }
  }
  return { kind: 'chosen', address: asked }
}

function exhaustedMessage({ prefix, exclude }: WhereaboutsRange, { first, last }: Range.Range): string {
  const [from, to] = [first, last].map(Address.format)
  const range = `ip: ${from} / - ${to} / range: ${Prefix.format(prefix)}`
  return `Could not allocate IP in range: ${range} / excludeRanges: [${exclude.join(' ')}]`
}

function badExcludeMessage(exclude: string): string {
  return `could not parse exclude range, err: ${JSON.stringify(`invalid CIDR address: ${exclude}`)}`
}

/** Upstream names the subnet as Go prints it: the mask in hexadecimal digits. */
function tooSmallMessage(prefix: Prefix.Prefix): string {
  const bits = Address.bitsOf(prefix.address.family)
  const mask = (1n << BigInt(bits)) - (1n << BigInt(bits - prefix.length))
  const subnet = `{${Address.format(Prefix.first(prefix))} ${mask.toString(16).padStart(bits / 4, '0')}}`
  return `net mask is too short, subnet ${subnet} has no usable IP addresses, it is too small`
}
