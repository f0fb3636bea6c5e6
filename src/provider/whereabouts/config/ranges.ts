import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { quote } from '../../../errors/quote.js'
import { excludedAddresses, rangeSpace } from '../choose/space.js'
import type { ConfigIssues } from './issues.js'
import { jsonText, type Members } from './members.js'
import { AddressTexts, notCidr } from './texts.js'
import type { WhereaboutsRange } from './types.js'

type Address = Address.Address

/**
 * The ranges of a configuration: `range` with the bounds and excludes beside it, then those of
 * `ipRanges`. As upstream does, a range without text is left out at the top level, and refused in
 * `ipRanges`.
 */
export function readRanges(ipam: Members, issues: ConfigIssues): readonly WhereaboutsRange[] {
  const reader = new RangeReader(issues)
  const first = ipam.text('range')
  const bounds = reader.bounds(ipam, true)
  const exclude = ipam.texts('exclude')
  const others = ipam.records('ipRanges', 'types.RangeConfiguration').map((members) => ({
    members,
    text: members.text('range') ?? '',
    bounds: reader.bounds(members, false),
    exclude: members.texts('exclude'),
  }))
  const all = first === undefined ? others : [{ members: ipam, text: first, bounds, exclude }, ...others]
  if (first === undefined) orphans(ipam, issues)
  return all.flatMap(({ members, text, ...rest }) => {
    const range = reader.range(members, text, rest)
    if (range !== undefined) reader.judge(members, range)
    return range ?? []
  })
}

/** Fields that say nothing without `range`. */
function orphans(ipam: Members, issues: ConfigIssues): void {
  for (const field of ['range_start', 'range_end', 'exclude']) {
    const value = ipam.given[field]
    const isGiven = Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== ''
    if (isGiven) issues.strict(ipam.path(field), 'has no effect without ipam.range')
  }
}

interface Bounds {
  readonly start?: Address | undefined
  readonly end?: Address | undefined
}

class RangeReader {
  readonly #issues: ConfigIssues
  readonly #texts: AddressTexts

  constructor(issues: ConfigIssues) {
    this.#issues = issues
    this.#texts = new AddressTexts(issues)
  }

  /**
   * @param isDropped whether upstream drops a bound that is no address; in `ipRanges` it refuses it
   */
  bounds(members: Members, isDropped: boolean): Bounds {
    const bound = (field: string) => {
      const given = members.text(field)
      if (given === undefined) return undefined
      const text = isDropped ? undefined : jsonText(`invalid IP address: ${given}`)
      return this.#texts.address(members.path(field), given, text)
    }
    return { start: bound('range_start'), end: bound('range_end') }
  }

  range(
    members: Members,
    text: string,
    { bounds, exclude }: { readonly bounds: Bounds; readonly exclude: readonly string[] },
  ): WhereaboutsRange | undefined {
    const path = members.path('range')
    const dash = text.indexOf('-')
    if (dash < 0) {
      const prefix = this.#texts.prefix(path, text, `invalid CIDR ${text}: ${notCidr(text)}`)
      return prefix && { prefix: Prefix.masked(prefix), ...bounds, exclude }
    }
    // the bounds in the text count, and those beside it do not
    const [from, to] = [text.slice(0, dash), text.slice(dash + 1)]
    const start = this.#texts.address(path, from, `invalid range start IP: ${from}`)
    if (start === undefined) return undefined
    const hint = "(do you have the 'range' parameter set for Whereabouts?)"
    const end = this.#texts.prefix(path, to, `invalid CIDR ${hint} '${to}': ${notCidr(to)}`)
    if (end === undefined) return undefined
    const prefix = Prefix.masked(end)
    if (Prefix.contains(prefix, start)) return { prefix, start, end: end.address, exclude }
    const [cidr, address] = [Prefix.format(prefix), Address.format(start)]
    this.#issues.add(path, `${address} is not in ${cidr}`, `invalid range start for CIDR ${cidr}: ${address}`)
    return undefined
  }

  /** What upstream finds out with the first ADD, or never. */
  judge(members: Members, range: WhereaboutsRange): void {
    const { prefix, start, end, exclude } = range
    const cidr = Prefix.format(prefix)
    const strict = (field: string, message: string) => this.#issues.strict(members.path(field), message)
    for (const [field, bound] of [['range_start', start] as const, ['range_end', end] as const]) {
      if (bound !== undefined && !Prefix.contains(prefix, bound)) {
        strict(field, `${Address.format(bound)} is not in ${cidr}`)
      }
    }
    const isOrdered = start === undefined || end === undefined || start.family !== end.family
    if (!isOrdered && Address.compare(start, end) > 0) {
      strict('range_end', `${Address.format(end)} is before the start ${Address.format(start)}`)
    }
    exclude.forEach((text, index) => {
      const set = excludedAddresses(text)
      if (set === undefined) strict(`exclude[${index}]`, `${quote(text)} is not a CIDR, an address or first-last`)
      else if (set.family !== prefix.address.family) {
        strict(`exclude[${index}]`, `${quote(text)} is IPv${set.family}, and the range is not`)
      }
    })
    const space = rangeSpace(range)
    if (space.kind === 'tooSmall') strict('range', `${cidr} has no address between its first and its last one`)
    if (space.kind === 'space' && space.isEmpty) strict('exclude', `leaves no address of ${cidr}`)
  }
}
