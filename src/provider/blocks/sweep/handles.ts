import { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { deleteObject, modelWatch, type Plan, type PlanTime, type Watch } from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { ownerAbsent } from './owners.js'
import type { Sweep } from './rows.js'

/** The keys of handles. The key of a block is its name. */
export const HANDLES = plannerKeys('handle')
/** After how many seconds a handle with rows is planned again. */
const ROWS_SECONDS = 60

export const handleWatch: Watch<IPHandle> = modelWatch(IPHandle, { indexes: { owner: ({ spec }) => [spec.uid] } })

/** Removes the handle of an owner that does not exist and has no rows. */
export function planHandle(name: string, sweep: Sweep, { nowMs }: PlanTime): Plan<OperatorOutcome> | undefined {
  const entry = sweep.handles?.entry(name)
  const { owners, absences, blocks } = sweep
  const uid = entry?.ok === true ? entry.value.spec.uid : undefined
  const owner = entry?.ok === true ? owners.refOf(entry.value.spec) : undefined
  const isMissing = owner !== undefined && uid !== undefined && !owners.isThere(owner, uid)
  const { requeueAfterSeconds: graceSeconds = 0 } = absences.look(
    HANDLES.format('handle', name),
    isMissing ? [uid] : [],
    nowMs,
  )
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const message = `its owner ${entry.value.spec.owner}`
  if (!isMissing) {
    const stays = owner === undefined ? 'is none that is looked for' : 'is there'
    return { outcome: { kind: 'ready', message: `${message} ${stays}` }, effects: [] }
  }
  const hasRows = blocks.countBy('owner', uid) > 0
  const requeueAfterSeconds = Math.max(graceSeconds, hasRows ? ROWS_SECONDS : 0)
  if (requeueAfterSeconds > 0) {
    const outcome = { kind: 'waiting', message: `${message} is missing${hasRows ? ', and has rows' : ''}` } as const
    return { outcome, effects: [], requeueAfterSeconds }
  }
  const why = `${message} does not exist`
  const proof = ownerAbsent(owner, uid, 'the handle is removed only if its owner does not exist')
  return { outcome: { kind: 'going', message: why }, effects: [...proof, deleteObject(entry.object, why)] }
}
