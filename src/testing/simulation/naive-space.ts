import { Address, Prefix, Range } from '../../cidr/index.js'
import type { IPPoolSpec } from '../../crd/ipam-kit/ip-pool.js'

/** Some addresses of one family, from the first to the last. */
export interface Span {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

/**
 * What a pool of addresses gives without being asked for it: lists, cut piece by piece. Shares
 * nothing with how the library finds that but the parsing of texts.
 */
export function spansGivenBy({ subnets, skipEdges }: IPPoolSpec): readonly Span[] {
  const given: Span[] = []
  const kept: Span[] = []
  for (const { cidr, ranges, exclude = [], reserved = [], gateway } of subnets) {
    const whole = spanOf(cidr)
    given.push(...(ranges === undefined ? [whole] : ranges.map(spanOf)))
    kept.push(...exclude.map(spanOf), ...reserved.map(spanOf))
    if (gateway !== undefined) kept.push(spanOf(gateway))
    const { family, first, last } = whole
    const skips = skipEdges === 'always' || (skipEdges === 'auto' && last - first >= 3n)
    if (skips) kept.push({ family, first, last: first }, { family, first: last, last })
  }
  return merged(kept.reduce<readonly Span[]>((left, cut) => left.flatMap((span) => without(span, cut)), given))
}

/** An address, a range or a CIDR. */
export function spanOf(text: string): Span {
  const [first, last] = text.includes('-') ? edgesOf(Range.parse(text)) : edgesOf(prefixOf(text))
  return { family: first.family, first: Address.toBigInt(first), last: Address.toBigInt(last) }
}

function prefixOf(text: string): { readonly first: Address; readonly last: Address } {
  if (!text.includes('/')) return { first: Address.parse(text), last: Address.parse(text) }
  const prefix = Prefix.parse(text)
  return { first: Prefix.first(prefix), last: Prefix.last(prefix) }
}

function edgesOf({ first, last }: { readonly first: Address; readonly last: Address }): readonly [Address, Address] {
  return [first, last]
}

/** What is left of a span when something is cut out of it. */
function without(span: Span, cut: Span): readonly Span[] {
  if (cut.family !== span.family || cut.last < span.first || cut.first > span.last) return [span]
  const before = { ...span, last: cut.first - 1n }
  const behind = { ...span, first: cut.last + 1n }
  return [before, behind].filter(({ first, last }) => first <= last)
}

/** Those that touch each other become one. */
function merged(spans: readonly Span[]): readonly Span[] {
  const sorted = [...spans].sort((a, b) => a.family - b.family || (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const whole: Span[] = []
  for (const span of sorted) {
    const before = whole.at(-1)
    if (before === undefined || before.family !== span.family || before.last + 1n < span.first) whole.push(span)
    else if (span.last > before.last) whole[whole.length - 1] = { ...before, last: span.last }
  }
  return whole
}
