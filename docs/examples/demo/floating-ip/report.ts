import type { Check } from '../checks.js'
import { cell, joinSections, limited, lines, type RowLimit, section } from '../text.js'
import type { Snapshot } from './snapshot.js'

/** A step as text for people. */
export function formatStep({ title, machines, pool, cloud, calls }: Snapshot, limit: RowLimit): string {
  const machineRows = machines.map(({ name, address, state }) => [name, address, state].map(cell))
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
  return section(
    title,
    joinSections([
      machines.length === 0 ? '' : limited(['MACHINE', 'ADDRESS', 'STATE'], machineRows, limit),
      waiting.length === 0 ? '' : section('Why machines wait', lines(waiting, limit)),
      section('Pool', lines(poolLines, limit)),
      section('Cloud', limited(['FLOATING IP', 'CREATED FOR', 'ATTACHED TO'], cloudRows, limit)),
      section('Calls to the cloud', calls.map(([operation, count]) => `${operation} ${count}`).join(', ') || 'none'),
    ]),
  )
}

/** The same for programs: always with all rows. */
export function documentOf(snapshots: readonly Snapshot[], checks: readonly Check[]): object {
  const steps = snapshots.map(({ title, machines, pool, cloud, calls }) => {
    return { title, machines, pool: pool ?? null, cloud, calls: Object.fromEntries(calls) }
  })
  return { steps, checks }
}
