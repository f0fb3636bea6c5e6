import { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { refOf } from '../../../crd/meta/object.js'
import { modelWatch, type Parsed, type Plan, type PlanTime, type Watch } from '../../../plan/index.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { type Owners, ownerAbsent } from './owners.js'

/** A handle has this before its name, and a block nothing. */
const KEY = 'handle '
/** When it looks again for rows that have to go first. */
const ROWS_SECONDS = 60

export const handleWatch: Watch<IPHandle> = modelWatch(IPHandle, { indexes: { owner: ({ spec }) => [spec.uid] } })

export function handleKey(name: string): string {
  return KEY + name
}

/** The name of the handle that a key is for; `undefined`: it is for something else. */
export function handleIn(key: string): string | undefined {
  return key.startsWith(KEY) ? key.slice(KEY.length) : undefined
}

/** What a plan for a handle is made from. */
export interface HandleInput {
  readonly owners: Owners
  /** Whether the owner has rows. */
  readonly hasRows: (uid: string) => boolean
  /** Since when owners are missing, by uid. */
  readonly missing: Map<string, number>
  readonly graceSeconds: number
}

/** Removes the handle of an owner that is gone and has no rows any more. */
export function planHandle(
  entry: Parsed<IPHandle>,
  { owners, hasRows: hasRowsOf, missing, graceSeconds }: HandleInput,
  { nowMs }: PlanTime,
): Plan<OperatorOutcome> {
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const { spec, metadata } = entry.value
  const owner = owners.refOf(spec)
  const message = `its owner ${spec.owner}`
  if (owner === undefined || metadata.uid === undefined || owners.isThere(owner, spec.uid)) {
    missing.delete(spec.uid)
    const stays = owner === undefined ? 'is none that is looked for' : 'is there'
    return { outcome: { kind: 'ready', message: `${message} ${stays}` }, effects: [] }
  }
  const sinceMs = missing.get(spec.uid)
  if (sinceMs === undefined) missing.set(spec.uid, nowMs)
  const hasRows = hasRowsOf(spec.uid)
  const leftMs = Math.max((sinceMs ?? nowMs) + graceSeconds * 1000 - nowMs, hasRows ? ROWS_SECONDS * 1000 : 0)
  if (sinceMs === undefined || leftMs > 0) {
    const outcome = { kind: 'waiting', message: `${message} is missing${hasRows ? ', and has rows' : ''}` } as const
    return { outcome, effects: [], requeueAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) }
  }
  const { uid, resourceVersion } = metadata
  const why = `${message} is gone`
  return {
    outcome: { kind: 'going', message: why },
    effects: [
      ownerAbsent(owner, spec.uid, 'a handle goes only if its owner is gone'),
      { kind: 'delete', ref: refOf(entry.object), if: { uid, resourceVersion }, why },
    ],
  }
}
