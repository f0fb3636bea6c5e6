/** A time that is earlier than the last one by up to this is late: the clock was not set back. */
const LATE_MS = 1000

/**
 * Makes a function that turns times of a clock into times that never go back. When the clock is set
 * back, they continue from the last one, and are ahead of the clock after that. When it is set
 * forward, they are set forward as well.
 */
export function steadyClock(): (nowMs: number) => number {
  let last: { readonly clockMs: number; readonly steadyMs: number } | undefined
  return (nowMs) => {
    if (!Number.isFinite(nowMs)) return nowMs
    const elapsedMs = nowMs - (last?.clockMs ?? nowMs)
    // the time of a result may be noted late
    if (last !== undefined && elapsedMs < 0 && elapsedMs >= -LATE_MS) return last.steadyMs
    const steadyMs = last === undefined ? nowMs : last.steadyMs + Math.max(0, elapsedMs)
    last = { clockMs: nowMs, steadyMs }
    return steadyMs
  }
}
