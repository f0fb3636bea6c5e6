import { check, type KindOf } from '../errors/check.js'

/** A condition as `metav1.Condition` has it. Timestamps are RFC 3339 text. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** When `status` last changed. */
  readonly lastTransitionTime: string
  /** CamelCase, at least one character: the API server refuses an empty one. */
  readonly reason: string
  readonly message: string
  /** The generation of the object that the condition speaks of. */
  readonly observedGeneration?: number | undefined
}

/** What a controller says of one condition type; the time is added by {@link setCondition}. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime'>

/** The longest message that `metav1.Condition` takes, in characters. */
const MAX_MESSAGE = 32768

const UPDATE: KindOf<ConditionUpdate> = [
  'open',
  { type: 'text', status: ['one', { True: 1, False: 1, Unknown: 1 }], reason: 'text', message: 'text' },
]

/**
 * The list with one condition set. `lastTransitionTime` changes only when `status` does; other
 * conditions and their order stay. A message that is too long for the API server is cut and ends in
 * `…`. Returns the argument itself if nothing changes, so that a caller can see that there is
 * nothing to write.
 *
 * @param now RFC 3339 text
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  update: ConditionUpdate,
  now: string,
): readonly Condition[] {
  if (conditions !== undefined) check('setCondition', 'conditions', conditions, ['list', 'object'])
  check('setCondition', 'update', update, UPDATE)
  check('setCondition', 'now', now, 'text')

  const list = conditions ?? []
  const index = list.findIndex((condition) => condition.type === update.type)
  const before = list[index]
  const next: Condition = {
    ...update,
    message: shortened(update.message),
    lastTransitionTime: before?.status === update.status ? before.lastTransitionTime : now,
  }
  if (before === undefined) return [...list, next]
  return same(before, next) ? list : list.with(index, next)
}

/** The condition of a type, if there is one. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  if (conditions !== undefined) check('findCondition', 'conditions', conditions, ['list', 'object'])
  check('findCondition', 'type', type, 'text')

  return conditions?.find((condition) => condition.type === type)
}

function shortened(message: string): string {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message
}

function same(left: Condition, right: Condition): boolean {
  return (
    left.status === right.status &&
    left.reason === right.reason &&
    left.message === right.message &&
    left.observedGeneration === right.observedGeneration &&
    left.lastTransitionTime === right.lastTransitionTime
  )
}
