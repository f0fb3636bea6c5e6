// A process of `npm run simulate`: its share of the seeds, one after the other. It tells how far it
// has come, and what goes wrong at once.
import type { SimulationResult } from '../src/testing/simulation/simulate.js'
import { digestOf, sumOfDigests } from './simulate-digest.js'
import { type ChosenFaults, type System, systems } from './simulate-systems.js'

export interface Share {
  readonly system: string
  readonly first: number
  /** From one seed to the next. */
  readonly step: number
  readonly count: number
  readonly writers: number | undefined
  readonly faults: ChosenFaults
}

/** How far a share has come. */
export interface Tally {
  readonly schedules: number
  readonly turns: number
  readonly faults: number
  /**
   * A sum over the hashes of all schedules, in hexadecimal: equal, if every writer did the same in
   * the same order. It does not depend on how the schedules are shared out.
   */
  readonly digest: string
}

export type ShareMessage =
  | { readonly kind: 'tally'; readonly tally: Tally }
  | { readonly kind: 'failed'; readonly result: SimulationResult }

const TELL_EVERY_MS = 1000

async function runShare({ system, first, step, count, writers, faults: chosen }: Share): Promise<void> {
  const { run } = systems[system] as System
  let turns = 0
  let faults = 0
  let digest = ''
  let toldMs = performance.now()
  for (let schedules = 1; schedules <= count; schedules++) {
    const result = await run(first + (schedules - 1) * step, writers, chosen)
    turns += result.schedule.filter(isTurn).length
    faults += result.faults
    digest = sumOfDigests([digest, digestOf(result)])
    if (result.problems.length > 0) await tell({ kind: 'failed', result })
    if (schedules < count && performance.now() - toldMs < TELL_EVERY_MS) continue
    toldMs = performance.now()
    await tell({ kind: 'tally', tally: { schedules, turns, faults, digest } })
  }
}

/** Whether a line of a schedule is a turn, and not a note on what happened in one. */
function isTurn(line: string): boolean {
  return !line.includes(':   ')
}

function tell(message: ShareMessage): Promise<void> {
  return new Promise((resolve) => {
    // whom it cannot tell is gone, and with it the use of all that
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : process.exit(1)))
  })
}

await runShare(JSON.parse(process.argv[2] as string) as Share)
process.disconnect()
process.exit(0)
