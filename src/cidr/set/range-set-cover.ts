import { refuseIn } from '../../errors/refuse.js'
import * as Address from '../nouns/address-core.js'
import * as Prefix from '../nouns/prefix-core.js'
import { assertSet, fromPrefixes, prefixes, type RangeSet, size } from './range-set.js'

export interface CoverOptions {
  /** How many prefixes there may be: at least one for each family that the set has. */
  readonly maxPrefixes: number
}

/** Few prefixes that cover a set, and how much else. */
export interface Cover {
  /** In order, disjoint. */
  readonly prefixes: readonly Prefix.Prefix[]
  /**
   * The number of addresses that the prefixes contain and the set does not. 0 if the set needs at
   * most `maxPrefixes` prefixes.
   */
  readonly added: bigint
}

/**
 * At most `maxPrefixes` prefixes that cover the whole set, with as few other addresses as possible.
 * For targets with a limited number of entries: a route table, a security group, an annotation. The
 * result for IPv4 is optimal. For IPv6, added addresses are compared as floating-point numbers: of
 * two covers that differ by less than one part in 10^12, it may be either.
 *
 * O(p * `maxPrefixes`) time and memory for a set of p prefixes.
 *
 * @throws IpamError `INVALID_ARGUMENT` if `maxPrefixes` is not a whole number, or less than the set
 * has families
 * @example
 * const set = RangeSet.parse(['10.0.0.0/24', '10.0.2.0/24', '192.168.0.0/24'])
 * const cover = RangeSet.cover(set, { maxPrefixes: 2 })
 * cover.prefixes.map(Prefix.format) // ['10.0.0.0/22', '192.168.0.0/24']
 * cover.added // 512n
 */
export function cover(set: RangeSet, options: CoverOptions): Cover {
  assertSet('RangeSet.cover', 'set', set)
  if (typeof options !== 'object' || options === null) refuseIn('RangeSet.cover', 'options', 'an object', options)
  const { maxPrefixes, ...others } = options
  const [other] = Object.keys(others)
  if (other !== undefined) refuseIn('RangeSet.cover', `options.${other}`, 'one of maxPrefixes', other)
  const exact = prefixes(set)
  const split = exact.findIndex((prefix) => prefix.address.family === 6)
  const count4 = split < 0 ? exact.length : split
  const families = (count4 > 0 ? 1 : 0) + (count4 < exact.length ? 1 : 0)
  if (!Number.isInteger(maxPrefixes) || maxPrefixes < families) {
    refuseIn('RangeSet.cover', 'options.maxPrefixes', `a whole number from ${families}`, maxPrefixes)
  }
  if (exact.length <= maxPrefixes) return { prefixes: exact, added: 0n }

  const tree4 = count4 > 0 ? plan(exact, 0, count4, maxPrefixes) : undefined
  const tree6 = count4 < exact.length ? plan(exact, count4, exact.length, maxPrefixes) : undefined
  const chosen: Prefix.Prefix[] = []
  const { first, second } = share(tree4?.costs, tree6?.costs, maxPrefixes)
  if (tree4 !== undefined) collect(tree4, first, chosen)
  if (tree6 !== undefined) collect(tree6, second, chosen)
  return { prefixes: chosen, added: size(fromPrefixes(chosen)) - size(set) }
}

/**
 * A prefix of the set, or the smallest prefix that covers two parts of it.
 *
 *             10.0.0.0/22             costs[1] = 512: as one prefix it adds 10.0.1.0/24 and 10.0.3.0/24
 *            /           \            costs[2] = 0
 *     10.0.0.0/24     10.0.2.0/24
 */
interface Tree {
  readonly prefix: Prefix.Prefix
  /** By number of prefixes, from 1: how many addresses are added at least. Index 0 is not used. */
  readonly costs: Float64Array
  /** By number of prefixes: how many of them go to the left part. 0: the prefix itself is taken. */
  readonly lefts: Uint32Array
  readonly left: Tree | undefined
  readonly right: Tree | undefined
}

function plan(exact: readonly Prefix.Prefix[], from: number, to: number, most: number): Tree {
  const lowest = exact[from]!
  if (to - from === 1) {
    return {
      prefix: lowest,
      costs: Float64Array.of(0, 0),
      lefts: new Uint32Array(2),
      left: undefined,
      right: undefined,
    }
  }
  const length = commonLength(lowest.address, exact[to - 1]!.address)
  const prefix = Prefix.masked({ address: lowest.address, length })
  const middle = Prefix.masked({ address: lowest.address, length: length + 1 })
  let low = from
  let high = to
  while (low < high) {
    const at = (low + high) >>> 1
    if (Prefix.contains(middle, exact[at]!.address)) low = at + 1
    else high = at
  }
  const left = plan(exact, from, low, most)
  const right = plan(exact, low, to, most)
  const { costs, lefts } = merge(left.costs, right.costs, most)
  const whole = addedByHalf(left, length + 1) + addedByHalf(right, length + 1)
  costs[1] = whole
  for (let count = 2; count < costs.length; count++) {
    if (costs[count]! < whole) continue
    costs[count] = whole
    lefts[count] = 0
  }
  return { prefix, costs, lefts, left, right }
}

/**
 * How many addresses a half of a prefix has that the set does not have. Sums only: the size of the
 * prefix less what the set has of it would lose all digits where the set is nearly the whole
 * prefix.
 */
function addedByHalf(tree: Tree, length: number): number {
  const bits = Address.bitsOf(tree.prefix.address.family)
  return tree.costs[1]! + (2 ** (bits - length) - 2 ** (bits - tree.prefix.length))
}

/** The least cost of two parts together, by number of prefixes; each part takes at least one. */
function merge(left: Float64Array, right: Float64Array, most: number) {
  const total = Math.min(most, left.length + right.length - 2)
  const costs = new Float64Array(total + 1).fill(Number.POSITIVE_INFINITY)
  const lefts = new Uint32Array(total + 1)
  for (let i = 1; i < left.length; i++) {
    const end = Math.min(right.length, total - i + 1)
    for (let j = 1; j < end; j++) {
      const cost = left[i]! + right[j]!
      if (cost < costs[i + j]!) {
        costs[i + j] = cost
        lefts[i + j] = i
      }
    }
  }
  return { costs, lefts }
}

/** How many prefixes each family gets, of those that there may be. */
function share(first: Float64Array | undefined, second: Float64Array | undefined, most: number) {
  if (first === undefined || second === undefined) {
    return { first: Math.min(most, (first?.length ?? 1) - 1), second: Math.min(most, (second?.length ?? 1) - 1) }
  }
  const { costs, lefts } = merge(first, second, most)
  let best = 2
  for (let count = 3; count < costs.length; count++) if (costs[count]! < costs[best]!) best = count
  // what the other family has no use for, the first one takes
  const forSecond = best - lefts[best]!
  return { first: Math.min(first.length - 1, most - forSecond), second: forSecond }
}

function collect(tree: Tree, count: number, out: Prefix.Prefix[]): void {
  const lefts = tree.lefts[count]!
  if (count === 1 || lefts === 0 || tree.left === undefined || tree.right === undefined) {
    out.push(tree.prefix)
    return
  }
  collect(tree.left, lefts, out)
  collect(tree.right, count - lefts, out)
}

/** The number of leading bits in which two addresses of a family agree. */
function commonLength(left: Address.Address, right: Address.Address): number {
  if (left.family === 4) return right.family === 4 ? Math.clz32(left.value ^ right.value) : 0
  if (right.family === 4) return 0
  if (left.w0 !== right.w0) return Math.clz32(left.w0 ^ right.w0)
  if (left.w1 !== right.w1) return 32 + Math.clz32(left.w1 ^ right.w1)
  if (left.w2 !== right.w2) return 64 + Math.clz32(left.w2 ^ right.w2)
  return 96 + Math.clz32(left.w3 ^ right.w3)
}
