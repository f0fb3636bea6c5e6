import type { Family } from '../../cidr/index.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { formatFirst, type Loss, missing, type Rendered, setting } from './loss.js'
import { configuredIn, ownRanges } from './own-ranges.js'
import { assertView, type FamilyView, type NetworkView } from './view.js'

type Prefix = Prefix.Prefix

/** An IPPool of Calico (projectcalico.org/v3). */
export interface CalicoIPPool {
  readonly apiVersion: 'projectcalico.org/v3'
  readonly kind: 'IPPool'
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly cidr: string
    readonly blockSize: number
    /** Calico gives no address of it. */
    readonly disabled: true
    readonly natOutgoing: boolean
  }
}

/** The lengths of the blocks of a Calico pool: the default, and the longest one. */
const CALICO_BLOCKS = { 4: { standard: 26, longest: 32 }, 6: { standard: 122, longest: 128 } } as const

/** Why the subnet of a Node has no object. */
const AROUND = 'since the subnets of their Nodes have a range in them'

/** Calico refuses a pool that has an address of these in it. */
const LINK_LOCAL = /* @__PURE__ */ RangeSet.parse(['169.254.0.0/16', 'fe80::/10'])

/**
 * IPPools by which Calico knows all ranges, and gives no address of them: the subnets are those of
 * Nodes. A destination in any IPPool is not masqueraded.
 *
 * Each range has an IPPool of its own, which is named after its CIDR, and so has each subnet of a
 * Node that is in no range. Other ranges that come, drain or go do not change it. A range in
 * another one is the exception: Calico refuses pools that overlap, so it has none.
 *
 * @param options `natOutgoing`: whether Calico masquerades traffic from Pods to other destinations.
 * Default true
 */
export function renderCalico(
  view: NetworkView,
  options: { readonly natOutgoing?: boolean | undefined } = {},
): Rendered<readonly CalicoIPPool[]> {
  assertView('renderCalico', view)
  check('renderCalico', 'options', options, 'object')

  const { natOutgoing = true } = options
  const families = [view.ipv4, view.ipv6]
  const isTaken = (prefix: Prefix) => !RangeSet.overlaps(LINK_LOCAL, prefix)
  const own = families.map((family) => ownRanges(family, isTaken))
  const prefixes = own.flatMap((each) => each.prefixes)
  const refused = families.flatMap(configuredIn).filter((prefix) => !isTaken(prefix))
  const lost = missing(refused, prefixes, 'since Calico refuses link-local addresses')
  const around = own.flatMap((each) => each.around)
  lost.push(...missing(around, prefixes, AROUND))
  const nested = own.flatMap((each) => each.nested)
  if (nested.length > 0) {
    const why = 'Calico refuses pools that overlap: delete theirs before the other one is created'
    lost.push(setting(`ranges without a pool, since another range contains them: ${formatFirst(nested)}; ${why}`))
  }
  return { content: prefixes.map((prefix) => calicoPool(prefix, natOutgoing)), lost }
}

function calicoPool(prefix: Prefix, natOutgoing: boolean): CalicoIPPool {
  const cidr = Prefix.format(prefix)
  const { standard, longest } = CALICO_BLOCKS[prefix.address.family]
  // a pool is not smaller than its block
  const blockSize = Math.min(Math.max(standard, prefix.length), longest)
  const metadata = { name: `pods-${cidr.replace(/[.:/]/g, '-')}` }
  const spec = { cidr, blockSize, disabled: true, natOutgoing } as const
  return { apiVersion: 'projectcalico.org/v3', kind: 'IPPool', metadata, spec }
}

/** A CiliumPodIPPool (cilium.io/v2alpha1). */
export interface CiliumPodIPPool {
  readonly apiVersion: 'cilium.io/v2alpha1'
  readonly kind: 'CiliumPodIPPool'
  readonly metadata: { readonly name: string }
  readonly spec: { readonly ipv4?: CiliumPoolFamily; readonly ipv6?: CiliumPoolFamily }
}

export interface CiliumPoolFamily {
  readonly cidrs: readonly string[]
  readonly maskSize: number
}

export interface CiliumOptions {
  /** Default `default`: the pool of Pods that name no pool. */
  readonly name?: string | undefined
  /** The length of the prefixes that Nodes get. Cilium does not let it change. */
  readonly maskSizes: { readonly ipv4?: number | undefined; readonly ipv6?: number | undefined }
}

const CILIUM_OPTIONS: KindOf<CiliumOptions> = { name: 'text?', maskSizes: 'object' }

/** The most bits between an IPv6 CIDR of a Cilium pool and `maskSize`. */
const CILIUM_MAX_BITS = 16

/**
 * The pool of Cilium's multi-pool mode. Cilium gives Nodes prefixes of one length.
 *
 * Each range is a CIDR of the pool as it is, and so is each subnet of a Node that is in no range:
 * Cilium forgets what Nodes have of a CIDR that is removed or changed. Other ranges that come,
 * drain or go do not change it. A range in another one is the exception: Cilium refuses CIDRs that
 * overlap, so it has none.
 *
 * Left out is what Cilium refuses, since it would refuse the whole pool: a range that is smaller
 * than a prefix of `maskSize`, an IPv6 range that is more than 16 bits wider, and a family without
 * a mask size.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a length that the family does not have
 */
export function renderCilium(view: NetworkView, options: CiliumOptions): Rendered<CiliumPodIPPool> {
  assertView('renderCilium', view)
  check('renderCilium', 'options', options, CILIUM_OPTIONS)

  const spec: { ipv4?: CiliumPoolFamily; ipv6?: CiliumPoolFamily } = {}
  const lost: Loss[] = []
  for (const family of [view.ipv4, view.ipv6]) {
    const maskSize = maskSizeOf(options, family.family)
    if (maskSize === undefined) {
      lost.push(...missing(configuredIn(family), [], `there is no mask size of IPv${family.family}`))
      continue
    }
    const { prefixes, lost: lostOfFamily } = ciliumFamily(family, maskSize)
    if (prefixes.length > 0) spec[`ipv${family.family}`] = { cidrs: prefixes.map(Prefix.format), maskSize }
    lost.push(...lostOfFamily)
  }
  if (spec.ipv4 === undefined && spec.ipv6 === undefined) lost.push(setting('Cilium refuses a pool without ranges'))
  const metadata = { name: options.name ?? 'default' }
  return { content: { apiVersion: 'cilium.io/v2alpha1', kind: 'CiliumPodIPPool', metadata, spec }, lost }
}

function ciliumFamily(view: FamilyView, maskSize: number) {
  const isTooSmall = ({ length }: Prefix) => length > maskSize
  const isTooWide = ({ length }: Prefix) => view.family === 6 && maskSize - length > CILIUM_MAX_BITS
  const all = configuredIn(view)
  const { prefixes, nested, around } = ownRanges(view, (prefix) => !isTooSmall(prefix) && !isTooWide(prefix))
  const lost = [
    ...missing(all.filter(isTooSmall), prefixes, `smaller than a /${maskSize}`),
    ...missing(all.filter(isTooWide), prefixes, `more than ${CILIUM_MAX_BITS} bits wider than a /${maskSize}`),
    ...missing(around, prefixes, AROUND),
  ]
  if (nested.length > 0) {
    const why = 'Cilium refuses CIDRs that overlap, and forgets what Nodes have of a removed one'
    lost.push(setting(`ranges without a CIDR, since another range contains them: ${formatFirst(nested)}; ${why}`))
  }
  const inactive = [...view.proposed, ...view.terminating].map(({ prefix }) => prefix)
  const given = inactive.filter((prefix) => prefixes.some((own) => Prefix.equals(own, prefix)))
  if (given.length > 0) {
    lost.push(setting(`Cilium gives Nodes prefixes also of ranges that are not active: ${formatFirst(given)}`))
  }
  return { prefixes, lost }
}

function maskSizeOf({ maskSizes }: CiliumOptions, family: Family): number | undefined {
  const maskSize = maskSizes[`ipv${family}`]
  const longest = family === 4 ? 32 : 128
  if (maskSize !== undefined && !(Number.isInteger(maskSize) && maskSize >= 1 && maskSize <= longest)) {
    refuse('renderCilium', `options.maskSizes.ipv${family}`, `a whole number from 1 to ${longest}`, maskSize)
  }
  return maskSize
}
