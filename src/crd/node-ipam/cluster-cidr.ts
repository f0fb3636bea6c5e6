import type { NodeSelector } from '../core/node-selector.js'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION } from './names.js'
import { clusterCIDR, clusterCIDRVersions } from './versions.js'

/**
 * A range, or one of each family, from which Nodes get their subnets (networking.x-k8s.io/v1 of
 * node-ipam-controller; KEP-2593). The spec never changes.
 *
 * The model reads every object that an API server stores with upstream's definition of the kind,
 * valid or not: `admitClusterCIDR` returns its errors.
 */
export interface ClusterCIDR extends KubeObject {
  readonly spec: ClusterCIDRSpec
}

export interface ClusterCIDRSpec {
  /** The Nodes that the range is for. Left out: all Nodes for which no other range is left. */
  readonly nodeSelector?: NodeSelector | undefined
  /**
   * The host bits of the subnet of a Node, in both families: with 8 a Node gets a /24 of IPv4 and a
   * /120 of IPv6. 4 up to the host bits of each range.
   */
  readonly perNodeHostBits: number
  /** The IPv4 range, as CIDR. Left out or empty: none. A ClusterCIDR has at least one range. */
  readonly ipv4?: string | undefined
  /** The IPv6 range, as CIDR. Left out or empty: none. */
  readonly ipv6?: string | undefined
}

export const ClusterCIDR: CrdModel<ClusterCIDR> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'ClusterCIDR',
    plural: 'clustercidrs',
    namespaced: false,
    statusSubresource: false,
  },
  schema: readerOf(clusterCIDR),
  categories: [],
  versions: clusterCIDRVersions(),
})
