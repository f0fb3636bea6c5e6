import { ipamError } from '../errors/index.js'

/** @throws IpamError `INVALID_ARGUMENT` for a bound that would make a run do nothing, or never end */
export function assertLimit(argument: string, value: unknown): void {
  const isBound = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isBound && (value as number) >= 0) return
  throw ipamError('INVALID_ARGUMENT', { argument, expected: 'a whole number from 0', got: String(value) })
}
