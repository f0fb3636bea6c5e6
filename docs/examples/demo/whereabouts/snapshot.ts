import { Address, Prefix } from 'ipam-kit/cidr'
import type { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPPool, OverlappingRangeIPReservation, readReservationName, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { Writer } from './writer.js'

/** An address that has a row, a reservation or both, or a row of a block. */
export interface AddressView {
  readonly address: string
  /** `namespace/name` of the Pod of the row. */
  readonly row: string | null
  readonly reservation: string | null
  /** `namespace/name` of the Pod that has it in a block. Left out: no pool is upgraded to blocks. */
  readonly block?: string | null
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
  /** Whether the rows of blocks count, and those of the pool do not. */
  readonly isOnBlocks: boolean
  /** How the tasks of an upgrade have ended. Left out: before the upgrade. */
  readonly upgrade?: readonly string[] | undefined
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  writers: readonly Writer[],
  { title, events, upgrade }: Pick<Snapshot, 'title' | 'events' | 'upgrade'>,
): Promise<Snapshot> {
  const listed = async (kind: Meta.KindInfo) => unwrap(await store.list(kind)).items
  const pools = await listed(IPPool.info)
  const rows = pools.flatMap((object) => readRows(IPPool.parse(object)).rows)
  const isOnBlocks = pools.some(({ metadata }) =>
    ['blocks', 'finished'].includes(metadata.annotations?.['ipam-kit.dev/upgrade'] ?? ''),
  )
  const reservations = (await listed(OverlappingRangeIPReservation.info)).flatMap((object) => {
    const { metadata, spec } = OverlappingRangeIPReservation.parse(object)
    const name = readReservationName(metadata.name)
    return name === undefined ? [] : [{ address: name.address, podref: spec.podref }]
  })
  const pods = (await listed(Pod.info)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  const told = new Map(writers.flatMap((writer) => [...writer.told].map(([pod, text]) => [`shop/${pod}`, text])))
  const blocks = (await listed(IPBlock.info)).flatMap((object) => rowsOf(IPBlock.parse(object)))
  const all = [...rows, ...reservations, ...blocks].map(({ address }) => address).sort(Address.compare)
  const addresses = [...new Set(all.map(Address.format))].map((address): AddressView => {
    const isHere = (each: { readonly address: Address }) => Address.format(each.address) === address
    const row = rows.find(isHere)?.podref ?? null
    const block = blocks.find(isHere)?.owner ?? null
    const isTold = [...told].some(([pod, text]) => text === address && pod === (row ?? block))
    const reservation = reservations.find(isHere)?.podref ?? null
    return { address, row, reservation, ...(upgrade && { block }), isTold }
  })
  return { title, addresses, pods, told, events, isOnBlocks, upgrade }
}

function rowsOf({ spec }: IPBlock): readonly { readonly address: Address; readonly owner: string }[] {
  const first = Prefix.first(Prefix.parse(spec.cidr))
  return Object.entries(spec.rows).map(([unit, { owner }]) => ({ address: Address.add(first, Number(unit)), owner }))
}
