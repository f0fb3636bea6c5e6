import { check } from '../errors/check.js'

/**
 * Decides which free address is next. All strategies are deterministic: the same calls give the
 * same addresses.
 *
 * - `lowest`: the lowest one.
 * - `next-fit`: the lowest one after the last given one, then from the first one. A release does
 *   not move this position.
 * - `random`: the first free one from a random position, then from the first one. Writers with
 *   stale caches collide less.
 * - `least-recently-released`: the lowest one that was never used, then the one that was released
 *   first.
 * - `hashed`: the first free one from a position that the sticky key determines, or else the uid of
 *   the owner. The same key usually gets the same address, also after a restart without stored
 *   state.
 */
export type Strategy =
  | { readonly kind: 'lowest' }
  | { readonly kind: 'next-fit' }
  | { readonly kind: 'random'; readonly seed: number }
  | { readonly kind: 'least-recently-released' }
  | { readonly kind: 'hashed' }

/**
 * The static band of a Service range of `size` addresses in Kubernetes (KEP-3070): the number of
 * the lowest addresses that are given last to requests without an address. It is 0 for up to 16
 * addresses, else a sixteenth of them, at least 16 and at most 256.
 *
 * @example
 * staticBandOf(256) // 16
 * staticBandOf(65536) // 256
 */
export function staticBandOf(size: number): number {
  check('staticBandOf', 'size', size, 'number')
  return size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256)
}
