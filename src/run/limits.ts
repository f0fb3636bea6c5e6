import { ipamError } from '../errors/index.js'

/** @throws IpamError `INVALID_ARGUMENT` for what is no bound. Infinity is one: without an end, on purpose */
export function assertLimit(argument: string, value: unknown): void {
  const isBound = Number.isInteger(value) || value === Number.POSITIVE_INFINITY
  if (isBound && (value as number) >= 0) return
  throw ipamError('INVALID_ARGUMENT', { argument, expected: 'a whole number from 0, or Infinity', got: String(value) })
}
