import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { InCluster, Meta } from 'ipam-kit/crd'
import { asciiMap, asciiMapLegend } from 'ipam-kit/render'
import { cell, type Detail, joinSections, limited, lines, printable, type RowLimit, section, tail } from '../text.js'
import type { Deletion } from './deletion.js'
import { type Finding, formatFinding } from './finding.js'
import { type ClaimView, countPhases, type PoolView, type Snapshot } from './snapshot.js'

/** The state of everything as text for people. */
export function formatReport({ claims, pools }: Snapshot, findings: readonly Finding[], detail: Detail): string {
  const { limit, isVerbose } = detail
  return joinSections([
    section('Claims', claims.length === 0 ? 'none' : claimTable(claims, limit)),
    formatNotes(claims, limit),
    section('Pools', pools.length === 0 ? 'none' : poolTable(pools, limit)),
    ...(isVerbose ? maps(pools, limit) : []),
    formatFindings(findings, limit),
    formatSummary(claims),
  ])
}

/**
 * How things stood before something was deleted: in short, because the report at the end shows it
 * all.
 */
export function formatBefore({ claims }: Snapshot, limit: RowLimit): string {
  const waiting = claims.filter((claim) => claim.phase === 'Pending' || claim.phase === 'Error')
  return section('First run', joinSections([formatSummary(claims), lines(waiting.map(formatNote), limit)], '\n'))
}

/** What a deletion has changed. */
export function formatDeletion({ object, heldBy, waits, changes }: Deletion, limit: RowLimit): string {
  const waited = waits.map(({ seconds, reason }) => `time moves on by ${seconds} s, because ${reason}`)
  const held = heldBy.length === 0 ? [] : [`it is still there, kept by ${heldBy.join(', ')}`]
  const rows = changes.map((change) => [change.object, change.before, change.after].map(cell))
  const changed =
    rows.length === 0 ? 'no claim and no pool has changed' : limited(['OBJECT', 'BEFORE', 'AFTER'], rows, limit)
  return section(`After the deletion of ${object}`, [...waited, ...held].map(printable).concat(changed).join('\n'))
}

/** What a run has done to a store that lasts. */
export interface Work {
  /** The store, as it may be shown. */
  readonly store: string
  readonly created: readonly string[]
  readonly changed: readonly string[]
  readonly unchanged: readonly string[]
  readonly deleted: readonly string[]
  /** The objects that the provider has written. */
  readonly written: number
  /** When the first of the grace periods ends that are running; `null` if none is. */
  readonly releasesInSeconds: number | null
}

export function formatWork(work: Work, limit: RowLimit): string {
  const { store, created, changed, unchanged, deleted, written, releasesInSeconds } = work
  const isIdle = created.length + changed.length + deleted.length + written === 0
  const body = [
    `manifests: ${created.length} created, ${changed.length} changed, ${unchanged.length} unchanged`,
    lines(
      changed.map((object) => `changed: ${object}`),
      limit,
    ),
    `provider: ${written} ${written === 1 ? 'write' : 'writes'}`,
    isIdle ? 'Nothing was to do: everything is as it should be.' : '',
    releasesInSeconds === null ? '' : `The first grace period ends in ${releasesInSeconds} s: run again after that.`,
  ]
  return section(`Store ${printable(store)}`, joinSections(body, '\n'))
}

/** What could not be taken in, and warnings; an empty text if there is nothing of it. */
export function formatFindings(findings: readonly Finding[], limit: RowLimit): string {
  const isWarning = ({ action }: Finding) => action === 'warning'
  const refused = findings.filter((finding) => !isWarning(finding)).map(formatFinding)
  const warnings = findings.filter(isWarning).map(formatFinding)
  return joinSections([
    refused.length === 0 ? '' : section('Refused and skipped', lines(refused, limit)),
    warnings.length === 0 ? '' : section('Warnings', lines(warnings, limit)),
  ])
}

/** The same for programs: always with all rows. */
export function documentOf({ claims, pools }: Snapshot, findings: readonly Finding[], work: Work | undefined): object {
  const count = (action: Finding['action']) => findings.filter((finding) => finding.action === action).length
  return {
    claims,
    pools: pools.map(poolFields),
    refused: findings
      .filter(({ action }) => action !== 'warning')
      .map(({ action, where, object = null, reason }) => ({ action, where, object, reason })),
    summary: { ...countPhases(claims), refused: count('refused') + count('unreadable'), skipped: count('skipped') },
    ...(work === undefined ? {} : { store: workFields(work) }),
  }
}

function claimTable(claims: readonly ClaimView[], limit: RowLimit): string {
  const header = ['NAMESPACE', 'NAME', 'POOL', 'PHASE', 'REASON', 'ADDRESS', 'PREFIX', 'GATEWAY']
  const rows = claims.map(({ namespace, name, pool, phase, reason, address, prefix, gateway }) =>
    [namespace, name, pool, phase, reason, address, prefix, gateway].map(cell),
  )
  return limited(header, rows, limit)
}

function formatNotes(claims: readonly ClaimView[], limit: RowLimit): string {
  const noted = claims.filter((claim) => claim.message !== null)
  return noted.length === 0 ? '' : section('Notes on claims', lines(noted.map(formatNote), limit))
}

function formatNote({ namespace, name, phase, reason, message }: ClaimView): string {
  return `${namespace}/${name}: ${phase} ${reason ?? ''}: ${message ?? ''}`
}

function poolTable(pools: readonly PoolView[], limit: RowLimit): string {
  const header = ['KIND', 'NAMESPACE/NAME', 'TOTAL', 'USED', 'FREE', 'OUT-OF-RANGE']
  const rows = pools.map((view) => {
    const { kind, namespace, name, total, used, free, outOfRange } = poolFields(view)
    return [kind, namespace === null ? name : `${namespace}/${name}`, total, used, free, outOfRange].map(cell)
  })
  return limited(header, rows, limit)
}

/** A picture of each pool: a map of single addresses, or the prefixes in use. */
function maps(pools: readonly PoolView[], limit: RowLimit): string[] {
  const pictures = pools.slice(0, limit).map((view) => {
    const title = Meta.formatRef(Meta.refOf(view.pool))
    const problem = view.problem === null ? '' : printable(view.problem)
    return section(title, joinSections([problem, pictureOf(view, limit)], '\n'))
  })
  return pictures.length === 0 ? [] : [`Map: ${asciiMapLegend}`, ...pictures, tail(pools.length, limit)]
}

function pictureOf({ pool, entries }: PoolView, limit: RowLimit): string {
  if (InCluster.isPrefixPool(pool)) {
    const holders = new Map<string, string[]>()
    for (const { prefix, holder } of entries) {
      const text = Prefix.format(prefix)
      holders.set(text, [...(holders.get(text) ?? []), holder.owner ?? holder.key])
    }
    const rows = Array.from(holders, ([prefix, names]) => [prefix, names.join(', ')])
    return rows.length === 0 ? 'no prefix in use' : limited(['PREFIX', 'HOLDER'], rows, limit)
  }
  const space = InCluster.addressSpace(pool.spec)
  if (!space.ok) return ''
  const { addresses, available } = space.value
  const inUse = RangeSet.fromPrefixes(entries.map((entry) => entry.prefix))
  return asciiMap({ addresses, available, inUse }).join('\n')
}

function poolFields({ pool, counts, problem }: PoolView) {
  const { name, namespace = null } = pool.metadata
  const { total = null, used = null, free = null, outOfRange = null } = counts ?? {}
  return { kind: pool.kind, namespace, name, total, used, free, outOfRange, problem }
}

function workFields({ store, created, changed, unchanged, deleted, written, releasesInSeconds }: Work) {
  const counts = { created: created.length, changed: changed.length, unchanged: unchanged.length }
  return { name: store, ...counts, deleted: deleted.length, written, releasesInSeconds }
}

function formatSummary(claims: readonly ClaimView[]): string {
  const { claims: all, bound, pending, error, ignored } = countPhases(claims)
  return `${all} ${all === 1 ? 'claim' : 'claims'}: ${bound} bound, ${pending} pending, ${error} error, ${ignored} ignored`
}
