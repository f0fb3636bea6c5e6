import { mix } from '../../cidr/internal.js'

// Pseudo-random numbers: for distribution, not for secrets.

/** 32 bits of a text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mix(hash)
}

/**
 * The step from one state to the next: 2^32 divided by the golden ratio, so that states are far
 * from each other.
 */
export const STEP = 0x9e3779b9

/** A number from 0 to less than 1, with 52 bits, for a state. */
export function drawn(state: number): number {
  return ((mix(state) >>> 6) * 2 ** 26 + (mix(state ^ 0x5bf03635) >>> 6)) / 2 ** 52
}

/**
 * A number from 0 to size - 1 for a hash. When the size grows from n to m, only (m - n) / m of all
 * hashes get another number, and that is one of the new ones: jump consistent hashing (Lamping and
 * Veach, 2014). O(log size).
 *
 * @param size 1 to 2^52
 */
export function jump(hash: number, size: number): number {
  let state = hash
  let place = 0
  for (let next = 0; next < size; ) {
    place = next
    state = (state + STEP) | 0
    next = Math.floor((place + 1) / (1 - drawn(state)))
  }
  return place
}
