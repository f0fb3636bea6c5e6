import { Address } from 'ipam-kit/cidr'
import type { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { IPPool, OverlappingRangeIPReservation, readReservationName, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { Writer } from './writer.js'

/** An address that has a row, a reservation or both. */
export interface AddressView {
  readonly address: string
  /** `namespace/name` of the Pod of the row. */
  readonly row: string | null
  readonly reservation: string | null
  /** Whether a container was told that it has the address. */
  readonly isTold: boolean
}

/** The objects after a step. */
export interface Snapshot {
  readonly title: string
  readonly addresses: readonly AddressView[]
  /** `namespace/name` of the Pods that exist. */
  readonly pods: readonly string[]
  /** The addresses that containers were told, by Pod. */
  readonly told: ReadonlyMap<string, string>
  readonly events: readonly string[]
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  writers: readonly Writer[],
  { title, events }: Pick<Snapshot, 'title' | 'events'>,
): Promise<Snapshot> {
  const listed = async (kind: Meta.KindInfo) => unwrap(await store.list(kind)).items
  const rows = (await listed(IPPool.info)).flatMap((object) => readRows(IPPool.parse(object)).rows)
  const reservations = (await listed(OverlappingRangeIPReservation.info)).flatMap((object) => {
    const { metadata, spec } = OverlappingRangeIPReservation.parse(object)
    const name = readReservationName(metadata.name)
    return name === undefined ? [] : [{ address: name.address, podref: spec.podref }]
  })
  const pods = (await listed(Pod.info)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  const told = new Map(writers.flatMap((writer) => [...writer.told].map(([pod, text]) => [`shop/${pod}`, text])))
  const all = [...rows, ...reservations].map(({ address }) => address).sort(Address.compare)
  const addresses = [...new Set(all.map(Address.format))].map((address): AddressView => {
    const isHere = (each: { readonly address: Address }) => Address.format(each.address) === address
    const row = rows.find(isHere)?.podref ?? null
    const isTold = [...told].some(([pod, text]) => text === address && pod === row)
    return { address, row, reservation: reservations.find(isHere)?.podref ?? null, isTold }
  })
  return { title, addresses, pods, told, events }
}
