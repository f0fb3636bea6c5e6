import { INVALID_ARGUMENT } from './definitions.js'
import { ipamError } from './failure.js'

/**
 * @param of the function as callers write it: `Address.key`
 * @param got a description, or a value
 * @throws IpamError `INVALID_ARGUMENT`, always
 */
export function refuse(of: string, argument: string, expected: string, got: unknown): never {
  throw ipamError(INVALID_ARGUMENT, {
    function: of,
    argument,
    expected,
    got: typeof got === 'string' ? got : shown(got),
  })
}

/**
 * As {@link refuse}, of a value: a text is quoted.
 *
 * @param call the function that makes the expected value of `given`: `Address.parse`
 */
export function refuseIn(of: string, argument: string, expected: string, given: unknown, call?: string): never {
  throw wrongArgument(of, argument, expected, given, call)
}

/** The error that {@link refuseIn} throws. */
export function wrongArgument(of: string, argument: string, expected: string, given: unknown, call?: string) {
  const context = { function: of, argument, expected, got: shown(given) }
  return ipamError(INVALID_ARGUMENT, call === undefined ? context : { ...context, call })
}

/**
 * A short description of a value for a message. It never contains the whole value, which may be
 * long or have no text.
 */
export function shown(given: unknown): string {
  if (typeof given === 'number' || typeof given === 'boolean') return String(given)
  if (typeof given === 'bigint') return shownBigInt(given)
  return typeof given === 'string' ? `the text ${JSON.stringify(given.slice(0, 32))}` : kindOf(given)
}

/** The type of a value in a word: `null` and `array` beside those of `typeof`. */
export function kindOf(given: unknown): string {
  return given === null ? 'null' : Array.isArray(given) ? 'array' : typeof given
}

/** A number above 2^192 is not formatted: a million digits take seconds. */
function shownBigInt(value: bigint): string {
  if (value >= -HUGE && value <= HUGE) return String(value)
  return value < 0n ? 'less than -2^192' : 'more than 2^192'
}

const HUGE = 1n << 192n
