import type { Check } from '../checks.js'
import { cell, type Detail, joinSections, limited, lines, section } from '../text.js'
import type { Snapshot } from './snapshot.js'

/** A step as text for people. */
export function formatStep(seen: Snapshot, detail: Detail): string {
  const rows = seen.machines.map(({ name, address, state }) => [name, address, state].map(cell))
  const none = detail.isVerbose ? '' : 'There is no machine.'
  const machines = rows.length === 0 ? none : limited(['MACHINE', 'ADDRESS', 'STATE'], rows, detail.limit)
  return section(seen.title, joinSections([machines, ...(detail.isVerbose ? detailsOf(seen, detail) : [])]))
}

/** Why machines wait, the pool, the cloud, and the calls to it. */
function detailsOf({ machines, pool, cloud, calls }: Snapshot, { limit }: Detail): readonly string[] {
  const cloudRows = cloud.map(({ address, createdFor, attached }) => [address, createdFor || null, attached].map(cell))
  const list = (texts: readonly string[]) => texts.join(', ') || '-'
  const poolLines =
    pool === undefined
      ? ['deleted']
      : [
          `claimed    ${list(pool.claimed)}`,
          `available  ${list(pool.available)}`,
          `failed     ${list(pool.failed)}`,
          `state      ${pool.state ?? '-'}`,
        ]
  const waiting = [...new Set(machines.filter(({ address }) => address === null).map(({ message }) => message))]
  return [
    waiting.length === 0 ? '' : section('Why machines wait', lines(waiting, limit)),
    section('Pool', lines(poolLines, limit)),
    section('Cloud', limited(['FLOATING IP', 'CREATED FOR', 'ATTACHED TO'], cloudRows, limit)),
    section('Calls to the cloud', calls.map(([operation, count]) => `${operation} ${count}`).join(', ') || 'none'),
  ]
}

/** The same for programs: always with all rows. */
export function documentOf(snapshots: readonly Snapshot[], checks: readonly Check[]): object {
  const steps = snapshots.map(({ title, machines, pool, cloud, calls }) => {
    return { title, machines, pool: pool ?? null, cloud, calls: Object.fromEntries(calls) }
  })
  return { steps, checks }
}
