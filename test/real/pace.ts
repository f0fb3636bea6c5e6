import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

// Limits of time are written for a quiet machine with two cores. This machine may be slower, or
// busy with other work: it is measured once, and every limit, lease and pause of the tests is
// longer by the result.

const ROUNDS = 5
const STEPS = 1e8
/** How long a round takes on a quiet machine. */
const QUIET_MS = 100
/** No test waits longer than so many times what it would on a quiet machine. */
const MOST = 10

/**
 * How many times as long as on a quiet machine work takes here: from 1 to 10. The processes that a
 * run starts take over what it has measured.
 */
export const slowness = inherited() ?? measured()
process.env.IPAM_KIT_SLOWNESS = slowness.toFixed(2)

/** What is `time` on a quiet machine, in the same unit. */
export function paced(time: number): number {
  return Math.ceil(time * slowness)
}

/**
 * Waits for something that has no end to be seen, such as that a client has noticed a closed
 * connection.
 */
export async function pause(ms: number): Promise<void> {
  await sleep(paced(ms))
}

function inherited(): number | undefined {
  const value = Number(process.env.IPAM_KIT_SLOWNESS)
  return value >= 1 ? value : undefined
}

function measured(): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now()
    spin()
    return performance.now() - start
  })
  const median = times.sort((left, right) => left - right)[ROUNDS >> 1]!
  // a kernel favours a process that has just begun: for one that goes on, what counts is how many
  // share the processors
  const shares = loadavg()[0]! / availableParallelism()
  return Math.min(MOST, Math.max(1, median / QUIET_MS, shares))
}

function spin(): number {
  let state = 1
  for (let step = 0; step < STEPS; step++) state = (Math.imul(state, 31) + step) | 0
  return state
}
