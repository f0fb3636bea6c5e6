import * as z from 'zod'
import { check } from '../../errors/check.js'
import { ok } from '../../errors/index.js'
import type { JsonObject } from '../meta/json.js'
import { NETWORK_STATUS_ANNOTATION, POD_NETWORKS_ANNOTATION } from './names.js'
import {
  type InterfaceAddress,
  interfaceAddress,
  type Kept,
  kept,
  mac,
  readJson,
  type TextResult,
} from './read-json.js'

/** An interface that a Pod has. */
export interface NetworkStatus {
  /** The network: `namespace/name` of its NetworkAttachmentDefinition, or the name alone. */
  readonly name: string
  /** The name of the interface in the Pod. */
  readonly interface?: string | undefined
  readonly ips: readonly InterfaceAddress[]
  readonly mac?: string | undefined
  readonly mtu?: number | undefined
  /** Whether it is the interface of the default network of the cluster. */
  readonly isDefault: boolean
  /** Texts, as the plugin has given them. */
  readonly gateway: readonly string[]
  readonly dns?: JsonObject | undefined
  readonly deviceInfo?: JsonObject | undefined
  /** The entry as it is stored. */
  readonly stored: JsonObject
}

const status = z.looseObject({
  name: z.string().default(''),
  interface: z.string().optional(),
  ips: z.array(interfaceAddress).default([]),
  mac: z.string().optional(),
  mtu: z.int().optional(),
  default: z.boolean().default(false),
  gateway: z.array(z.string()).default([]),
  dns: z.record(z.string(), z.unknown()).optional(),
  'device-info': z.record(z.string(), z.unknown()).optional(),
})

/**
 * Reads the annotation `k8s.v1.cni.cncf.io/network-status` of a Pod: its interfaces. O(length).
 *
 * @returns the failure `MALFORMED_EMBEDDED_JSON` for a text that is not JSON, as an empty one;
 * `INVALID_OBJECT` with the path of each wrong member, such as `[1].ips[0]`
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * const read = readNetworkStatus('[{"name":"lab/blue","interface":"net1","ips":["10.0.0.7"]}]')
 * read.ok && read.value.map(({ ips }) => ips.map(({ address }) => Address.format(address))) // [['10.0.0.7']]
 */
export function readNetworkStatus(annotation: string): TextResult<readonly NetworkStatus[]> {
  check('readNetworkStatus', 'annotation', annotation, 'text')
  const read = readJson(z.array(kept(status)), annotation, 'annotation', NETWORK_STATUS_ANNOTATION)
  return read.ok ? ok(read.value.map(statusOf)) : read
}

function statusOf({ read, stored }: Kept<typeof status>): NetworkStatus {
  const { name, ips, gateway, interface: ifname, mtu, dns } = read
  const deviceInfo = read['device-info']
  return {
    name,
    ips,
    isDefault: read.default,
    gateway,
    ...(ifname !== undefined && { interface: ifname }),
    ...(read.mac !== undefined && { mac: read.mac }),
    ...(mtu !== undefined && { mtu }),
    ...(dns !== undefined && { dns }),
    ...(deviceInfo !== undefined && { deviceInfo }),
    stored,
  }
}

/** What a Pod has in one network of OVN-Kubernetes. */
export interface PodNetwork {
  /** `default`, or `namespace/name` of the NetworkAttachmentDefinition. */
  readonly network: string
  /** Empty: none yet, as with {@link PodNetwork.isDHCP} until a lease is known. */
  readonly addresses: readonly InterfaceAddress[]
  readonly mac?: string | undefined
  /** `primary`, `secondary` or `infrastructure-locked`. */
  readonly role?: string | undefined
  /** Whether a DHCP server gives the addresses: no allocator of ours has them. */
  readonly isDHCP: boolean
  /** The entry as it is stored. */
  readonly stored: JsonObject
}

const podNetwork = z.looseObject({
  ip_addresses: z.array(interfaceAddress).optional(),
  /** The form of one address, before dual stack. */
  ip_address: interfaceAddress.optional(),
  mac_address: mac.optional(),
  role: z.string().optional(),
  ipam_mode: z.string().optional(),
})

/**
 * Reads the annotation `k8s.ovn.org/pod-networks` of a Pod, in the order of the text. O(length).
 *
 * @returns the failure `MALFORMED_EMBEDDED_JSON` for a text that is not JSON, as an empty one;
 * `INVALID_OBJECT` with the path of each wrong member
 * @example
 * const read = readPodNetworks('{"lab/blue":{"mac_address":"0a:58:0a:00:00:07","role":"secondary","ipam_mode":"dhcp"}}')
 * read.ok && read.value.map(({ network, isDHCP, addresses }) => [network, isDHCP, addresses.length])
 * // [['lab/blue', true, 0]]
 */
export function readPodNetworks(annotation: string): TextResult<readonly PodNetwork[]> {
  check('readPodNetworks', 'annotation', annotation, 'text')
  const schema = z.record(z.string(), kept(podNetwork))
  const read = readJson(schema, annotation, 'annotation', POD_NETWORKS_ANNOTATION)
  if (!read.ok) return read
  return ok(Object.entries(read.value).map(([network, entry]) => podNetworkOf(network, entry)))
}

function podNetworkOf(network: string, { read, stored }: Kept<typeof podNetwork>): PodNetwork {
  const { ip_addresses: addresses, ip_address: one, mac_address: address, role } = read
  return {
    network,
    addresses: addresses ?? (one === undefined ? [] : [one]),
    isDHCP: read.ipam_mode?.toLowerCase() === 'dhcp',
    ...(address !== undefined && { mac: address }),
    ...(role !== undefined && { role }),
    stored,
  }
}
