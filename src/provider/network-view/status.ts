import { hashText } from '../../allocator/util/hashing.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { ConditionUpdate } from '../../claim/conditions.js'
import { setCondition } from '../../claim/index.js'
import type {
  ClusterNetwork,
  ClusterNetworkFamily,
  ClusterNetworkRange,
  ClusterNetworkStatus,
} from '../../crd/ipam-kit/cluster-network.js'
import { MAX_KNOWN_PREFIXES } from '../../crd/ipam-kit/names.js'
import { plainJson, sameJson } from '../../crd/meta/patch.js'
import type { Absences } from '../../plan/index.js'
import { FLAG, listRanges } from './acceptance.js'
import type { AssignerType } from './assigner.js'
import type { CurrentRange, LedgerFamilyView } from './family.js'
import type { LedgerView } from './ledger-view.js'
import type { ConflictParty, NetworkConflict } from './view.js'

type RangeSet = RangeSet.RangeSet

/** The fields of the status that the planner writes. Consumers write their own answers. */
type OwnStatus = Pick<ClusterNetworkStatus, 'observedGeneration'> & {
  readonly [field in 'assigner' | 'families' | 'ranges' | 'hash' | 'conditions']-?: NonNullable<
    ClusterNetworkStatus[field]
  >
}

/** The status for a view, and how it differs from the published one. */
export interface NetworkStatus {
  /** The fields that differ. */
  readonly patch: Partial<OwnStatus>
  /**
   * `details`: only numbers of Nodes and the message of a condition differ, which every Node
   * changes.
   */
  readonly change: 'none' | 'details' | 'ranges'
  /** When time alone changes the status: a time limit, or the end of a grace period. */
  readonly nextSeconds: number | undefined
  readonly status: OwnStatus
}

/** Whether what is in use and what is configured agree. */
const CONSISTENT = 'Consistent'

/** The input of a status, beside the view. */
export interface StatusInput {
  readonly network: ClusterNetwork
  readonly assigner: AssignerType
  /** Since when published ranges are missing in the view. */
  readonly absences: Absences
  readonly nowMs: number
}

/**
 * The status of a ClusterNetwork from a view. Its size does not depend on the number of Nodes.
 * O(prefixes of `known` + ranges + n log n) for n subnets in no range.
 */
export function networkStatus(view: LedgerView, input: StatusInput): NetworkStatus {
  const { network, assigner, nowMs } = input
  const views = [view.ipv4, view.ipv6]
  const current = views.flatMap((family) => family.current)
  const { leaving, requeueAfterSeconds } = leavingRanges(current, input)
  const { ranges, omitted, nextLimitMs } = listRanges([...current, ...leaving], network, nowMs)
  const known = RangeSet.union(view.known, RangeSet.fromPrefixes(leaving.map(({ prefix }) => prefix)))
  const before = network.status ?? {}
  const updates = [readyOf(omitted), consistencyOf(view)].map((update) => ({
    ...update,
    observedGeneration: network.metadata.generation,
  }))
  const now = new Date(nowMs).toISOString()
  const status: OwnStatus = {
    observedGeneration: network.metadata.generation,
    assigner,
    families: views.flatMap((family) => familyOf(family, known, ranges)),
    ranges,
    hash: hashOf(known, ranges),
    conditions: updates.reduce((conditions, update) => setCondition(conditions, update, now), before.conditions ?? []),
  }
  const fields = Object.entries(status).filter(([field, value]) => {
    const had: unknown = before[field as keyof OwnStatus]
    return value !== undefined && !sameJson(plainJson(had), plainJson(value))
  })
  const isRough = sameJson(roughly(before), roughly(status))
  const change = fields.length === 0 ? 'none' : isRough ? 'details' : 'ranges'
  const limitSeconds = nextLimitMs === undefined ? [] : [Math.max(1, Math.ceil((nextLimitMs - nowMs) / 1000))]
  const waits = [...limitSeconds, ...(requeueAfterSeconds === undefined ? [] : [requeueAfterSeconds])]
  const nextSeconds = waits.length === 0 ? undefined : Math.min(...waits)
  return { patch: Object.fromEntries(fields), change, nextSeconds, status }
}

/** A status without the fields that every Node changes. */
function roughly({ families = [], conditions = [], observedGeneration, assigner, ranges, hash }: ClusterNetworkStatus) {
  return plainJson({
    observedGeneration,
    assigner,
    ranges,
    hash,
    families: families.map(({ nodes, ...family }) => family),
    conditions: conditions.map(({ type, status, reason, message }) =>
      type === CONSISTENT ? { type, status, reason } : { type, status, reason, message },
    ),
  })
}

/**
 * Published ranges that have left the view, for the grace period. A watch of ranges may be ahead of
 * that of Nodes: a Node may have a subnet of such a range that was not observed yet.
 */
function leavingRanges(current: readonly CurrentRange[], { network, absences, nowMs }: StatusInput) {
  const present = new Set(current.map(({ prefix }) => Prefix.format(prefix)))
  const missing = (network.status?.ranges ?? []).filter(({ cidr }) => !present.has(cidr))
  const cidrs = missing.map(({ cidr }) => cidr)
  const { due, requeueAfterSeconds } = absences.look('ranges', cidrs, nowMs)
  const leaving = missing.flatMap(({ cidr, source: { kind, name } }): CurrentRange[] => {
    const prefix = Prefix.safeParse(cidr)
    if (due.has(cidr) || !prefix.ok) return []
    const source = kind === FLAG ? undefined : { apiVersion: '', kind, name }
    return [{ name, source, prefix: prefix.value, phase: 'terminating', isUsed: false }]
  })
  return { leaving, requeueAfterSeconds }
}

function familyOf(
  view: LedgerFamilyView,
  all: RangeSet,
  ranges: readonly ClusterNetworkRange[],
): ClusterNetworkFamily[] {
  const own = ranges.filter(({ cidr }) => cidr.includes(':') === (view.family === 6))
  const known = view.family === 4 ? { ...RangeSet.empty, v4: all.v4 } : { ...RangeSet.empty, v6: all.v6 }
  if (own.length === 0 && RangeSet.isEmpty(known)) return []
  const { prefixes, added } = RangeSet.cover(known, { maxPrefixes: MAX_KNOWN_PREFIXES })
  const count = (state: ClusterNetworkRange['state']) => own.filter((range) => range.state === state).length
  return [
    {
      family: `IPv${view.family}`,
      known: prefixes.map(Prefix.format),
      exact: added === 0n,
      foreignAddresses: String(added),
      active: count('Active'),
      terminating: count('Terminating'),
      proposed: count('Proposed'),
      nodes: view.nodes,
    },
  ]
}

/**
 * A hash of all known addresses and of the states of ranges. 64 bits: enough to notice a change,
 * not a protection against an attacker.
 */
function hashOf(known: RangeSet, ranges: readonly ClusterNetworkRange[]): string {
  const text = [
    ...RangeSet.prefixes(known).map(Prefix.format),
    ...ranges.map(({ cidr, state }) => `${cidr} ${state}`),
  ].join()
  return [text, `;${text}`].map((part) => (hashText(part) >>> 0).toString(16).padStart(8, '0')).join('')
}

function readyOf(omitted: number): ConditionUpdate {
  if (omitted === 0) return { type: 'Ready', status: 'True', reason: 'Published', message: '' }
  const message = `${omitted} more ranges are known, and not listed: Nodes get no subnets from them where consumers have to accept`
  return { type: 'Ready', status: 'False', reason: 'TooManyRanges', message }
}

/** How many conflicts, orphans and problems a message names of each. */
const MAX_SHOWN = 3

function consistencyOf(view: LedgerView): ConditionUpdate {
  const views = [view.ipv4, view.ipv6]
  const conflicts = views.flatMap((family) => family.conflicts)
  const orphanCount = view.ipv4.orphans.length + view.ipv6.orphans.length
  const parts: string[] = []
  if (conflicts.length > 0) {
    const more = views.some(({ hasMoreConflicts }) => hasMoreConflicts) ? ' or more' : ''
    parts.push(
      `conflicts: ${conflicts.length}${more} (${sentenceList(conflicts.slice(0, MAX_SHOWN).map(formatConflict))})`,
    )
  }
  if (orphanCount > 0) parts.push(`subnets of Nodes in no range: ${orphanCount}`)
  if (view.problemCount > 0) {
    const sentences = view.problems.slice(0, MAX_SHOWN).map(({ about, message }) => `${about}: ${message}`)
    parts.push(`objects with problems: ${view.problemCount} (${sentenceList(sentences)})`)
  }
  if (parts.length === 0) return { type: CONSISTENT, status: 'True', reason: 'Consistent', message: '' }
  const reason = conflicts.length > 0 ? 'CIDRConflict' : orphanCount > 0 ? 'CIDRNotOwned' : 'UnreadableCIDR'
  return { type: CONSISTENT, status: 'False', reason, message: parts.join(', ') }
}

function sentenceList(sentences: readonly string[]): string {
  return sentences.join('; ')
}

function formatConflict({ between: [left, right] }: NetworkConflict): string {
  return `${formatParty(left)} overlaps ${formatParty(right)}`
}

const PARTIES = { node: 'Node', range: 'range', service: 'Service range', pool: 'pool' } as const

function formatParty({ kind, name, prefix }: ConflictParty): string {
  return `${Prefix.format(prefix)} of ${PARTIES[kind]} ${name}`
}
