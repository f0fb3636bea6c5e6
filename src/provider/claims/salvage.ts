import * as Address from '../../cidr/nouns/address.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { salvage } from './address-object.js'

/**
 * What an IPAddress object holds now. Where its address can no longer be read, it is that of
 * before: it was given to somebody, and nobody has taken it back.
 */
export function heldNow(now: IPAddress | undefined, before: IPAddress | undefined): IPAddress | undefined {
  if (now === undefined || before === undefined || now.metadata.uid !== before.metadata.uid) return now ?? before
  if (Address.safeParse(now.spec.address, { zone: 'drop' }).ok) return now
  const { address, prefix } = before.spec
  return { ...now, spec: { ...now.spec, address, prefix } }
}

/** An object that is about to be created, if it is an IPAddress. */
export function addressIn(object: KubeObject): IPAddress | undefined {
  if (!IPAddress.is(object)) return undefined
  const read = IPAddress.safeParse(object)
  return read.ok ? read.value : salvage(object)
}
