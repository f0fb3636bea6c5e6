import * as Address from '../../cidr/nouns/address.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { salvage } from './address-object.js'

/** Whether the address of an IPAddress can be read. */
export function hasAddress({ spec }: IPAddress): boolean {
  return Address.safeParse(spec.address, { zone: 'drop' }).ok
}

/** The IPAddress in an object that is about to be created; `undefined` for other kinds. */
export function addressIn(object: KubeObject): IPAddress | undefined {
  if (!IPAddress.is(object)) return undefined
  const read = IPAddress.safeParse(object)
  return read.ok ? read.value : salvage(object)
}
