import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { type ServiceIPOutcome, usableRange } from 'ipam-kit/provider/service-ip'
import { asciiMap } from 'ipam-kit/render'
import type { Store } from 'ipam-kit/store'
import type { Check } from '../checks.js'
import type { Said } from '../steps.js'
import { cell, type Detail, joinSections, limited, lines, section } from '../text.js'

/** Services, ServiceCIDRs and IPAddresses after a step. */
export interface Snapshot {
  readonly title: string
  readonly services: readonly ServiceView[]
  readonly ranges: readonly RangeView[]
  /** IPAddresses, by name. */
  readonly addresses: readonly AddressView[]
  readonly events: readonly string[]
}

export interface ServiceView {
  readonly name: string
  readonly clusterIP: string | null
  /** The outcome of its last plan. */
  readonly state: ServiceIPOutcome['kind'] | null
}

export interface RangeView {
  readonly name: string
  readonly cidrs: readonly string[]
  readonly state: ServiceIPOutcome['kind'] | null
}

export interface AddressView {
  readonly address: string
  readonly service: string
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  { title, events, outcomes }: Said<ServiceIPOutcome>,
): Promise<Snapshot> {
  const stateOf = (key: string) => outcomes.get(key)?.kind ?? null
  const services = unwrap(await store.list(Service.info)).items.map((object): ServiceView => {
    const { metadata, spec } = Service.parse(object)
    const { name } = metadata
    return { name, clusterIP: spec.clusterIP || null, state: stateOf(`Service default/${name}`) }
  })
  const ranges = unwrap(await store.list(ServiceCIDR.info)).items.map((object): RangeView => {
    const { metadata, spec } = ServiceCIDR.parse(object)
    return { name: metadata.name, cidrs: spec.cidrs, state: stateOf(`ServiceCIDR ${metadata.name}`) }
  })
  const addresses = unwrap(await store.list(IPAddress.info)).items.map((object): AddressView => {
    const { metadata, spec } = IPAddress.parse(object)
    return { address: metadata.name, service: spec.parentRef.name }
  })
  const order = (a: AddressView, b: AddressView) => Address.compare(Address.parse(a.address), Address.parse(b.address))
  return { title, services, ranges, addresses: addresses.sort(order), events: events.map(textOf) }
}

function textOf({ about, type, reason, message }: EventEffect): string {
  return `${type} ${about.kind} ${about.name} ${reason}: ${message}`
}

/** A step as text for people. */
export function formatStep(seen: Snapshot, { limit, isVerbose }: Detail): string {
  const rows = seen.services.map(({ name, clusterIP, state }) => {
    const own = seen.addresses.find(({ service, address }) => service === name && address === clusterIP)
    return [name, clusterIP, own?.address ?? null, state].map(cell)
  })
  const table = limited(['SERVICE', 'CLUSTER IP', 'IPADDRESS', 'STATE'], rows, limit)
  if (!isVerbose) return section(seen.title, table)
  const ranges = seen.ranges.map(({ name, cidrs, state }) => [name, cidrs.join(', '), state].map(cell))
  return section(
    seen.title,
    joinSections([
      table,
      limited(['SERVICECIDR', 'CIDRS', 'STATE'], ranges, limit),
      ...seen.ranges.map((range) => mapOf(range, seen)),
      seen.events.length === 0 ? '' : section('Events', lines(seen.events, limit)),
    ]),
  )
}

/** A character for each address; network and broadcast addresses are kept back. */
function mapOf({ name, cidrs }: RangeView, { addresses }: Snapshot): string {
  const available = RangeSet.fromRanges(cidrs.flatMap((cidr) => usableRange(Prefix.parse(cidr)) ?? []))
  const all = RangeSet.parse(cidrs)
  const inUse = RangeSet.intersect(RangeSet.parse(addresses.map(({ address }) => address)), all)
  const map = { addresses: all, available, inUse }
  return section(`Map of ${name}`, asciiMap(map, { columns: 16, maxRows: 1 }).join('\n'))
}

/** The same for programs. */
export function documentOf(steps: readonly Snapshot[], checks: readonly Check[]): object {
  return { steps, checks }
}
