import * as Address from '../../../cidr/nouns/address.js'
import { Pod } from '../../../crd/core/pod.js'
import { IPAMClaim } from '../../../crd/ipamclaims/index.js'
import { asObject } from '../../../crd/meta/json.js'
import { isDeleting, type KubeObject } from '../../../crd/meta/object.js'
import { NETWORK_STATUS_ANNOTATION, readNetworkStatus } from '../../../crd/multinet/index.js'
import {
  IPPool,
  OverlappingRangeIPReservation,
  type PoolRows,
  readRows,
  reservationReadings,
} from '../../../crd/whereabouts/index.js'
import { modelWatch, type TrimmedWatch, type Watch } from '../../../plan/index.js'

/** An address that a Pod reports. */
export interface ReportedAddress {
  readonly address: Address.Address
  /** The interface that has it. Empty: it is not known. */
  readonly ifname: string
}

/**
 * What the sweep needs to know of a Pod, and all that is kept of its status. A cluster has
 * thousands of Pods, so that the addresses are one text; `reportedBy` reads it.
 */
export interface PodFacts {
  readonly uid: string | undefined
  readonly phase: string
  /** Whether the taint manager evicts it. */
  readonly isEvicted: boolean
  /** Lines of an address, a space and its interface. `undefined`: they are not known. */
  readonly ips: string | undefined
}

export const podWatch: TrimmedWatch<PodFacts> = {
  ...Pod.info,
  keep: trimmed,
  parse: (object, before) => ({ ok: true, value: factsOf(object.status as PodFacts, before) }),
}

function trimmed({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata
  const { phase, podIPs, conditions } = asObject(status) ?? {}
  const facts: PodFacts = {
    uid,
    phase: typeof phase === 'string' ? phase : '',
    isEvicted: Array.isArray(conditions) && conditions.some(isEviction),
    ips: ipsOf(metadata.annotations?.[NETWORK_STATUS_ANNOTATION], podIPs),
  }
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status: facts }
}

function isEviction(condition: unknown): boolean {
  const { type, status, reason } = asObject(condition) ?? {}
  return type === 'DisruptionTarget' && status === 'True' && reason === 'DeletionByTaintManager'
}

/** A plugin for the default network can have addresses of whereabouts too. */
function ipsOf(annotation: string | undefined, podIPs: unknown): string | undefined {
  const read = annotation === undefined ? undefined : readNetworkStatus(annotation)
  if (read?.ok !== true) return undefined
  const own = (Array.isArray(podIPs) ? podIPs : []).flatMap((each) => {
    const address = Address.safeParse(String(asObject(each)?.ip))
    return address.ok ? [address.value] : []
  })
  // two interfaces in different networks can have one address
  const reported = read.value.flatMap(({ ips, interface: ifname = '' }) =>
    ips.map(({ address }) => `${Address.format(address)} ${/\s/u.test(ifname) ? '' : ifname}`),
  )
  const known = new Set(reported.map((line) => line.split(' ', 1)[0]))
  const others = own.map(Address.format).filter((text) => !known.has(text))
  return [...reported, ...others.map((text) => `${text} `)].join('\n')
}

/** The facts from before if nothing of interest has changed. */
function factsOf(facts: PodFacts, before: PodFacts | undefined): PodFacts {
  const { uid, phase, isEvicted, ips } = facts
  const isSame = before?.uid === uid && before?.phase === phase && before.isEvicted === isEvicted && before.ips === ips
  return isSame ? before : facts
}

/**
 * The addresses of its interfaces. `undefined`: its network status cannot be read, or it has none
 * yet. O(addresses).
 */
export function reportedBy({ ips }: PodFacts): readonly ReportedAddress[] | undefined {
  return ips === '' ? [] : ips?.split('\n').map(readLine)
}

/** As {@link reportedBy}, of a Pod as it is stored. */
export function reportedByPod(pod: KubeObject): readonly ReportedAddress[] | undefined {
  return reportedBy(trimmed(pod).status as PodFacts)
}

function readLine(line: string): ReportedAddress {
  const [text = '', ifname = ''] = line.split(' ')
  return { address: Address.parse(text), ifname }
}

/** A pool with its rows. */
export interface SweptPool {
  readonly object: IPPool
  readonly read: PoolRows
}

const readPool = modelWatch(IPPool)

export function poolWatch(namespace: string | undefined): Watch<SweptPool> {
  return {
    ...readPool,
    namespace,
    parse(object) {
      const parsed = readPool.parse(object, undefined)
      return parsed.ok ? { ok: true, value: { object: parsed.value, read: readRows(parsed.value) } } : parsed
    },
    indexes: {
      podref: ({ read }) => read.rows.map(({ podref }) => podref),
      address: ({ read }) => read.rows.map(({ address }) => textOf(address)),
      text: ({ read }) =>
        read.rows.flatMap(({ stored }) => Object.values(stored).filter((each) => typeof each === 'string')),
    },
  }
}

/** An address as indexes have it. */
export function textOf(address: Address.Address): string {
  return Address.format(Address.unmap(address))
}

export function reservationWatch(namespace: string | undefined): Watch<OverlappingRangeIPReservation> {
  return modelWatch(OverlappingRangeIPReservation, {
    namespace,
    indexes: {
      podref: ({ spec }) => [spec.podref],
      address: ({ metadata }) => reservationReadings(metadata.name).map(({ address }) => textOf(address)),
    },
  })
}

/** An IPAMClaim, with its addresses as far as they can be read. */
export interface ClaimFacts {
  readonly namespace: string
  /** The texts by which a row can name it: its uid, its name, and both with the namespace. */
  readonly texts: readonly string[]
  readonly addresses: readonly Address.Address[]
  readonly isDeleting: boolean
}

export const claimWatch: Watch<ClaimFacts> = {
  ...IPAMClaim.info,
  parse: (object) => ({ ok: true, value: claimFacts(object) }),
  indexes: {
    text: ({ texts }) => texts,
    address: ({ namespace, addresses }) => addresses.map((address) => `${namespace} ${textOf(address)}`),
  },
}

/** A claim exists, whatever its status is: a text that is no address is left out. */
function claimFacts(object: KubeObject): ClaimFacts {
  const { namespace = '', name, uid = '' } = object.metadata
  const ips = asObject(object.status)?.ips
  const addresses = (Array.isArray(ips) ? ips : []).flatMap((text) => {
    const address = Address.safeParse(String(text).replace(/\/.*$/su, ''))
    return address.ok ? [Address.unmap(address.value)] : []
  })
  return { namespace, texts: [uid, `${namespace}/${name}`], addresses, isDeleting: isDeleting(object) }
}
