import * as Prefix from '../../cidr/nouns/prefix.js'
import type { ClusterNetwork, ClusterNetworkRange } from '../../crd/ipam-kit/cluster-network.js'
import { MAX_RANGES } from '../../crd/ipam-kit/names.js'
import { check } from '../../errors/check.js'
import type { CurrentRange } from './family.js'

/** The ranges of a status, and the number of those left out. */
export interface ListedRanges {
  /** In the order of prefixes. */
  readonly ranges: readonly ClusterNetworkRange[]
  /** How many ranges there are beyond those that a status may have. They are not accepted. */
  readonly omitted: number
  /** When the next time limit ends, in milliseconds since 1970; `undefined`: none is running. */
  readonly nextLimitMs: number | undefined
}

/**
 * The ranges that are `Active`, as canonical CIDR: only these may give subnets to Nodes.
 * `undefined`: the network names no consumers, so all ranges are accepted.
 *
 * O(ranges of the status).
 */
export function acceptedRanges(network: ClusterNetwork | undefined): ReadonlySet<string> | undefined {
  if (network !== undefined)
    check('acceptedRanges', 'network', network, [
      'open',
      { spec: ['open', { consumers: ['list?', 'object'] }], status: ['open?', { ranges: ['list?', 'object'] }] },
    ])

  if (network === undefined || consumersOf(network).length === 0) return undefined
  const ranges = network.status?.ranges ?? []
  return new Set(ranges.filter(({ state }) => state === 'Active').map(({ cidr }) => cidr))
}

/**
 * The ranges of a view for a status, each CIDR once, with the present state of their acceptance.
 *
 * - A range is `Proposed` at first, and `Active` when each consumer has accepted it. A consumer
 *   that has not answered within the time limit counts as having accepted; one that has rejected
 *   never does.
 * - An active range stays active: Nodes use it. So does a range that Nodes use when the status is
 *   written for the first time, unless a consumer has rejected it.
 * - A terminating range keeps whether it was accepted. If it is configured again, an accepted one
 *   that no consumer rejects is active at once. Any other one is proposed again, and its time limit
 *   begins again.
 * - Of two configured ranges of one CIDR, one of which is deleted, the other one counts.
 */
export function listRanges(ranges: readonly CurrentRange[], network: ClusterNetwork, nowMs: number): ListedRanges {
  const before = new Map((network.status?.ranges ?? []).map((range) => [range.cidr, range]))
  const byCidr = new Map<string, CurrentRange[]>()
  for (const range of ranges) {
    const cidr = Prefix.format(range.prefix)
    byCidr.set(cidr, [...(byCidr.get(cidr) ?? []), range])
  }
  // listed ranges stay listed, and new ones have to wait
  const known = [...byCidr.keys()].filter((cidr) => before.has(cidr))
  const cidrs = [...known, ...[...byCidr.keys()].filter((cidr) => !before.has(cidr))].slice(0, MAX_RANGES)
  let nextLimitMs: number | undefined
  const listed = cidrs.map((cidr) => {
    const same = byCidr.get(cidr)!
    const range = same.find(({ phase }) => phase !== 'terminating') ?? same[0]!
    const isTerminating = range.phase === 'terminating'
    const isUsed = same.some(({ isUsed }) => isUsed)
    const answer = answerOf(cidr, before.get(cidr), isUsed, network)
    const proposedAt =
      proposalOf(before.get(cidr), isTerminating || answer === 'accepted') ?? new Date(nowMs).toISOString()
    const limitMs = answer === 'open' && !isTerminating ? limitOf(proposedAt, network) : undefined
    const isAccepted = answer === 'accepted' || (limitMs !== undefined && nowMs >= limitMs)
    if (!isAccepted && limitMs !== undefined) nextLimitMs = Math.min(nextLimitMs ?? limitMs, limitMs)
    const state = isTerminating ? 'Terminating' : isAccepted ? 'Active' : 'Proposed'
    const kept = isTerminating && isAccepted ? { accepted: true } : {}
    return { prefix: range.prefix, range: { cidr, state, ...kept, source: sourceOf(range), proposedAt } as const }
  })
  listed.sort((left, right) => Prefix.compare(left.prefix, right.prefix))
  return { ranges: listed.map(({ range }) => range), omitted: byCidr.size - cidrs.length, nextLimitMs }
}

/**
 * What the consumers of a range have answered in all. `open`: an answer is missing, and none is a
 * rejection.
 */
function answerOf(
  cidr: string,
  before: ClusterNetworkRange | undefined,
  isUsed: boolean,
  network: ClusterNetwork,
): 'accepted' | 'rejected' | 'open' {
  if (before?.state === 'Active') return 'accepted'
  const answers = (network.status?.answers ?? []).filter((answer) => answer.cidr === cidr)
  const answered = consumersOf(network).map((name) => answers.find(({ consumer }) => consumer === name)?.accepted)
  if (answered.includes(false)) return 'rejected'
  // the range has been published since it was accepted
  const wasAccepted = before?.state === 'Terminating' && before.accepted === true
  const isInUse = isUsed && network.status?.ranges === undefined
  return wasAccepted || isInUse || answered.every((accepted) => accepted === true) ? 'accepted' : 'open'
}

/** A range that returns without acceptance is proposed again: its time limit begins now. */
function proposalOf(before: ClusterNetworkRange | undefined, isKept: boolean): string | undefined {
  return isKept || before?.state === 'Proposed' ? before?.proposedAt : undefined
}

function limitOf(proposedAt: string, { spec: { acceptanceSeconds } }: ClusterNetwork): number | undefined {
  return acceptanceSeconds === undefined ? undefined : Date.parse(proposedAt) + acceptanceSeconds * 1000
}

function consumersOf({ spec }: ClusterNetwork): readonly string[] {
  return (spec.consumers ?? []).map(({ name }) => name)
}

/** The kind of a source that is not an object. */
export const FLAG = 'Flag'

/** The longest name of a source. */
const MAX_NAME = 253

function sourceOf({ source, name }: CurrentRange): ClusterNetworkRange['source'] {
  return source === undefined ? { kind: FLAG, name: name.slice(0, MAX_NAME) } : { kind: source.kind, name: source.name }
}
