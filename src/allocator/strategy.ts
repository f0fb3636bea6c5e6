import { assertNumber } from '../errors/checks.js'

/**
 * Which of the free addresses comes next. All are deterministic: the same calls give the same
 * addresses.
 *
 * - `lowest`: the lowest one.
 * - `next-fit`: the lowest one behind the last that was given, then from the first one on. A
 *   released address comes back last but for those that were never given.
 * - `random`: the first free one from a random place on, then from the first one on. Writers that
 *   work from stale views collide less.
 * - `least-recently-released`: the lowest one that was never used, then the one that has been free
 *   for the longest time.
 * - `hashed`: the first free one from a place that follows from the sticky key, or else from the
 *   uid of the owner: the same key tends to the same address, also after a restart without any
 *   memory.
 */
export type Strategy =
  | { readonly kind: 'lowest' }
  | { readonly kind: 'next-fit' }
  | { readonly kind: 'random'; readonly seed: number }
  | { readonly kind: 'least-recently-released' }
  | { readonly kind: 'hashed' }

/**
 * How many of the lowest addresses of a Service range of `size` addresses Kubernetes leaves to
 * static requests, as long as it can (KEP-3070): 0 up to 16, else a sixteenth of them, at least 16
 * and at most 256.
 *
 * @example
 * staticBandOf(256) // 16
 * staticBandOf(65536) // 256
 */
export function staticBandOf(size: number): number {
  assertNumber('staticBandOf', 'size', size)
  return size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256)
}
