import * as Address from '../../cidr/nouns/address.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { salvage } from './address-object.js'

/**
 * What an IPAddress object holds now. If its address can no longer be read, it still holds the
 * address of before, which was never released.
 */
export function heldNow(now: IPAddress | undefined, before: IPAddress | undefined): IPAddress | undefined {
  if (now === undefined || before === undefined || now.metadata.uid !== before.metadata.uid) return now ?? before
  if (Address.safeParse(now.spec.address, { zone: 'drop' }).ok) return now
  const { address, prefix } = before.spec
  return { ...now, spec: { ...now.spec, address, prefix } }
}

/** The IPAddress in an object that is about to be created; `undefined` for other kinds. */
export function addressIn(object: KubeObject): IPAddress | undefined {
  if (!IPAddress.is(object)) return undefined
  const read = IPAddress.safeParse(object)
  return read.ok ? read.value : salvage(object)
}
