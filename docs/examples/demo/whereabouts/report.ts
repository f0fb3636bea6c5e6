import type { Check } from '../checks.js'
import { cell, type Detail, joinSections, limited, lines, type RowLimit, section } from '../text.js'
import type { AddressView, Snapshot } from './snapshot.js'
import type { Writer } from './writer.js'

/** A step as text for people. */
export function formatStep({ title, addresses, events, upgrade, pods }: Snapshot, detail: Detail): string {
  const { limit, isVerbose } = detail
  const rows = addresses.map((view) => {
    const blocks = view.block === undefined ? [] : [view.block]
    return [view.address, view.row, view.reservation, ...blocks, stateOf(view, pods)].map(cell)
  })
  const header = ['ADDRESS', 'ROW', 'RESERVATION', ...(upgrade === undefined ? [] : ['BLOCK']), 'STATE']
  return section(
    title,
    joinSections([
      addresses.length === 0 ? 'No address is in use.' : limited(header, rows, limit),
      !isVerbose || upgrade === undefined || upgrade.length === 0 ? '' : section('Upgrade', lines(upgrade, limit)),
      !isVerbose || events.length === 0 ? '' : section('Events', lines(events, limit)),
    ]),
  )
}

/** What the row, the reservation, the block and the Pod say of an address together. */
function stateOf({ row, reservation, block, isTold }: AddressView, pods: readonly string[]): string {
  const isThere = pods.includes(row ?? reservation ?? block ?? '')
  const isOfBlock = row === null && reservation === null
  if (row === null && !isOfBlock) return 'reservation without a row'
  if (reservation === null && !isOfBlock) return 'row without a reservation'
  if (!isThere) return 'the Pod does not exist'
  return isTold ? 'in use' : 'not told to a container'
}

export function formatWriters(writers: readonly Writer[], limit: RowLimit): string {
  const rows = writers.map((writer) => Object.values(writerFields(writer)).map(cell))
  return section('Writers', limited(['NODE', 'CALLS', 'READS', 'WRITES', 'CONFLICTS'], rows, limit))
}

/** The same for programs: always with all rows. */
export function documentOf(
  snapshots: readonly Snapshot[],
  writers: readonly Writer[],
  checks: readonly Check[],
): object {
  const steps = snapshots.map(({ title, addresses, pods, events, upgrade }) => {
    return { title, addresses, pods, events, upgrade }
  })
  return { steps, writers: writers.map(writerFields), checks }
}

function writerFields({ node, calls, store }: Writer) {
  return { node, calls, reads: store.reads, writes: store.written.length, conflicts: store.refused }
}
