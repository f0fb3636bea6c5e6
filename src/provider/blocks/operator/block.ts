import { ROWS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { hasFinalizer, isDeleting } from '../../../crd/meta/object.js'
import { deleteObject, type Effect, type Plan, removeFinalizer } from '../../../plan/index.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import type { OperatorOutcome } from './outcome.js'

/** The input of a plan for a block. */
export interface BlockInput {
  readonly parsed: ParsedBlock
  /** Since when the block is empty in this version, in milliseconds since 1970. */
  readonly emptySinceMs: number | undefined
  /** How long the block may be empty. */
  readonly emptySeconds: number
  /** Whether its pool needs the block, although it is empty. */
  readonly isNeeded: boolean
  readonly nowMs: number
}

/** Whether no row of a block has an owner, is kept or waits. */
export function isEmpty({ entries }: ParsedBlock, nowMs: number): boolean {
  return entries.every(({ untilMs }) => untilMs <= nowMs)
}

/**
 * Deletes a block that is empty for a while. A block that is deleted by hand is removed when it is
 * empty. A row that is added at the last moment is not lost: the deletion is for the version that
 * was seen empty, and no writer adds a row to a block that is being deleted.
 */
export function planBlock(input: BlockInput): Plan<OperatorOutcome> {
  const { parsed, emptySinceMs, emptySeconds, isNeeded, nowMs } = input
  const { object } = parsed
  if (!isEmpty(parsed, nowMs)) {
    const rows = parsed.entries.filter(({ untilMs }) => untilMs > nowMs).length
    const message = `${rows} rows`
    if (isDeleting(object)) return { outcome: { kind: 'kept', message }, effects: [], ...again(parsed, nowMs) }
    const [problem] = parsed.problems
    if (problem !== undefined) return { outcome: { kind: 'broken', message: problem }, effects: [] }
    return { outcome: { kind: 'ready', message }, effects: [], ...again(parsed, nowMs) }
  }
  if (isDeleting(object)) {
    const effects: Effect[] = hasFinalizer(object, ROWS_FINALIZER)
      ? [removeFinalizer(object, ROWS_FINALIZER, 'it has no rows')]
      : []
    return { outcome: { kind: 'going', message: 'deleting the empty block' }, effects }
  }
  if (isNeeded) return { outcome: { kind: 'ready', message: 'empty, and the only one with room' }, effects: [] }
  const waitMs = (emptySinceMs ?? nowMs) + emptySeconds * 1000 - nowMs
  if (waitMs > 0) {
    return {
      outcome: { kind: 'ready', message: 'empty' },
      effects: [],
      requeueAfterSeconds: Math.ceil(waitMs / 1000),
    }
  }
  const why = `it has been empty for ${emptySeconds} s`
  return { outcome: { kind: 'going', message: 'deleting the empty block' }, effects: [deleteObject(object, why)] }
}

/** When something in the block that was released becomes free. */
function again({ entries }: ParsedBlock, nowMs: number): { readonly requeueAfterSeconds?: number } {
  const times = entries.map(({ untilMs }) => untilMs).filter((ms) => ms > nowMs && ms !== Number.POSITIVE_INFINITY)
  if (times.length === 0) return {}
  return { requeueAfterSeconds: Math.ceil((Math.max(...times) - nowMs) / 1000) }
}
