import { age, type CrdModel, column, defineCrdModel } from '../meta/crd-model.js'
import type { LabelSelector } from '../meta/label-selector.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { type FieldsOf, integer, kubeObject, list, object, text, withRules } from '../meta/strict.js'
import { labelSelector } from '../meta/strict-label-selector.js'
import { API_VERSION } from './names.js'

// Of these kinds the fields that decide about addresses are here. Other fields pass through, in
// models and on an API server.

/** A network of one namespace (k8s.ovn.org/v1 of OVN-Kubernetes). */
export interface UserDefinedNetwork extends KubeObject {
  readonly spec: UserDefinedNetworkSpec
}

/** A network of the namespaces that a selector names (k8s.ovn.org/v1 of OVN-Kubernetes). */
export interface ClusterUserDefinedNetwork extends KubeObject {
  readonly spec: ClusterUserDefinedNetworkSpec
}

export interface ClusterUserDefinedNetworkSpec {
  readonly namespaceSelector?: LabelSelector | undefined
  readonly network: UserDefinedNetworkSpec
}

/** A network. It has the configuration of its topology. */
export interface UserDefinedNetworkSpec {
  readonly topology: 'Layer2' | 'Layer3' | 'Localnet'
  readonly layer2?: UserDefinedTopology | undefined
  /** Its subnets are divided among Nodes. */
  readonly layer3?:
    | (Omit<UserDefinedTopology, 'subnets' | 'ipam'> & {
        readonly subnets?: readonly { readonly cidr: string; readonly hostSubnet?: number | undefined }[] | undefined
      })
    | undefined
  readonly localnet?: UserDefinedTopology | undefined
}

/** The configuration of a topology. Not every topology has every field. */
export interface UserDefinedTopology {
  readonly role: 'Primary' | 'Secondary'
  /** At most one of each family. */
  readonly subnets?: readonly string[] | undefined
  /** Subnets that no Pod gets addresses of. Localnet alone has them. */
  readonly excludeSubnets?: readonly string[] | undefined
  /** Subnets whose addresses are given on request alone. */
  readonly reservedSubnets?: readonly string[] | undefined
  /** Subnets for gateways and management ports. */
  readonly infrastructureSubnets?: readonly string[] | undefined
  /** In bytes. */
  readonly mtu?: number | undefined
  readonly physicalNetworkName?: string | undefined
  readonly vlan?: { readonly access?: { readonly id: number } | undefined } | undefined
  readonly ipam?: UserDefinedNetworkIPAM | undefined
}

export interface UserDefinedNetworkIPAM extends FieldsOf<typeof ipamFields> {}

export const UserDefinedNetwork: CrdModel<UserDefinedNetwork> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'UserDefinedNetwork',
    plural: 'userdefinednetworks',
    namespaced: true,
    statusSubresource: true,
  },
  schema: readerOf(userDefinedNetwork),
  categories: [],
  versions: [
    {
      apiVersion: API_VERSION,
      columns: [column('Topology', 'The topology', '.spec.topology'), age('network')],
      schema: userDefinedNetwork,
    },
  ],
})

export const ClusterUserDefinedNetwork: CrdModel<ClusterUserDefinedNetwork> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'ClusterUserDefinedNetwork',
    plural: 'clusteruserdefinednetworks',
    namespaced: false,
    statusSubresource: true,
  },
  schema: readerOf(clusterUserDefinedNetwork),
  categories: [],
  versions: [
    {
      apiVersion: API_VERSION,
      columns: [column('Topology', 'The topology', '.spec.network.topology'), age('network')],
      schema: clusterUserDefinedNetwork,
    },
  ],
})

const REST = { keepsUnknown: true } as const

function userDefinedNetwork() {
  return kubeObject('A network of one namespace.', { spec: network(), status: status() })
}

function clusterUserDefinedNetwork() {
  const spec = object('The network and its namespaces.', {
    namespaceSelector: labelSelector('The namespaces that the network is in.').optional(),
    network: network(),
  })
  return kubeObject('A network of several namespaces.', { spec, status: status() })
}

function status() {
  return object('What is observed.', {}, REST).optional()
}

function network() {
  const topology = text('How the network is built.', { enum: ['Layer2', 'Layer3', 'Localnet'] })
  return object(
    'The network.',
    {
      topology,
      layer2: object('The configuration of Layer2.', { ...shared(), ...flat() }, REST).optional(),
      layer3: object(
        'The configuration of Layer3.',
        { ...shared(), subnets: nodeSubnets().optional() },
        REST,
      ).optional(),
      localnet: object('The configuration of Localnet.', { ...shared(), ...flat() }, REST).optional(),
    },
    REST,
  )
}

function shared() {
  const access = object('The VLAN of an access port.', { id: integer('Its id.') }, REST)
  return {
    role: text('Whether the network is the primary one of its pods.', { enum: ['Primary', 'Secondary'] }),
    mtu: integer('The MTU in bytes.', { format: 'int32' }).optional(),
    physicalNetworkName: text('The physical network.').optional(),
    vlan: object('The VLAN.', { access: access.optional() }, REST).optional(),
  }
}

function flat() {
  const subnet = text('A CIDR.')
  return {
    subnets: list('The subnets, at most one of each family.', subnet).optional(),
    excludeSubnets: list('Subnets that no pod gets addresses of.', subnet).optional(),
    reservedSubnets: list('Subnets whose addresses are given on request alone.', subnet).optional(),
    infrastructureSubnets: list('Subnets for gateways and management ports.', subnet).optional(),
    ipam: ipam().optional(),
  }
}

function nodeSubnets() {
  const subnet = object('A subnet that is divided among nodes.', {
    cidr: text('The CIDR.'),
    hostSubnet: integer('The prefix length for a node.', { format: 'int32' }).optional(),
  })
  return list('The subnets.', subnet)
}

function ipamFields() {
  return {
    /**
     * Where the addresses come from. `Enabled`, the default: from the subnets. `Disabled`: there
     * are none. `DHCP`: a DHCP server gives them. `External`: an external IPAM gives them.
     */
    mode: text('Where the addresses come from. Enabled, the default, takes them from the subnets.', {
      enum: ['Enabled', 'Disabled', 'DHCP', 'External'],
    }).optional(),
    /** `Persistent`: addresses can stay with a workload, in an IPAMClaim. */
    lifecycle: text('Persistent lets addresses stay with a workload.', { enum: ['Persistent'] }).optional(),
  }
}

function ipam() {
  return withRules(object('Where the addresses come from.', ipamFields(), REST), [
    {
      rule: "!has(self.lifecycle) || self.lifecycle != 'Persistent' || !has(self.mode) || self.mode == 'Enabled'",
      message: 'lifecycle Persistent is only supported when ipam.mode is Enabled',
    },
  ])
}
