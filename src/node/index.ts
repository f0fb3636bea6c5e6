/**
 * The clock, timers and random UUIDs of the platform: `now`, `timers`, `sleep` and `uid` of Node,
 * Bun, Deno or a browser. The other entries take them as arguments.
 *
 * @module ipam-kit/node
 */

// The one folder with a clock, timers and randomness: ADR 29 and test/architecture/no-io.test.ts
// allow them here. Nothing else in src/ imports it, and no other file may name these globals.

import { check } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import type { Timers } from '../run/index.js'

declare const setTimeout: (action: () => void, ms: number) => unknown
declare const clearTimeout: (timer: unknown) => void
declare const setImmediate: ((action: () => void) => unknown) | undefined
declare const clearImmediate: (immediate: unknown) => void
declare const crypto: { randomUUID(): string }

/** The longest time of a timer of the platform, in milliseconds: 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * The clock of the platform: milliseconds since 1970.
 *
 * @example
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const store = memoryStore({ now })
 */
export function now(): number {
  return Date.now()
}

/**
 * The clock and the timers of the platform, for a `Controller` or a `LeaderElection`. A timer that
 * was not cancelled keeps a Node process alive.
 */
export const timers: Timers = {
  now,
  after(ms, action) {
    assertMs(ms)
    check('timers.after', 'action', action, 'function')
    // Node calls a timer of 0 ms in the same turn of the event loop if that turn takes long
    if (ms === 0 && typeof setImmediate === 'function') {
      const immediate = setImmediate(action)
      return () => clearImmediate(immediate)
    }
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * A random UUID (RFC 9562, version 4) from `crypto.randomUUID`, for the uids of a store and the
 * identity of a process. A browser has that function on pages that were loaded over HTTPS.
 */
export function uid(): string {
  return crypto.randomUUID()
}

/**
 * Resolves after a time.
 *
 * @param ms from 0 to 2,147,483,647
 * @throws IpamError `INVALID_ARGUMENT` (as a rejection) for any other time
 */
export async function sleep(ms: number): Promise<void> {
  assertMs(ms)
  await new Promise<void>((resolve) => setTimeout(resolve, ms))
}

/** A timer of the platform treats an invalid time as 1 ms. */
function assertMs(ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= LONGEST_MS)) refuse('sleep', 'ms', 'from 0 to 2,147,483,647', ms)
}

export type { Timers } from '../run/index.js'
