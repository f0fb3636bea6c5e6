import type { Store } from 'ipam-kit/store'
import { type Attachment, podrefOf } from './attachments.js'
import type { Answer } from './kubelet.js'
import { NETWORK_STATUS } from './network-status.js'
import { addressesOf, type Network, type NetworkRange, poolNameOf, reservationNameOf } from './networks.js'
import type { Rules } from './rules.js'
import type { Row } from './stored.js'

export interface RestWorld {
  readonly store: Store
  readonly rules: Rules
  readonly networks: readonly Network[]
  /** Whether all nodes run the library: what upstream leaves by its defects is not looked for. */
  readonly hasDefects: boolean
  /** An ADD and a DEL of the library, without faults. */
  readonly add: (network: Network) => Promise<Answer>
  readonly del: (network: Network) => Promise<Answer>
}

/** What is wrong when all is quiet, and hours have passed. */
export async function restProblems(world: RestWorld): Promise<readonly string[]> {
  return [...rowProblems(world), ...reservationProblems(world), ...liveProblems(world), ...(await probeProblems(world))]
}

/** Rows without a holder. */
export function rowProblems({ rules }: Pick<RestWorld, 'rules'>): readonly string[] {
  const live = rules.live
  return rules.stored.allRows.flatMap((row) => {
    if (!rules.isTruth(row.pool)) return []
    const isHeld = live.some((each) => each.sandbox.id === row.id && each.ifname === row.ifname)
    if (isHeld || rules.isClaimed(row) || namesClaim(rules, row) || isUnsure(rules, row)) return []
    return [`the row of ${row.address} in ${row.pool} is left, of ${row.id} ${row.ifname} of ${row.podref}`]
  })
}

/** Whether the status of a claim has an address: its row is written again with the next Pod. */
function isInStatus({ stored }: Rules, address: string): boolean {
  return [...stored.claims.values()].some(({ status }) => {
    const { ips } = (status ?? {}) as { readonly ips?: readonly string[] | null }
    return ips?.some((ip) => ip.split('/')[0] === address)
  })
}

/**
 * Whether a claim exists that names the address, or that the row names and that has no address of
 * the family.
 */
function namesClaim({ stored }: Rules, { texts, address }: Row): boolean {
  return [...stored.claims.values()].some(({ metadata, status }) => {
    const { ips } = (status ?? {}) as { readonly ips?: readonly string[] | null }
    const addresses = (ips ?? []).map((ip) => ip.split('/')[0] as string)
    const names = [metadata.uid, `${metadata.namespace}/${metadata.name}`]
    const isOfFamily = (other: string) => other.includes(':') === address.includes(':')
    return addresses.includes(address) || (texts.some((text) => names.includes(text)) && !addresses.some(isOfFamily))
  })
}

/**
 * Whether its Pod exists, and no status says that the Pod does not have the address: in another
 * network the Pod may have the same one.
 */
function isUnsure(
  { stored, keepsCompleted }: Rules,
  { podref, address }: { readonly podref: string; readonly address: string },
): boolean {
  const pod = stored.pods.get(podref.split('/')[1] as string)
  if (pod === undefined) return false
  if ((pod.status as { readonly phase?: string } | undefined)?.phase === 'Succeeded') return keepsCompleted
  const text = pod.metadata.annotations?.[NETWORK_STATUS]
  return text === undefined || !text.endsWith(']') || text.includes(`"${address}"`)
}

/** Reservations without a row. */
export function reservationProblems({ rules, networks }: Pick<RestWorld, 'rules' | 'networks'>): readonly string[] {
  const checked = networks.filter(({ overlap }) => overlap)
  return [...rules.stored.reservations.values()].flatMap(({ name, podref }) => {
    if (rules.foreign.get(name) === podref) return []
    if (networks.some((network) => network.ranges.some((range) => !rules.isTruth(poolNameOf(network, range)))))
      return []
    const rows = checked.flatMap((network) =>
      rowsOf(rules, network).filter((row) => reservationNameOf(network, row.address) === name),
    )
    if (rows.some((row) => row.podref === podref || rules.isClaimed(row) || namesClaim(rules, row))) return []
    if (rows.length === 0 && addressesNamed(checked, name).some((address) => isInStatus(rules, address))) return []
    if (addressesNamed(checked, name).some((address) => isUnsure(rules, { podref, address }))) return []
    return [
      `the reservation ${name} of ${podref} is left, and its rows are of ${rows.map((row) => row.podref).join() || 'nothing'}`,
    ]
  })
}

/** The addresses whose reservation has this name. */
function addressesNamed(networks: readonly Network[], name: string): readonly string[] {
  return networks.flatMap((network) => {
    const addresses = network.ranges.flatMap((range) => addressesOf(network, range, 'upstream'))
    return addresses.filter((address) => reservationNameOf(network, address) === name)
  })
}

/** Interfaces in use without row or reservation. */
export function liveProblems({ rules }: Pick<RestWorld, 'rules'>): readonly string[] {
  return rules.live.flatMap((attachment) => {
    if (attachment.flavor === 'upstream' || attachment.isTainted) return []
    return (attachment.granted ?? []).flatMap((address, nth) => missing(rules, attachment, { address, nth }))
  })
}

function missing(
  rules: Rules,
  attachment: Attachment,
  { address, nth }: { readonly address: string; readonly nth: number },
): readonly string[] {
  const { network, sandbox, ifname } = attachment
  const pool = poolNameOf(network, network.ranges[nth] as NetworkRange)
  if (!rules.isTruth(pool)) return []
  const { stored } = rules
  const row = stored
    .rows(pool)
    .find((each) => each.address === address && each.id === sandbox.id && each.ifname === ifname)
  const reservation = stored.reservations.get(reservationNameOf(network, address))
  const isReserved = !network.overlap || reservation?.podref === podrefOf(attachment)
  if (row !== undefined && isReserved) return []
  return [`${sandbox.id} ${ifname} uses ${address}, without ${row === undefined ? 'a row' : 'a reservation'}`]
}

/** An ADD has an address if each range has a free one, and a DEL frees it. */
async function probeProblems({ rules, networks, add, del }: RestWorld): Promise<readonly string[]> {
  const problems: string[] = []
  for (const network of networks) {
    const isFree = network.ranges.every((range) => hasFree(rules, network, range))
    const before = rules.stored.allRows.length
    const answer = await add(network)
    const isGiven = answer.kind === 'addresses'
    if (isGiven !== isFree) {
      const why = answer.kind === 'failed' ? `: ${answer.why}` : ''
      problems.push(
        `an ADD of ${network.name} has ${isGiven ? 'an' : 'no'} address${why}, and ${isFree ? 'one' : 'none'} is free`,
      )
    }
    const ended = await del(network)
    if (ended.kind !== 'done') problems.push(`a DEL of ${network.name} has failed`)
    if (rules.stored.allRows.length !== before) problems.push(`an ADD and a DEL of ${network.name} have left a row`)
  }
  return problems
}

/** Other ranges take an address by its reservation alone: an ADD does not read their rows. */
function hasFree(rules: Rules, network: Network, range: NetworkRange): boolean {
  const taken = rules.stored.rows(poolNameOf(network, range)).map(({ address }) => address)
  return addressesOf(network, range, 'ours').some((address) => {
    const isReserved = network.overlap && rules.stored.reservations.has(reservationNameOf(network, address))
    return !taken.includes(address) && !isReserved
  })
}

function rowsOf(rules: Rules, network: Network): readonly Row[] {
  return network.ranges.flatMap((range) => rules.stored.rows(poolNameOf(network, range)))
}
