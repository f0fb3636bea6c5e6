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

/** What the sweep needs to know of a Pod. */
export interface PodFacts {
  /** `namespace/name`, as rows have it. */
  readonly podref: string
  readonly phase: string
  /**
   * The addresses of its interfaces. `undefined`: its network status cannot be read, or it has none
   * yet.
   */
  readonly addresses: readonly Address.Address[] | undefined
  /** Whether the taint manager evicts it. */
  readonly isEvicted: boolean
  /** The parts that the facts were read from. */
  readonly text: string
}

export const podWatch: TrimmedWatch<PodFacts> = {
  ...Pod.info,
  keep: trimmed,
  parse: (object, before) => ({ ok: true, value: factsOf(object, before) }),
}

function trimmed({ apiVersion, kind, metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata
  const text = metadata.annotations?.[NETWORK_STATUS_ANNOTATION]
  const { phase, podIPs, conditions } = asObject(status) ?? {}
  const evictions = Array.isArray(conditions)
    ? conditions.filter(isEviction).map(({ type, status, reason }) => ({ type, status, reason }))
    : []
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp },
      ...(text !== undefined && { annotations: { [NETWORK_STATUS_ANNOTATION]: text } }),
    },
    status: { phase, podIPs, ...(evictions.length > 0 && { conditions: evictions }) },
  }
}

function isEviction(condition: unknown): boolean {
  const { type, status, reason } = asObject(condition) ?? {}
  return type === 'DisruptionTarget' && status === 'True' && reason === 'DeletionByTaintManager'
}

function factsOf({ metadata, status }: KubeObject, before: PodFacts | undefined): PodFacts {
  const { phase, podIPs, conditions } = asObject(status) ?? {}
  const annotation = metadata.annotations?.[NETWORK_STATUS_ANNOTATION]
  const isEvicted = Array.isArray(conditions) && conditions.some(isEviction)
  const text = JSON.stringify([metadata.uid, phase, podIPs, isEvicted, annotation])
  if (before?.text === text) return before
  const read = annotation === undefined ? undefined : readNetworkStatus(annotation)
  const ips = (Array.isArray(podIPs) ? podIPs : []).flatMap((each) => {
    const address = Address.safeParse(String(asObject(each)?.ip))
    return address.ok ? [address.value] : []
  })
  return {
    podref: `${metadata.namespace}/${metadata.name}`,
    phase: typeof phase === 'string' ? phase : '',
    // a plugin for the default network can have addresses of whereabouts too
    addresses:
      read?.ok === true ? [...read.value.flatMap((each) => each.ips.map(({ address }) => address)), ...ips] : undefined,
    isEvicted,
    text,
  }
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
