// What the tests of `npm run test:cost` measure with.
import { memoryUsage } from 'node:process'
import { setImmediate } from 'node:timers/promises'

/**
 * Collects what nothing refers to any more. What a reference was made of, or asked for, stays until
 * the next turn.
 */
export async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('start with --expose-gc')
  await setImmediate()
  globalThis.gc()
}

/**
 * The bytes in use, collected until no more of them are freed: what earlier tests have left is
 * freed in turns.
 */
export async function memory(): Promise<{ readonly all: number; readonly arrays: number }> {
  let { heapUsed, arrayBuffers } = memoryUsage()
  for (let steady = 0; steady < 5; ) {
    await collectGarbage()
    const now = memoryUsage()
    steady = now.arrayBuffers === arrayBuffers && now.heapUsed > heapUsed - 10_000 ? steady + 1 : 0
    heapUsed = now.heapUsed
    arrayBuffers = now.arrayBuffers
  }
  return { all: heapUsed + arrayBuffers, arrays: arrayBuffers }
}

/** The milliseconds that `action` takes. */
export function msOf(action: () => void): number {
  const start = performance.now()
  action()
  return performance.now() - start
}

/** The milliseconds that the fastest of `attempts` takes: a pause of the machine does not count. */
export function bestMsOf(action: () => void, attempts = 3): number {
  return Math.min(...Array.from({ length: attempts }, () => msOf(action)))
}

/**
 * The milliseconds of 300 calls. Even a search of 10 MB at memory speed takes half a millisecond:
 * 300 of them take far more than any bound of the tests.
 */
export function msOfCalls(action: () => unknown): number {
  return bestMsOf(() => {
    for (let i = 0; i < 300; i++) action()
  })
}
