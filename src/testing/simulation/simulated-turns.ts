import type { TaskTurns } from '../../run/index.js'

/** Turns that come whenever they come, too early too: who waits awaits nothing but this. */
export function simulatedTurns(wait: () => Promise<void>): TaskTurns {
  const nothing = () => {}
  return { begin: nothing, end: nothing, pass: nothing, wait }
}

/** Turns that are there at once. */
export const NO_TURNS: TaskTurns = simulatedTurns(async () => {})
