import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** A part of a view that the configuration of a consumer cannot express. */
export interface Loss {
  /**
   * - `added`: addresses of other networks that the consumer treats as addresses of Pods
   * - `missing`: addresses of Pods that the consumer does not know
   * - `setting`: a setting that is required in addition to the content, or a behaviour of the
   *   consumer that the content cannot change
   */
  readonly kind: 'added' | 'missing' | 'setting'
  /** The addresses that are added or missing; none for a setting. */
  readonly addresses: RangeSet
  /** One sentence, without a final full stop. */
  readonly message: string
}

/** The configuration of a consumer, and what it cannot express. */
export interface Rendered<C> {
  /** Plain data, as it is written to JSON or YAML. */
  readonly content: C
  /** Empty: the content is exact. */
  readonly lost: readonly Loss[]
}

/** What some prefixes contain beside the known addresses. */
export function added(known: RangeSet, prefixes: readonly Prefix[]): Loss[] {
  const addresses = RangeSet.subtract(RangeSet.fromPrefixes(prefixes), known)
  if (RangeSet.isEmpty(addresses)) return []
  const message = `${RangeSet.size(addresses)} addresses of other networks count as addresses of Pods: ${prefixList(addresses)}`
  return [{ kind: 'added', addresses, message }]
}

/** What is left of some prefixes beside those that a consumer knows. */
export function missing(prefixes: readonly Prefix[], told: readonly Prefix[], why: string): Loss[] {
  const addresses = RangeSet.subtract(RangeSet.fromPrefixes(prefixes), RangeSet.fromPrefixes(told))
  if (RangeSet.isEmpty(addresses)) return []
  const message = `${RangeSet.size(addresses)} addresses of Pods are not known to the consumer, ${why}: ${prefixList(addresses)}`
  return [{ kind: 'missing', addresses, message }]
}

export function setting(message: string): Loss {
  return { kind: 'setting', addresses: RangeSet.empty, message }
}

function prefixList(addresses: RangeSet): string {
  return formatFirst(RangeSet.prefixes(addresses))
}

/** How many prefixes a message names. */
const MAX_SHOWN = 5

/** The first prefixes, and the number of the others. */
export function formatFirst(prefixes: readonly Prefix[]): string {
  const more = prefixes.length - MAX_SHOWN
  const names = prefixes.slice(0, MAX_SHOWN).map(Prefix.format).join(', ')
  return more > 0 ? `${names} and ${more} more prefixes` : names
}
