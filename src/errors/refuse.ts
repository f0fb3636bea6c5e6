import { ipamError } from './failure.js'

/** @throws IpamError `INVALID_ARGUMENT`, always */
export function refuse(argument: string, expected: string, got: unknown): never {
  throw ipamError('INVALID_ARGUMENT', { argument, expected, got: String(got) })
}
