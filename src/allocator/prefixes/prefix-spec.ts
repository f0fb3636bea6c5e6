import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Sets from '../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../errors/check.js'
import { FAMILY_MISMATCH } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuseIn } from '../../errors/refuse.js'
import { rangesOf } from '../ranges-given.js'

type RangeSet = Sets.RangeSet

const OF = 'PrefixAllocator'

export interface PrefixAllocatorSpec {
  /** The address space to carve, of one family, also as texts: `['10.0.0.0/16']`. */
  readonly ranges: RangeSet | readonly string[]
  /** Space that no child may overlap. */
  readonly exclude?: RangeSet | readonly string[] | undefined
  /**
   * The family of the children. Default: the family of the ranges. Required if the ranges are
   * empty.
   */
  readonly family?: Family | undefined
  /** Prefix length of a child, the default of requests: 0 to 32 or 0 to 128. */
  readonly childLength: number
  /**
   * `lowest`: the lowest free child. `next-fit`: the lowest free child after the last given one,
   * then from the first one. A released child is given last, because a release does not move this
   * position. Default `lowest`.
   */
  readonly strategy?: { readonly kind: 'lowest' | 'next-fit' } | undefined
}

const SPEC: KindOf<PrefixAllocatorSpec> = {
  ranges: 'any',
  exclude: 'any?',
  family: ['one?', { 4: 1, 6: 1 }],
  childLength: (length) => (typeof length === 'number' ? undefined : 'a number'),
  strategy: ['options?', { kind: ['one', { lowest: 1, 'next-fit': 1 }] }],
}

/** A spec with its defaults. */
export interface PrefixPlan {
  /** Ranges without exclusions. */
  readonly space: RangeSet
  readonly family: Family
  readonly childLength: number
  readonly isNextFit: boolean
}

/** @throws IpamError as the constructor of an allocator does */
export function planOf(spec: PrefixAllocatorSpec): PrefixPlan {
  check(OF, 'spec', spec, SPEC)
  const { exclude, family, childLength, strategy } = spec
  const ranges = rangesOf(OF, 'ranges', spec.ranges)
  const space = exclude === undefined ? ranges : Sets.subtract(ranges, rangesOf(OF, 'exclude', exclude))
  return { space, family: familyOf(ranges, family), childLength, isNextFit: strategy?.kind === 'next-fit' }
}

/** The family of the ranges, which are of one family. */
function familyOf({ v4, v6 }: RangeSet, wanted: Family | undefined): Family {
  const firsts = [
    { v4, v6: Sets.empty.v6 },
    { v4: Sets.empty.v4, v6 },
  ].map(Sets.first)
  const [first, other] = firsts.filter((one) => one !== undefined)
  if (first !== undefined && other !== undefined) refuseFamilies(Address.format(first), Address.format(other))
  const family = wanted ?? first?.family
  if (family === undefined) refuseIn(OF, 'spec.family', 'that of the children: no range tells it', 'undefined')
  if (first !== undefined && first.family !== family) refuseFamilies(`children of IPv${family}`, Address.format(first))
  return family
}

function refuseFamilies(left: string, right: string): never {
  throw ipamError(FAMILY_MISMATCH, { left, right })
}
