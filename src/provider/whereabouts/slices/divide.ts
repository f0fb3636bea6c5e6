import { assertPrefix } from '../../../cidr/internal.js'
import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { check } from '../../../errors/check.js'
import { INVALID_SLICE_SIZE } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'
import { parseNodeSliceSize } from '../config/node-slice-size.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The most slices of a range. With the names of 5,000 nodes, of 63 characters each, a NodeSlicePool
 * of this number of IPv6 slices has less than 1 MB.
 */
export const MOST_SLICES = 8192

/**
 * The prefix length of the slices of a range. O(1).
 *
 * @param range host bits are ignored
 * @param sliceSize `node_slice_size` of the configuration: `/26` or `26`
 * @returns the failure `INVALID_SLICE_SIZE` for one of these sizes:
 *
 * - a text that is not a number of 1 to 3 digits, with or without a slash before it
 * - 0, or a length that the family of the range does not have
 * - a shorter length than that of the range: the slice is larger than the range
 * - one address (`/32`, `/128`): upstream finds no usable address in such a slice
 * - a length with more than {@link MOST_SLICES} slices: the NodeSlicePool would be too large
 *
 * @throws IpamError `INVALID_ARGUMENT` for a range that is none
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * readSliceSize(Prefix.parse('10.0.0.0/24'), '/26') // { ok: true, value: 26 }
 */
export function readSliceSize(range: Prefix, sliceSize: string): Result<number, 'INVALID_SLICE_SIZE'> {
  assertPrefix('readSliceSize', 'range', range)
  check('readSliceSize', 'sliceSize', sliceSize, 'text')

  const none = (problem: string) => failWith(INVALID_SLICE_SIZE, { sliceSize, range: Prefix.format(range), problem })
  const length = parseNodeSliceSize(sliceSize)
  if (length === undefined) return none('not a prefix length such as /26 or 26')
  const bits = Address.bitsOf(range.address.family)
  if (length < 1 || length > bits) return none(`not a prefix length from 1 to ${bits}`)
  if (length < range.length) return none('a slice would be larger than the range')
  if (length === bits) return none('a slice would have one address')
  const shortest = range.length + Math.log2(MOST_SLICES)
  if (length > shortest) return none(`more than ${MOST_SLICES} slices; the longest size is /${shortest}`)
  return ok(length)
}

/**
 * The slices of a range, in order. O(slices).
 *
 * @param range host bits are ignored
 * @param sliceSize `node_slice_size` of the configuration: `/26` or `26`
 * @returns the failures of {@link readSliceSize}
 * @throws IpamError `INVALID_ARGUMENT` for a range that is none
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * const slices = slicesOf(Prefix.parse('10.0.0.0/24'), '/25')
 * slices.ok && slices.value.map((slice) => Prefix.format(slice)) // ['10.0.0.0/25', '10.0.0.128/25']
 */
export function slicesOf(range: Prefix, sliceSize: string): Result<readonly Prefix[], 'INVALID_SLICE_SIZE'> {
  assertPrefix('slicesOf', 'range', range)
  check('slicesOf', 'sliceSize', sliceSize, 'text')

  const read = readSliceSize(range, sliceSize)
  return read.ok ? ok([...Prefix.split(range, read.value)]) : read
}

/** The texts of the slices in which every set has an address, and of the others. */
export interface Division {
  /** All slices, in order. */
  readonly slices: readonly string[]
  /** Those in which a set has no address: no node can use them. */
  readonly excluded: ReadonlySet<string>
}

/** The slices of a range, of which some may have no usable address. O(slices x log ranges). */
export function divide(slices: readonly Prefix[], usable: readonly RangeSet[]): Division {
  const texts = slices.map((slice) => Prefix.format(slice))
  const excluded = new Set<string>()
  for (const [index, slice] of slices.entries()) {
    if (usable.some((set) => !RangeSet.overlaps(set, slice))) excluded.add(texts[index]!)
  }
  return { slices: texts, excluded }
}
