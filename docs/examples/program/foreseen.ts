import { isIpamError } from 'ipam-kit/errors'
import { StoreNotOpened } from '../open-store.js'
import { FlagError } from './flags.js'

/** What ends a program, in words. Errors that are not foreseen are defects: with their stack. */
export function foreseen(error: unknown): string {
  const isForeseen = error instanceof StoreNotOpened || error instanceof FlagError || isIpamError(error)
  if (isForeseen || !(error instanceof Error)) return String((error as Error)?.message ?? error)
  return error.stack ?? error.message
}
