import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { KUBE, type KubeObject } from '../../../crd/meta/object.js'
import {
  OverlappingRangeIPReservation,
  type ReservationReading,
  reservationReadings,
} from '../../../crd/whereabouts/index.js'
import { check, type Kind } from '../../../errors/check.js'
import type { WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { CONFIG } from '../../whereabouts/tasks/request.js'
import { type OldPool, oldPools } from './old-pools.js'
import { planOldPool, type Reserved } from './plan-pool.js'
import type { UpgradePlan } from './report.js'

/** The objects that an upgrade goes by. Read the Pods after the pools and the reservations. */
export interface UpgradeInput {
  /**
   * The networks of all NetworkAttachmentDefinitions with the IPAM type `whereabouts`, as
   * `readWhereaboutsConfig` reads them. A network that is left out may give addresses of a pool
   * that looks ready.
   */
  readonly networks: readonly WhereaboutsConfig[]
  /** All IPPools of whereabouts of one namespace. */
  readonly pools: readonly KubeObject[]
  /** All OverlappingRangeIPReservations of that namespace. */
  readonly reservations: readonly KubeObject[]
  /** The Pods of all namespaces, whole. */
  readonly pods: readonly KubeObject[]
}

const INPUT: Kind = [
  'open',
  {
    networks: ['list', CONFIG],
    pools: ['list', KUBE as Kind],
    reservations: ['list', KUBE as Kind],
    pods: ['list', KUBE as Kind],
  },
]

/**
 * Reports what an upgrade from pools of whereabouts to blocks has to do: for each pool the IPPools
 * of ipam-kit.dev, the rows, and everything unusual. It reads and writes nothing.
 *
 * A row is planned only if it is certain what has the address: its Pod exists and reports it. So
 * run `whereaboutsSweep` before, and let Pods that start get their network status. A pool is ready
 * if nothing unusual about it is an obstacle. No two rows of pools that are ready have one address
 * in one domain.
 *
 * O(pools x ranges + rows x log rows + reservations).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function planUpgrade(input: UpgradeInput): UpgradePlan {
  check<unknown>('planUpgrade', 'input', input, INPUT)

  const pods = new Map(input.pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]))
  const pools = oldPools(input.networks, byName(input.pools))
  const reservations = byName(input.reservations).map(readReservation)
  const byNetwork = new Map<string, Reserved>()
  const reservedOf = (network: string) => {
    const known = byNetwork.get(network) ?? reservedIn(network, reservations)
    byNetwork.set(network, known)
    return known
  }
  const planned = pools.map((pool) => planOldPool(pool, { pods, reserved: reservedOf(pool.ranges[0]?.network ?? '') }))
  return {
    pools: planned,
    otherReservations: reservations
      .filter(({ readings }) => !readings.some((reading) => isOfPool(reading, pools)))
      .map(({ name }) => name),
  }
}

function byName(objects: readonly KubeObject[]): readonly KubeObject[] {
  return [...objects].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
}

interface Reservation {
  readonly name: string
  readonly readings: readonly ReservationReading[]
  /** Empty: it cannot be read. */
  readonly podref: string
}

function readReservation(object: KubeObject): Reservation {
  const read = OverlappingRangeIPReservation.safeParse(object)
  const { name } = object.metadata
  return { name, readings: reservationReadings(name), podref: read.ok ? read.value.spec.podref : '' }
}

function reservedIn(network: string, reservations: readonly Reservation[]): Reserved {
  const reserved = new Map<number | string, { readonly address: Address.Address; readonly podref: string }>()
  for (const { readings, podref } of reservations) {
    const address = readings.find(({ networkName }) => networkName === network)?.address
    if (address === undefined) continue
    const key = Address.key(address)
    // an address of IPv6 can be spelled in several ways
    const others = reserved.get(key)?.podref
    const holders = others === undefined || others === podref ? podref : `${others} and ${podref}`
    reserved.set(key, { address, podref: holders })
  }
  return reserved
}

function isOfPool({ address, networkName }: ReservationReading, pools: readonly OldPool[]): boolean {
  return pools.some(({ ranges }) =>
    ranges.some(({ network, prefix }) => network === networkName && Prefix.contains(prefix, address)),
  )
}
