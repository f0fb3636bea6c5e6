import { assertInteger } from '../rules/arguments.js'

/** How much history a store keeps for its watches. */
export interface HistoryOptions {
  /**
   * The number of changes, of all kinds together, that are kept at least. A watch can begin that
   * far back. A watch that falls further behind has to list again. Each change has the document
   * before and after. From 1 to 1,000,000,000, default 10,000.
   */
  readonly history?: number | undefined
}

export interface History {
  readonly kept: number
  /**
   * The number of further changes before the oldest are removed, because removing many at once is
   * cheaper.
   */
  readonly slack: number
}

const DEFAULT_HISTORY = 10_000
const MAX_HISTORY = 1_000_000_000
const MAX_SLACK = 100

/** @throws IpamError `INVALID_ARGUMENT` */
export function historyOf({ history = DEFAULT_HISTORY }: HistoryOptions): History {
  assertInteger('options.history', history, { min: 1, max: MAX_HISTORY })
  return { kept: history, slack: Math.max(1, Math.min(MAX_SLACK, Math.floor(history / 10))) }
}

/**
 * SQL for the `oldest` of a head row whose revision is `revision` from now on, and has `oldest`
 * still.
 */
export function newOldest(revision: string, oldest: string, { kept, slack }: History): string {
  return `case when ${revision} - ${oldest} >= ${kept + slack} then ${revision} - ${kept} else ${oldest} end`
}
