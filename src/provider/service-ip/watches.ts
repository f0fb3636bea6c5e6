import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { Service } from '../../crd/core/service.js'
import { isDeleting, type KubeObject, labelOf, nameKey } from '../../crd/meta/object.js'
import { IPAddress } from '../../crd/networking/ip-address.js'
import { MANAGED_BY_LABEL, SERVICE_ALLOCATOR } from '../../crd/networking/names.js'
import { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { modelWatch, type Watch } from '../../plan/index.js'
import { plannerKeys } from '../../plan/planner-keys.js'

type Address = Address.Address

/** The keys of the planner. */
export const KEYS = plannerKeys('Service', 'IPAddress', 'ServiceCIDR')

/**
 * An IPAddress object, as far as it can be read. An unreadable one occupies its address all the
 * same.
 */
export interface SeenAddress {
  readonly object: KubeObject
  /** The address in the name, in any text form; `undefined`: none. */
  readonly address: Address | undefined
  /** `address` in canonical form: the name that the object should have. */
  readonly text: string | undefined
  /**
   * `namespace/name` of its Service; `undefined`: the parent is not a Service, or cannot be read.
   */
  readonly service: string | undefined
  /** The parent, as a text. */
  readonly parent: string
  /** Whether the allocator of Services created it: other objects are not changed. */
  readonly isManaged: boolean
  /** Why the object cannot be read. */
  readonly problem: string | undefined
}

/**
 * Reads an address as Kubernetes reads stored fields: leading zeros are decimal, IPv4-mapped IPv6
 * is IPv4.
 */
export function readAddress(text: string): Address | undefined {
  const read = Address.safeParse(text, { profile: 'k8s-legacy-read' })
  return read.ok ? read.value : undefined
}

function seenAddress(object: KubeObject): SeenAddress {
  const { name, labels } = object.metadata
  const address = readAddress(name)
  const read = IPAddress.safeParse(object)
  const parentRef = read.ok ? read.value.spec.parentRef : undefined
  const isService = parentRef?.resource === 'services' && !parentRef.group && parentRef.namespace !== undefined
  const service = isService ? nameKey(parentRef) : undefined
  return {
    object: read.ok ? read.value : object,
    address,
    text: address && Address.format(address),
    service,
    parent: service === undefined ? parentText(parentRef) : KEYS.format('Service', service),
    isManaged: labelOf(labels, MANAGED_BY_LABEL) === SERVICE_ALLOCATOR,
    problem: read.ok ? undefined : read.failure.message,
  }
}

function parentText(parentRef: IPAddress['spec']['parentRef'] | undefined): string {
  if (parentRef === undefined) return 'an unknown parent'
  const { group, resource } = parentRef
  return `${resource}${group ? `.${group}` : ''} ${nameKey(parentRef)}`
}

/** The addresses of a Service, as it has them. */
export function clusterIPsOf({ spec }: Service): readonly string[] {
  return (spec.clusterIPs ?? []).filter((text) => text !== '' && text !== 'None')
}

/** The same in canonical form, each once. Invalid texts are left out. */
export function addressesOf(service: Service): readonly string[] {
  const read = clusterIPsOf(service).map(readAddress)
  return [...new Set(read.flatMap((address) => (address === undefined ? [] : [Address.format(address)])))]
}

/**
 * Whether a Service needs addresses: it has none, and is not headless, not an ExternalName, and not
 * being deleted.
 */
export function wantsAddress(service: Service): boolean {
  const { type, clusterIP, clusterIPs = [] } = service.spec
  return (
    type !== 'ExternalName' && clusterIP !== 'None' && clusterIPs.every((text) => text === '') && !isDeleting(service)
  )
}

/** What the planner watches. */
export type ServiceWatches = {
  readonly services: Watch<Service>
  readonly addresses: Watch<SeenAddress>
  readonly ranges: Watch<ServiceCIDR>
}

/**
 * The family that a Service lacks: it has one address, and its policy is for two. Whether it gets
 * one is for `second-address.ts` to say.
 */
export function lackedFamily(service: Service): Family | undefined {
  const { type, ipFamilyPolicy } = service.spec
  const isDual = ipFamilyPolicy === 'PreferDualStack' || ipFamilyPolicy === 'RequireDualStack'
  if (!isDual || type === 'ExternalName' || isDeleting(service)) return undefined
  const [text, ...others] = clusterIPsOf(service)
  if (text === undefined || others.length > 0) return undefined
  const family = readAddress(text)?.family
  return family && (family === 4 ? 6 : 4)
}

/**
 * What the planner watches. Indexes: `address` and `service` are the canonical address and the
 * Service that has it.
 */
export const WATCHES: ServiceWatches = {
  services: modelWatch(Service, {
    indexes: {
      address: addressesOf,
      waiting: (service: Service) => (wantsAddress(service) || lackedFamily(service) !== undefined ? [WAITING] : []),
    },
  }),
  addresses: {
    ...IPAddress.info,
    parse: (object: KubeObject) => ({ ok: true, value: seenAddress(object) }),
    indexes: {
      address: ({ text }: SeenAddress) => (text === undefined ? [] : [text]),
      service: ({ service }: SeenAddress) => (service === undefined ? [] : [service]),
    },
  },
  ranges: modelWatch(ServiceCIDR),
}

/** The one key of the index `waiting`. */
export const WAITING = 'waiting'
