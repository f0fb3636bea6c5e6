import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { NetworkRange } from 'ipam-kit/provider/network-view'
import { asciiMap } from 'ipam-kit/render'
import type { Check } from '../checks.js'
import { cell, type Detail, joinSections, limited, lines, section } from '../text.js'
import type { NodeView, RangeView, Snapshot } from './snapshot.js'

/** A step as text for people. */
export function formatStep(seen: Snapshot, detail: Detail): string {
  const nodeRows = seen.nodes.map((node) => Object.values(nodeFields(node)).map(cell))
  const nodes = limited(['NODE', 'IPV4', 'IPV6', 'RANGE', 'STATE'], nodeRows, detail.limit)
  return section(seen.title, joinSections([nodes, ...(detail.isVerbose ? detailsOf(seen, detail) : [])]))
}

/** Ranges, their maps, the network view, and Events. */
function detailsOf({ events, ranges, view }: Snapshot, { limit }: Detail): readonly string[] {
  const rangeRows = ranges.map((range) => Object.values(rangeFields(range)).map(cell))
  const viewRows = viewFields(view).map((family) => Object.values(family).map((value) => cell(value || null)))
  const told = events.map(
    ({ about, type, reason, message }) => `${type} ${about.kind} ${about.name} ${reason}: ${message}`,
  )
  return [
    limited(['RANGE', 'IPV4', 'IPV6', 'SUBNETS', 'IN USE', 'STATE'], rangeRows, limit),
    ...ranges.map(mapOf),
    section(
      'Network view',
      limited(['FAMILY', 'KNOWN', 'ACTIVE', 'TERMINATING', 'NODES', 'IN ONE PREFIX', 'ADDS'], viewRows, limit),
    ),
    told.length === 0 ? '' : section('Events', lines(told, limit)),
  ]
}

/** The same for programs: always with all rows. */
export function documentOf(snapshots: readonly Snapshot[], checks: readonly Check[]): object {
  const steps = snapshots.map(({ title, events, nodes, ranges, view }) => ({
    title,
    nodes: nodes.map(nodeFields),
    ranges: ranges.map(rangeFields),
    view: viewFields(view),
    events: events.map(({ about, type, reason, message }) => ({
      object: `${about.kind} ${about.name}`,
      type,
      reason,
      message,
    })),
  }))
  return { steps, checks }
}

function nodeFields({ name, subnets, range, state }: NodeView) {
  return { name, ipv4: ofFamily(subnets, 4), ipv6: ofFamily(subnets, 6), range, state }
}

function rangeFields({ name, prefixes, total, inUse, state }: RangeView) {
  const used = Math.max(
    ...([4, 6] as const).map((family) => inUse.filter(({ address }) => address.family === family).length),
  )
  return { name, ipv4: ofFamily(prefixes, 4), ipv6: ofFamily(prefixes, 6), total, used, state }
}

/**
 * One row for each family: which addresses Pods have or may get, and what a consumer of one prefix
 * would take for them besides.
 */
function viewFields({ ipv4, ipv6 }: Snapshot['view']) {
  return [ipv4, ipv6].map((view) => {
    const names = (ranges: readonly NetworkRange[]) => ranges.map(({ name }) => name).join(', ')
    const { prefixes, added } = view.summary(1)
    return {
      family: `IPv${view.family}`,
      known: RangeSet.formatPrefixes(view.known).join(', '),
      active: names(view.active),
      terminating: names(view.terminating),
      nodes: view.nodes,
      summary: prefixes.map(Prefix.format).join(', '),
      added: `${added}`,
    }
  })
}

function ofFamily(prefixes: readonly Prefix[], family: 4 | 6): string | null {
  const found = prefixes.find(({ address }) => address.family === family)
  return found === undefined ? null : Prefix.format(found)
}

/** A character for each subnet. One that a range does not give any more is kept back. */
function mapOf({ name, prefixes, inUse, isDeleting }: RangeView): string {
  const addresses = RangeSet.fromPrefixes(prefixes)
  const map = { addresses, available: isDeleting ? RangeSet.empty : addresses, inUse: RangeSet.fromPrefixes(inUse) }
  return section(`Map of ${name}`, asciiMap(map, { columns: 8, maxRows: 1 }).join('\n'))
}
