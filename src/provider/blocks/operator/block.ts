import { ROWS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { hasFinalizer, isDeleting } from '../../../crd/meta/object.js'
import { deleteObject, type Effect, type Plan, removeFinalizer } from '../../../plan/index.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import type { OperatorOutcome } from './outcome.js'

/** What a plan for a block is made from. */
export interface BlockInput {
  readonly parsed: ParsedBlock
  /** Since when it is seen empty, in this version. */
  readonly emptySinceMs: number | undefined
  /** How long it may be empty. */
  readonly emptySeconds: number
  /** Whether its pool has use for it, empty as it is. */
  readonly isNeeded: boolean
  readonly nowMs: number
}

/** Whether nobody has anything in a block, and nothing in it is kept or waits. */
export function isEmpty({ entries }: ParsedBlock, nowMs: number): boolean {
  return entries.every(({ untilMs }) => untilMs <= nowMs)
}

/**
 * A block that is empty for a while goes; one that is deleted by hand goes when it is empty. A row
 * that somebody adds at the last moment is not lost: the deletion is for the version that was seen
 * to be empty, and nobody adds a row to a block that is being deleted.
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
      ? [removeFinalizer(object, ROWS_FINALIZER, 'nobody has anything in it')]
      : []
    return { outcome: { kind: 'going', message: 'it is empty' }, effects }
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
  const why = `it is empty for ${emptySeconds} s`
  return { outcome: { kind: 'going', message: 'it is empty' }, effects: [deleteObject(object, why)] }
}

/** When something in it that was given back is free. */
function again({ entries }: ParsedBlock, nowMs: number): { readonly requeueAfterSeconds?: number } {
  const times = entries.map(({ untilMs }) => untilMs).filter((ms) => ms > nowMs && ms !== Number.POSITIVE_INFINITY)
  if (times.length === 0) return {}
  return { requeueAfterSeconds: Math.ceil((Math.max(...times) - nowMs) / 1000) }
}
