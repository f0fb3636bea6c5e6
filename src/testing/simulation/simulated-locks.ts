import type { ObjectLocks } from '../../run/task/object-locks.js'
import type { Scheduler } from './scheduler.js'

/** Locks of a worker that awaits only its turn of the scheduler, also while it waits for a lock. */
export function simulatedLocks(locks: ObjectLocks, scheduler: Scheduler, worker: string): ObjectLocks {
  return {
    begin() {
      const holder = locks.begin()
      return {
        isLocked: (ref) => holder.isLocked(ref),
        acquire: (refs) => holder.acquire(refs),
        release: () => holder.release(),
        async wait(ref) {
          let isResumed = false
          void holder.wait(ref).then(() => {
            isResumed = true
          })
          await scheduler.turn(worker, 'waits for a lock', () => isResumed)
        },
      }
    },
  }
}
