import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { Json, KindInfo, KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { networksOf } from '../../../provider/persistent-ip/objects.js'

/** The object by which an operator switches the feature. */
export const SWITCH: KindInfo = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  statusSubresource: false,
}
/** What the seed chooses of the options of both sides. */
export interface ChosenOptions {
  readonly unplugged: 'keep' | 'delete'
  readonly missedMutations: 'ignore' | 'report'
  readonly terminatingClaim: 'refuse' | 'serve'
  readonly staticRequests: boolean
}

const OWNED = [VirtualMachine, VirtualMachineInstance, IPAMClaim, Pod, StatefulSet].map(({ info }) => info)
/** The kinds that the garbage collector watches. */
export const GC_KINDS: readonly KindInfo[] = OWNED
export const NADS: KindInfo = NetworkAttachmentDefinition.info
export const KINDS: readonly KindInfo[] = [...OWNED, NADS, SWITCH]
/** The kinds beside those on blocks. */
export const BLOCK_KINDS: readonly KindInfo[] = [IPBlock, IPPool, IPDomain].map(({ info }) => info)

/**
 * Machines: the claim of `a` in `b.x` and that of `a.b` in `x` have one name. The machine of `ns2`
 * is in a network of `ns1`, and a migration between namespaces goes there.
 */
export const MACHINES: readonly (readonly [namespace: string, name: string])[] = [
  ['ns1', 'a'],
  ['ns1', 'a.b'],
  ['ns2', 'a'],
]
/** The primary network of a machine, which those of `ns2` have. */
const POD = 'pod'
/** `y` and `y_` have claims of one name. */
const INTERFACES = ['x=blue', 'y=red', 'b.x=blue', 'y_=red', POD]
/** The finalizer by which a kubelet keeps a Pod until its containers have ended. */
export const KUBELET = 'sim/kubelet'
/** Since when a virtual machine runs in the target of a live migration. */
export const MIGRATED = 'kubevirt.io/migration-target-ready-timestamp'
/** The annotation with the virtual machine or the StatefulSet of a Pod, for the rules. */
export const WORKLOAD = 'sim/workload'
export const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
export const PRIMARY_CLAIM = 'k8s.ovn.org/primary-udn-ipamclaim'
export const DEFAULT_NETWORK = 'v1.multus-cni.io/default-network'
/** The definition of the primary network of `ns2`. */
export const PRIMARY = 'ns2/green'
/** The MAC address that each one asks for who asks for one. */
export const MAC = '02:00:00:00:00:01'

/** The definitions as they are in the end, and what operators change them to. */
const LAB = { name: 'lab', subnets: '10.0.0.0/29,fd00::/125' }
/** The same addresses in another network. */
const RED = { name: 'red', subnets: '10.0.0.0/29', excludeSubnets: '10.0.0.4/32' }
/** A primary network with four addresses. */
const GREEN = { name: 'green', role: 'primary', subnets: '10.2.0.0/29' }
const CONFIGS: { readonly [nad: string]: readonly object[] } = {
  blue: [
    LAB,
    { ...LAB, subnets: '10.0.0.0/30,fd00::/125' },
    { ...LAB, subnets: '10.0.0.8/29,fd00::8/125' },
    { ...LAB, allowPersistentIPs: false },
    { name: 'other', subnets: '10.9.0.0/29' },
    { name: 'lab', subnets: 'x' },
  ],
  red: [RED, { ...RED, excludeSubnets: '10.0.0.0/30' }],
  also: [LAB, { ...LAB, subnets: '10.0.0.0/28,fd00::/124' }],
  green: [
    GREEN,
    { ...GREEN, allowPersistentIPs: false },
    { ...GREEN, subnets: '10.2.0.8/29' },
    { ...GREEN, role: 'secondary' },
  ],
}
export const DEFINITIONS = ['blue', 'red', 'also', 'green']
/** The network of each definition. */
export const NETWORK_OF: { readonly [nad: string]: string } = {
  'ns1/blue': 'lab',
  'ns1/also': 'lab',
  'ns1/red': 'red',
  [PRIMARY]: 'green',
}

/** The namespace of a definition. */
export function namespaceOf(nad: string): string {
  return nad === 'green' ? 'ns2' : 'ns1'
}

export function variantsOf(nad: string): number {
  return CONFIGS[nad]?.length ?? 0
}

/** A definition; the first variant is as it should be. */
export function definition(nad: string, variant = 0): KubeObject {
  const { apiVersion, kind } = NADS
  const config = {
    type: 'ovn-k8s-cni-overlay',
    topology: 'layer2',
    netAttachDefName: `${namespaceOf(nad)}/${nad}`,
    allowPersistentIPs: true,
    ...CONFIGS[nad]?.[variant],
  }
  return {
    apiVersion,
    kind,
    metadata: { namespace: namespaceOf(nad), name: nad },
    spec: { config: JSON.stringify(config) },
  }
}

/** The networks of a machine; those of `ns2` name definitions of `ns1`. */
export function vmNetworks(namespace: string, chosen: readonly string[]): Json {
  const networks = networksOf(...chosen.filter((each) => each !== POD)).map(({ name, multus }) => ({
    name,
    multus: { networkName: namespace === 'ns1' ? (multus?.networkName ?? '') : `ns1/${multus?.networkName}` },
  }))
  const hasPrimary = namespace === 'ns2' && chosen.includes(POD)
  return [...networks, ...(hasPrimary ? [{ name: POD, pod: {} }] : [])] as Json
}

export function someInterfaces(chance: (probability: number) => boolean): readonly string[] {
  return INTERFACES.filter((each) => chance(each.startsWith('x') ? 0.8 : 0.35))
}

export function machineOf(namespace: string, name: string, interfaces: readonly string[]): KubeObject {
  const { apiVersion, kind } = VirtualMachine.info
  // KubeVirt has another one, which keeps the machine while its instance exists
  const metadata = { namespace, name, finalizers: ['kubevirt.io/virtualMachineControllerFinalize'] }
  return { apiVersion, kind, metadata, spec: { template: { spec: { networks: vmNetworks(namespace, interfaces) } } } }
}

/** An instance, of a machine or of none. `asks`: for an address and a MAC address of its primary network. */
export function instanceOf(
  namespace: string,
  name: string,
  of: KubeObject | undefined,
  networks: Json,
  asks = false,
): KubeObject {
  const { apiVersion, kind } = VirtualMachineInstance.info
  const owner = of && { apiVersion, kind: of.kind, name, uid: of.metadata.uid ?? '', controller: true }
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      finalizers: ['foregroundDeleteVirtualMachine'],
      ...(asks && { annotations: { 'network.kubevirt.io/addresses': '{"pod":["10.2.0.4"]}' } }),
      ...(owner && { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
    },
    spec: {
      networks,
      domain: { devices: { interfaces: [{ name: POD, ...(asks && { macAddress: MAC }) }] } },
    },
  }
}

export interface Interface {
  readonly nad: string
  readonly claim?: string | undefined
  /** What it asks for. */
  readonly ips?: readonly string[] | undefined
  readonly mac?: string | undefined
}

/** What a Pod asks for, as its network selection has it. */
export function selection(interfaces: readonly Interface[]): string {
  const elements = interfaces.map(({ nad, claim, ips, mac }) => ({
    name: nad.slice(nad.indexOf('/') + 1),
    namespace: nad.includes('/') ? nad.slice(0, nad.indexOf('/')) : 'ns1',
    ...(claim !== undefined && { 'ipam-claim-reference': claim }),
    ...(ips !== undefined && { ips: [...ips] }),
    ...(mac !== undefined && { mac }),
  }))
  return JSON.stringify(elements)
}

export function podOf(
  namespace: string,
  name: string,
  interfaces: readonly Interface[],
  { annotations = {}, ...rest }: Partial<KubeObject['metadata']> = {},
): KubeObject {
  const { apiVersion, kind } = Pod.info
  const networks = interfaces.length > 0 ? { [NETWORKS]: selection(interfaces) } : {}
  const metadata = { namespace, name, finalizers: [KUBELET], annotations: { ...networks, ...annotations }, ...rest }
  return { apiVersion, kind, metadata, spec: {} }
}

export function claimOf(
  namespace: string,
  name: string,
  network: string,
  metadata: Partial<KubeObject['metadata']> = {},
): KubeObject {
  const { apiVersion, kind } = IPAMClaim.info
  return { apiVersion, kind, metadata: { namespace, name, ...metadata }, spec: { network, interface: '' } }
}

export function setOf(name: string, replicas: number): KubeObject {
  const { apiVersion, kind } = StatefulSet.info
  return { apiVersion, kind, metadata: { namespace: 'ns1', name }, spec: { replicas } }
}

export function refTo({ apiVersion, kind }: KindInfo, namespace: string, name: string): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

/** Whether a Pod has ended. */
export function hasEnded({ status }: KubeObject): boolean {
  const { phase } = (status ?? {}) as { readonly phase?: string }
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Whether a Pod has a Node, and has not ended. */
export function isServed(pod: KubeObject): boolean {
  const { nodeName } = (pod.spec ?? {}) as { readonly nodeName?: string }
  return nodeName !== undefined && !hasEnded(pod)
}

/** Whether a Pod is the target of a live migration, and the machine still runs in the source. */
export function isTarget({ metadata: { labels, annotations } }: KubeObject): boolean {
  return labels?.['kubevirt.io/migrationJobUID'] !== undefined && annotations?.[MIGRATED] === undefined
}
