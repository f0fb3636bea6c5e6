import { assertSet, Ranges4, type ReserveRule, subnetEdges } from '../../cidr/internal.js'
import type { Prefix } from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { assertWithin } from '../slots/slots.js'

type RangeSet = RangeSet.RangeSet

/** Rules of well-known systems, by name. */
export type ReserveRuleName = 'none' | 'ipv4-edges' | 'subnet-edges' | 'first-and-last' | 'service' | 'windows'

/**
 * - `none`: every address is for hosts.
 * - `ipv4-edges`: of IPv4 the network and the broadcast address, but for /31 and /32; of IPv6
 *   nothing.
 * - `subnet-edges`: of IPv4 the network and the broadcast address, of IPv6 the subnet-router
 *   anycast address (RFC 4291 section 2.6.1); /31, /32, /127 and /128 are usable.
 * - `first-and-last`: the first and the last of both families, with the same exceptions: Cilium.
 * - `service`: as `subnet-edges` and without exceptions, so that nothing is left of a /31: the
 *   allocator of Kubernetes Services.
 * - `windows`: the first three and the last, as a node with Windows needs them: Calico.
 */
const RULES: Readonly<Record<ReserveRuleName, ReserveRule>> = {
  none: { v4: { first: 0, last: 0 }, v6: { first: 0, last: 0 }, pointToPoint: 'usable' },
  'ipv4-edges': { v4: { first: 1, last: 1 }, v6: { first: 0, last: 0 }, pointToPoint: 'usable' },
  'subnet-edges': { v4: { first: 1, last: 1 }, v6: { first: 1, last: 0 }, pointToPoint: 'usable' },
  'first-and-last': { v4: { first: 1, last: 1 }, v6: { first: 1, last: 1 }, pointToPoint: 'usable' },
  service: { v4: { first: 1, last: 1 }, v6: { first: 1, last: 0 }, pointToPoint: 'reserved' },
  windows: { v4: { first: 3, last: 1 }, v6: { first: 3, last: 1 }, pointToPoint: 'reserved' },
}

/**
 * The addresses of subnets that are not for hosts, by a rule. Host bits of the prefixes are
 * ignored. O(n log n).
 *
 *     192.0.2.0/29, subnet-edges     |X|.|.|.|.|.|.|X|
 *
 * @throws IpamError `INVALID_ARGUMENT` for an unknown rule
 * @example
 * RangeSet.format(reservedAddresses([Prefix.parse('192.0.2.0/24')], 'subnet-edges')) // ['192.0.2.0-192.0.2.0', '192.0.2.255-192.0.2.255']
 * RangeSet.format(reservedAddresses([Prefix.parse('192.0.2.0/31')], 'subnet-edges')) // []
 * RangeSet.format(reservedAddresses([Prefix.parse('fd00::/64')], 'subnet-edges')) // ['fd00::-fd00::']
 */
export function reservedAddresses(prefixes: Iterable<Prefix>, rule: ReserveRuleName | ReserveRule): RangeSet {
  check('reservedAddresses', 'prefixes', prefixes, 'iterable')
  return subnetEdges(prefixes, ruleOf(rule))
}

/**
 * The IPv4 addresses of a set that end in .0 or .255, which some old devices do not reach:
 * MetalLB's `avoidBuggyIPs`. O(addresses of the set / 256), and 8 bytes for each .0: 128 MiB for
 * all of IPv4.
 *
 * @example
 * RangeSet.format(confusableAddresses(RangeSet.parse(['192.0.2.200-192.0.3.10']))) // ['192.0.2.255-192.0.3.0']
 */
export function confusableAddresses(ranges: RangeSet): RangeSet {
  assertSet('confusableAddresses', 'ranges', ranges)
  const { firsts, lasts } = RangeSet.union(ranges, RangeSet.empty).v4
  let most = 0
  for (let i = 0; i < firsts.length; i++) most += Math.floor((lasts[i]! - firsts[i]!) / 256) + 2
  const foundFirsts = new Uint32Array(most)
  const foundLasts = new Uint32Array(most)
  let count = 0
  for (let i = 0; i < firsts.length; i++) {
    const first = firsts[i]!
    const last = lasts[i]!
    // the .255 and the .0 behind it are one range
    for (let value = first - (first % 256) - 1; value <= last; value += 256) {
      const from = Math.max(value, first)
      const to = Math.min(value + 1, last)
      if (from > to) continue
      foundFirsts[count] = from
      foundLasts[count++] = to
    }
  }
  return { v4: new Ranges4(foundFirsts.slice(0, count), foundLasts.slice(0, count)), v6: RangeSet.empty.v6 }
}

function ruleOf(rule: ReserveRuleName | ReserveRule): ReserveRule {
  if (typeof rule === 'string' && Object.hasOwn(RULES, rule)) return RULES[rule]
  if (typeof rule !== 'object' || rule === null) {
    refuse(
      'reservedAddresses',
      'rule',
      `a rule or one of ${Object.keys(RULES).join(', ')}`,
      typeof rule === 'string' ? (rule as string).slice(0, 50) : rule,
    )
  }
  for (const family of ['v4', 'v6'] as const) {
    for (const edge of ['first', 'last'] as const)
      assertWithin('reservedAddresses', `rule.${family}.${edge}`, rule[family]?.[edge], 0, 2 ** 32)
  }
  return rule
}
