import type { TaskTurns } from '../../run/task/task-turns.js'
import type { Scheduler } from './scheduler.js'

/**
 * Turns of a worker that waits for nothing but its turn of the scheduler, which comes when it may
 * continue.
 */
export function simulatedTurns(turns: TaskTurns, scheduler: Scheduler, worker: string): TaskTurns {
  return {
    begin() {
      const turn = turns.begin()
      return {
        isBusy: (ref) => turn.isBusy(ref),
        writes: (refs) => turn.writes(refs),
        pass: () => turn.pass(),
        async wait(ref) {
          let goesOn = false
          void turn.wait(ref).then(() => {
            goesOn = true
          })
          await scheduler.turn(worker, 'waits for another', () => goesOn)
        },
      }
    },
  }
}
