import { refuse } from '../../errors/refuse.js'
import { format } from '../nouns/address-core.js'
import type { Address, Address4 } from '../nouns/types.js'
import { assertAddress } from '../text/checks.js'

/** Guards a parameter against callers without types, or with a cast too many. */
export function assertIPv4(address: Address4, argument: string): void {
  assertAddress(argument, address)
  if ((address as Address).family === 4) return
  refuse(argument, 'an IPv4 address', format(address))
}
